"""Rows of what is derived from a version: its chunks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    RowMapping,
    Table,
    Update,
    and_,
    case,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import insert as upsert

from foundation.registry.tables import chunks, citations, mentions
from foundation.types import Chunk


def replace_chunks(connection: Connection, found: Mapping[str, tuple[str, Sequence[Chunk]]], *, chunker: str) -> None:
    """These (version → parser, chunks) are the chunks of their versions.

    Where they are there already nothing is touched, so that mentions stay.
    """
    known: dict[str, list[str]] = {version_id: [] for version_id in found}
    current = select(chunks.c.version_id, chunks.c.chunk_id).where(_of(*found)).order_by(chunks.c.ordinal)
    for row in connection.execute(current):
        known[row.version_id].append(row.chunk_id)
    new = {
        version_id: [_row(chunk, parser, chunker) for chunk in of_version]
        for version_id, (parser, of_version) in found.items()
        if known[version_id] != [chunk.chunk_id for chunk in of_version]
    }
    rows = [row for of_version in new.values() for row in of_version]
    if new:
        ids = [row["chunk_id"] for row in rows]
        connection.execute(delete(chunks).where(or_(_of(*new), chunks.c.chunk_id.in_(ids))))
    if rows:
        connection.execute(insert(chunks), rows)


def exchange_chunks(connection: Connection, found: Iterable[tuple[str, str, Sequence[Chunk]]]) -> int:
    """Make these (parser, chunker, chunks of one version) the chunks of their versions; returns how many they are.

    Evidence and citations move to the chunk that holds their span. What was replaced stays, so that an answer in the
    making still finds it, until `drop_replaced_chunks`.
    """
    count = 0
    for parser, chunker, of_version in found:
        version_id, ids = of_version[0].version_id, [chunk.chunk_id for chunk in of_version]
        connection.execute(
            update(chunks).where(_of(version_id), chunks.c.chunk_id.not_in(ids)).values(replaced_at=func.now())
        )
        statement = upsert(chunks)
        connection.execute(
            statement.on_conflict_do_update(index_elements=[chunks.c.chunk_id], set_={"replaced_at": None}),
            [_row(chunk, parser, chunker) for chunk in of_version],
        )
        for table in (mentions, citations):
            connection.execute(_moved(table, version_id))
        count += len(of_version)
    return count


def drop_replaced_chunks(connection: Connection) -> int:
    return connection.execute(delete(chunks).where(chunks.c.replaced_at.is_not(None))).rowcount


def _moved(table: Table, version_id: str) -> Update:
    """Rows of a version that point to a replaced chunk point to the current one that holds the start of their span."""
    new = chunks.alias("new")
    holding = (
        select(new.c.chunk_id)
        .where(
            new.c.version_id == version_id,
            new.c.replaced_at.is_(None),
            new.c.start_char <= table.c.start_char,
            table.c.start_char < new.c.end_char,
        )
        .order_by(case((table.c.end_char <= new.c.end_char, 0), else_=1), new.c.ordinal)
        .limit(1)
        .scalar_subquery()
    )
    replaced = select(chunks.c.chunk_id).where(chunks.c.version_id == version_id, chunks.c.replaced_at.is_not(None))
    return (
        update(table)
        .where(table.c.version_id == version_id, table.c.chunk_id.in_(replaced))
        .values(chunk_id=func.coalesce(holding, table.c.chunk_id))
    )


def _of(*version_ids: str) -> ColumnElement[bool]:
    return and_(chunks.c.version_id.in_(version_ids), chunks.c.replaced_at.is_(None))


def _row(chunk: Chunk, parser: str, chunker: str) -> dict[str, Any]:
    return {
        "chunk_id": chunk.chunk_id,
        "version_id": chunk.version_id,
        "ordinal": chunk.ordinal,
        "start_char": chunk.start,
        "end_char": chunk.end,
        "page": chunk.page,
        "section": chunk.section,
        "tokens": chunk.tokens,
        "parser": parser,
        "chunker": chunker,
    }


def get_chunk(connection: Connection, chunk_id: str) -> RowMapping | None:
    return connection.execute(select(chunks).where(chunks.c.chunk_id == chunk_id)).mappings().one_or_none()


def chunks_of(connection: Connection, version_id: str) -> Sequence[RowMapping]:
    return connection.execute(select(chunks).where(_of(version_id)).order_by(chunks.c.ordinal)).mappings().all()
