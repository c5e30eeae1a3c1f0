"""Rows of what is derived from a version: its chunks."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, RowMapping, ScalarResult, delete, insert, select

from foundation.registry.tables import chunks
from foundation.types import Chunk


def replace_chunks(
    connection: Connection, version_id: str, found: Sequence[Chunk], *, parser: str, chunker: str
) -> None:
    """The version's chunks are these. When they are there already nothing is touched, so that mentions stay."""
    known: ScalarResult[str] = connection.execute(
        select(chunks.c.chunk_id).where(chunks.c.version_id == version_id).order_by(chunks.c.ordinal)
    ).scalars()
    if list(known) == [chunk.chunk_id for chunk in found]:
        return
    connection.execute(delete(chunks).where(chunks.c.version_id == version_id))
    if found:
        connection.execute(
            insert(chunks),
            [
                {
                    "chunk_id": chunk.chunk_id,
                    "version_id": version_id,
                    "ordinal": chunk.ordinal,
                    "start_char": chunk.start,
                    "end_char": chunk.end,
                    "page": chunk.page,
                    "section": chunk.section,
                    "tokens": chunk.tokens,
                    "parser": parser,
                    "chunker": chunker,
                }
                for chunk in found
            ],
        )


def get_chunk(connection: Connection, chunk_id: str) -> RowMapping | None:
    return connection.execute(select(chunks).where(chunks.c.chunk_id == chunk_id)).mappings().one_or_none()


def chunks_of(connection: Connection, version_id: str) -> Sequence[RowMapping]:
    return (
        connection.execute(select(chunks).where(chunks.c.version_id == version_id).order_by(chunks.c.ordinal))
        .mappings()
        .all()
    )
