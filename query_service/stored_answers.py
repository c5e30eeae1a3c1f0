"""Stored answers as they are shown now: what has changed since is marked, what has been deleted is not quoted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection

from foundation.registry.conversations import EMPTIED, ERASED
from foundation.registry.standing import standing_of


def as_shown(connection: Connection, bodies: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The bodies with `stale` on the answer and on each of its citations.

    An answer over a document that was deleted a moment ago is shown as its erasure will leave it.
    """
    found = standing_of(connection, [body["answer_id"] for body in bodies])
    shown = []
    for body in bodies:
        standing = found.get(body["answer_id"])
        if standing is None:
            shown.append({**body, "stale": False})
        elif standing.deleted:
            shown.append({**body, **EMPTIED, "text": ERASED, "stale": True})
        else:
            stale = standing.stale_citations
            citations = [{**c, "stale": c["n"] in stale} for c in body["citations"]]
            shown.append({**body, "citations": citations, "stale": True})
    return shown
