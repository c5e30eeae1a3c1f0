"""Documents inside documents: the members of an archive, the attachments of a mail. Each knows what holds it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from sqlalchemy import Connection, RowMapping, Select, func, literal, select

from foundation.access import may_see
from foundation.registry.tables import document_versions, documents
from foundation.types import Principal, Status

MEMBERS = "members"
"""What is unpacked is stored under `members/<document that holds it>/`; a scan takes nothing else for it."""


def member_key(holder_id: str, path: str, file_name: str) -> str:
    """The landing key of a member. Its place in the holder is only hashed: whatever it is, the key is harmless."""
    return f"{MEMBERS}/{holder_id}/{hashlib.sha256(path.encode()).hexdigest()[:16]}/{file_name}"


def holder_of_key(key: str) -> str | None:
    """The document that a landing key's file came out of; None for a file that came by itself."""
    parts = key.split("/")
    return parts[1] if len(parts) > 2 and parts[0] == MEMBERS else None


def living_members(connection: Connection, holder_id: str) -> list[str]:
    """The documents that this one holds, in the order of their ids."""
    rows = connection.execute(
        select(documents.c.document_id)
        .where(documents.c.parent_id == holder_id, documents.c.deleted_at.is_(None))
        .order_by(documents.c.document_id)
    )
    return list(rows.scalars())


def member_keys(connection: Connection, holder_id: str) -> dict[str, str]:
    """landing_key → document_id of the living members."""
    rows = connection.execute(
        select(documents.c.landing_key, documents.c.document_id).where(
            documents.c.parent_id == holder_id, documents.c.deleted_at.is_(None)
        )
    )
    return {row.landing_key: row.document_id for row in rows}


def visible_members(connection: Connection, principal: Principal, holder_id: str) -> Sequence[RowMapping]:
    """document_id, file_name and parent_path of the members that the principal may see, by their place."""
    return (
        connection.execute(
            select(documents.c.document_id, documents.c.file_name, documents.c.parent_path)
            .where(documents.c.parent_id == holder_id, documents.c.deleted_at.is_(None), may_see(principal))
            .order_by(documents.c.parent_path, documents.c.document_id)
        )
        .mappings()
        .all()
    )


def holders(connection: Connection, document_id: str) -> list[str]:
    """The documents that a document is in, the nearest first; empty for one that came by itself."""
    return [row.parent_id for row in connection.execute(_chain(document_id))]


def descendants(connection: Connection, document_id: str) -> list[str]:
    """Every living document inside this one, however deep."""
    tree = (
        select(documents.c.document_id)
        .where(documents.c.parent_id == document_id, documents.c.deleted_at.is_(None))
        .cte("tree", recursive=True)
    )
    tree = tree.union(
        select(documents.c.document_id).where(
            documents.c.parent_id == tree.c.document_id, documents.c.deleted_at.is_(None)
        )
    )
    return list(connection.execute(select(tree.c.document_id).order_by(tree.c.document_id)).scalars())


def has_work_on(connection: Connection, document_id: str) -> bool:
    """Whether a version of the document waits or is in work, so that its members may just be landing."""
    waiting = select(document_versions.c.version_id).where(
        document_versions.c.document_id == document_id,
        document_versions.c.status.in_([Status.UPLOADED, Status.PROCESSING]),
    )
    return connection.execute(select(waiting.exists())).scalar_one()


def is_live_key(connection: Connection, landing_key: str) -> bool:
    living = select(documents.c.document_id).where(
        documents.c.landing_key == landing_key, documents.c.deleted_at.is_(None)
    )
    return connection.execute(select(living.exists())).scalar_one()


def unpacked(connection: Connection, root_id: str, without: str) -> tuple[int, int]:
    """(documents, bytes) of what came out of a document at any depth, not counting what is directly in `without`."""
    inside = descendants(connection, root_id)
    latest = (
        select(document_versions.c.size_bytes)
        .where(document_versions.c.document_id == documents.c.document_id)
        .order_by(document_versions.c.number.desc())
        .limit(1)
        .scalar_subquery()
    )
    row = connection.execute(
        select(func.count(), func.coalesce(func.sum(latest), 0)).where(
            documents.c.document_id.in_(inside), documents.c.parent_id != without
        )
    ).one()
    return int(row[0]), int(row[1])


def _chain(document_id: str) -> Select[tuple[str, int]]:
    chain = (
        select(documents.c.parent_id, literal(1).label("depth"))
        .where(documents.c.document_id == document_id, documents.c.parent_id.is_not(None))
        .cte("chain", recursive=True)
    )
    chain = chain.union(
        select(documents.c.parent_id, chain.c.depth + 1).where(
            documents.c.document_id == chain.c.parent_id, documents.c.parent_id.is_not(None)
        )
    )
    return select(chain.c.parent_id, chain.c.depth).order_by(chain.c.depth)
