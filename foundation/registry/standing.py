"""Whether what a stored answer stands on still answers: looked up whenever it is shown, never stored with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection, Integer, and_, literal, null, or_, select

from foundation.registry.tables import answer_tables, citations, documents


@dataclass(slots=True)
class Standing:
    stale_citations: set[int] = field(default_factory=set)
    """Numbers of the citations whose version is not the active one of its document any more."""
    stale: bool = False
    """One of them, or a table that it read, is of such a version."""
    deleted: bool = False
    """It used a document that has been deleted; its erasure empties the answer."""


def standing_of(connection: Connection, answer_ids: Sequence[str]) -> dict[str, Standing]:
    """Only of answers that used something that does not answer any more."""
    cited = select(citations.c.answer_id, citations.c.n, citations.c.document_id, citations.c.version_id).where(
        citations.c.answer_id.in_(answer_ids)
    )
    read = select(
        answer_tables.c.answer_id,
        literal(None, Integer).label("n"),
        answer_tables.c.document_id,
        answer_tables.c.version_id,
    ).where(answer_tables.c.answer_id.in_(answer_ids), answer_tables.c.document_id.is_not(null()))
    used = cited.union_all(read).subquery()
    rows = connection.execute(
        select(used.c.answer_id, used.c.n, documents.c.deleted_at)
        .outerjoin(documents, documents.c.document_id == used.c.document_id)
        .where(
            or_(
                documents.c.active_version.is_(None),
                and_(documents.c.active_version != used.c.version_id, used.c.version_id.is_not(None)),
            )
        )
    )
    found: dict[str, Standing] = {}
    for row in rows:
        standing = found.setdefault(row.answer_id, Standing())
        standing.stale = True
        standing.deleted = standing.deleted or row.deleted_at is not None
        if row.n is not None:
            standing.stale_citations.add(row.n)
    return found
