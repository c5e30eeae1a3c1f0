"""Counts that the asset checks judge."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from sqlalchemy import Column, ColumnElement, Connection, RowMapping, Select, exists, func, select

from foundation.registry.tables import chunks, document_versions, edges, mentions, table_links


def _versions_of(day: date) -> Select[tuple[str]]:
    return select(document_versions.c.version_id).where(document_versions.c.arrival_day == day)


def duplicate_chunk_ids(connection: Connection, day: date) -> tuple[int, int]:
    """(chunks, distinct places) of the day's versions: the same place under two ids would be a doubled chunk."""
    place = func.concat(chunks.c.version_id, "/", chunks.c.start_char, "-", chunks.c.end_char)
    row = connection.execute(
        select(func.count(), func.count(func.distinct(place))).where(
            chunks.c.version_id.in_(_versions_of(day)), chunks.c.replaced_at.is_(None)
        )
    ).one()
    return row[0], row[1]


def held_of(connection: Connection, version_ids: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Version → (chunks, mentions) that the registry holds of it."""
    current = _by_version(connection, chunks.c.version_id, version_ids, chunks.c.replaced_at.is_(None))
    evidence = _by_version(connection, mentions.c.version_id, version_ids)
    return {version_id: (current.get(version_id, 0), evidence.get(version_id, 0)) for version_id in version_ids}


def _by_version(
    connection: Connection, column: Column[str], version_ids: Sequence[str], *more: ColumnElement[bool]
) -> dict[str, int]:
    counted = select(column, func.count()).where(column.in_(version_ids), *more).group_by(column)
    return {row[0]: row[1] for row in connection.execute(counted)}


def unequal_links(connection: Connection, version_ids: Sequence[str]) -> tuple[Sequence[RowMapping], list[str]]:
    """The table links of these versions, and the tables whose three counts differ."""
    links = select(table_links).where(table_links.c.version_id.in_(version_ids))
    rows = connection.execute(links).mappings().all()
    return rows, [
        row["postgres_table"] for row in rows if len({row["rows_file"], row["rows_catalog"], row["rows_postgres"]}) != 1
    ]


def edges_without_evidence(connection: Connection) -> tuple[int, int]:
    """(edges, edges without a mention)."""
    held = exists(select(mentions.c.mention_id).where(mentions.c.edge_id == edges.c.edge_id))
    row = connection.execute(select(func.count(), func.count().filter(~held)).select_from(edges)).one()
    return row[0], row[1]
