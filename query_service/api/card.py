"""What people say about a document: checked alike when it is uploaded and when it is changed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from foundation.card import checked
from foundation.errors import CardRefused
from query_service.api.clean_input import check_text

_LONGEST_DOMAIN = 100


def checked_changes(changes: Mapping[str, Any]) -> dict[str, Any]:
    """The card's fields of a change; an empty one, or null, takes the field away. CardRefused, by field."""
    found = checked(changes)
    return {name: found.get(name) for name in changes}


def checked_domain(domain: str | None) -> str | None:
    """CardRefused for a name that is too long, InvalidInput for one that cannot be stored."""
    if domain is None:
        return None
    check_text("domain", domain)
    if len(domain) > _LONGEST_DOMAIN:
        raise CardRefused(f"domain has {len(domain):,} characters; at most {_LONGEST_DOMAIN} are kept.")
    return domain
