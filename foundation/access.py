"""Who may see what. The only definition: everything that reads documents narrows by these clauses or grants.

An ACL is a list of entries `user:NAME`, `group:NAME`, `public`; a document without entries is nobody's.
"""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from collections.abc import Iterable

from sqlalchemy import ColumnElement, FromClause, and_, exists, select

from foundation.errors import ConfigurationError, InvalidInput
from foundation.registry.tables import documents
from foundation.types import Principal

_NAME = re.compile(r"[^\W_][\w.+@-]{0,199}\Z")
_ENTRY = re.compile(r"(?:user|group):[^\s,]{1,200}\Z")


def canonical_name(name: str) -> str:
    """One spelling for one principal: NFKC, case-folded. Tags such as `alice+1@` stay, they may be other people."""
    return unicodedata.normalize("NFKC", name).strip().casefold()


def parse_acl(entries: Iterable[str], field: str = "acl") -> tuple[str, ...]:
    """Canonical, sorted, without doubles; InvalidInput for an entry of another form."""
    parsed = set()
    for entry in entries:
        entry = canonical_name(entry)
        if entry != "public" and not _ENTRY.match(entry):
            raise InvalidInput(f"{field}: {entry!r} is no entry; write user:NAME, group:NAME or public.")
        parsed.add(entry)
    return tuple(sorted(parsed))


def local_principal(name: str) -> Principal:
    """The one principal of a service on loopback without keys."""
    return Principal(canonical_name(name), scopes=frozenset({"read", "write", "admin"}))


def may_see(principal: Principal, of: FromClause = documents) -> ColumnElement[bool]:
    """Documents that the principal may see, whatever their state. `of`: an alias of the table, if it is one."""
    clause: ColumnElement[bool] = of.c.acl.overlap(list(principal.grants))
    return clause


def visible_documents(principal: Principal) -> ColumnElement[bool]:
    """Documents that answers may use: seen by the principal, not deleted, with an active version."""
    return and_(may_see(principal), documents.c.deleted_at.is_(None), documents.c.active_version.is_not(None))


def visible_version(version_id: ColumnElement[str], principal: Principal) -> ColumnElement[bool]:
    """DESIGN's visibility rule: the version is the active one of a document that the principal may see."""
    return exists(
        select(documents.c.document_id).where(documents.c.active_version == version_id, visible_documents(principal))
    )


def is_loopback(host: str) -> bool:
    """Whether the host is this machine itself: `localhost`, or an address of the loopback range; no other name."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def require_safe_address(host: str, has_keys: bool) -> None:
    """ConfigurationError when the service would listen beyond this machine without API keys."""
    if not is_loopback(host) and not has_keys:
        raise ConfigurationError(
            f"ASKLINE_SERVICE__HOST={host}: listening beyond loopback needs API keys, and there are none.",
            fix="Create one with `askline keys create NAME` while it listens on 127.0.0.1, or set the host back.",
        )


def may_manage(principal: Principal, owner: str) -> bool:
    """Whether the principal may delete a document, try it again or change who sees it: its owner, or an admin."""
    return principal.name == owner or "admin" in principal.scopes


def parse_name(name: str, field: str = "name") -> str:
    """A principal's or group's canonical name, of a form that ACL entries and object keys can hold. InvalidInput."""
    canonical = canonical_name(name)
    if not _NAME.match(canonical):
        raise InvalidInput(
            f"{field}: {name!r} is no name.", fix="Use letters, digits and . _ - + @, beginning with a letter or digit."
        )
    return canonical
