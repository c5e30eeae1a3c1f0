"""Typed tables: which exist, under which name, who may read them. Also the embedded catalog."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, RowMapping, and_, delete, exists, func, insert, not_, select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.dialects.postgresql import insert as upsert

from foundation.access import may_see, visible_documents
from foundation.errors import NotFound
from foundation.registry.tables import datasets, document_versions, documents, mart_sources, table_links
from foundation.types import Column, Principal, TableInfo

NAME_LOCK = 0x41534B4E


def column_from_json(value: dict[str, Any]) -> Column:
    return Column(**{**value, "samples": tuple(value.get("samples", ()))})


def names_taken(connection: Connection, document_id: str) -> set[str]:
    """Table names that other living documents or marts hold. Takes the lock that orders those who choose names."""
    connection.execute(select(func.pg_advisory_xact_lock(NAME_LOCK)))
    others = (
        select(datasets.c.table_name)
        .join(document_versions, document_versions.c.version_id == datasets.c.version_id)
        .join(documents, documents.c.document_id == document_versions.c.document_id)
        .where(documents.c.document_id != document_id, documents.c.deleted_at.is_(None))
    )
    marts = select(datasets.c.table_name).where(datasets.c.kind == "mart")
    return set(connection.execute(others.union(marts)).scalars())


def names_of_document(connection: Connection, document_id: str) -> dict[tuple[int, str | None], str]:
    """(ordinal, sheet) → the table name that an earlier version of this document has, so that names stay."""
    rows = connection.execute(
        select(datasets.c.ordinal, datasets.c.sheet, datasets.c.table_name)
        .join(document_versions, document_versions.c.version_id == datasets.c.version_id)
        .where(document_versions.c.document_id == document_id)
        .order_by(document_versions.c.number)
    )
    return {(row.ordinal, row.sheet): row.table_name for row in rows}


def physical_name(table: TableInfo) -> str | None:
    """The Postgres table of an upload's copy: its name and its dataset's id, so that versions stand side by side."""
    if not table.postgres:
        return None
    readable = table.name.encode()[:40].decode(errors="ignore")  # an identifier has 63 bytes at most
    return f"{readable}_{table.dataset_id[-16:]}"


def save_dataset(connection: Connection, table: TableInfo) -> None:
    """Create or replace the catalog entry of this dataset. `parquet_path` is its key in the derived store."""
    values = {
        "version_id": table.version_id,
        "kind": table.kind,
        "table_name": table.name,
        "label": table.label,
        "sheet": table.sheet,
        "description": table.description,
        "columns": [asdict(column) for column in table.columns],
        "row_count": table.row_count,
        "parquet_key": table.parquet_path,
        "postgres_table": physical_name(table),
    }
    connection.execute(
        upsert(datasets)
        .values(dataset_id=table.dataset_id, ordinal=table.ordinal, **values)
        .on_conflict_do_update(index_elements=["dataset_id"], set_=values)
    )


def datasets_of(connection: Connection, version_id: str) -> Sequence[RowMapping]:
    return (
        connection.execute(select(datasets).where(datasets.c.version_id == version_id).order_by(datasets.c.ordinal))
        .mappings()
        .all()
    )


def link(connection: Connection, row: RowMapping, *, rows: tuple[int, int, int], run_id: str) -> None:
    """Persist the tie version ↔ catalog table ↔ Postgres table. `rows`: of file, catalog, Postgres; must be equal."""
    values = {
        "version_id": row["version_id"],
        "catalog_table": row["table_name"],
        "postgres_table": row["postgres_table"],
        "rows_file": rows[0],
        "rows_catalog": rows[1],
        "rows_postgres": rows[2],
        "run_id": run_id,
        "linked_at": func.clock_timestamp(),
    }
    connection.execute(
        upsert(table_links)
        .values(dataset_id=row["dataset_id"], **values)
        .on_conflict_do_update(index_elements=["dataset_id"], set_=values)
    )


def visible_tables(connection: Connection, principal: Principal, name: str | None = None) -> list[TableInfo]:
    """The tables that the principal may read: of visible versions, and marts all of whose sources are visible."""
    tables: list[TableInfo] = []
    uploads = (
        select(datasets, documents.c.document_id, documents.c.file_name)
        .ext(distinct_on(datasets.c.dataset_id))
        .join(documents, documents.c.active_version == datasets.c.version_id)
        .where(visible_documents(principal), datasets.c.postgres_table.is_not(None))
        .order_by(datasets.c.dataset_id, documents.c.created_at)
    )
    hidden_source = exists(
        select(mart_sources.c.mart_id).where(
            mart_sources.c.mart_id == datasets.c.dataset_id,
            not_(
                exists(
                    select(documents.c.document_id).where(
                        documents.c.active_version == mart_sources.c.version_id,
                        documents.c.deleted_at.is_(None),
                        may_see(principal),
                    )
                )
            ),
        )
    )
    has_source = exists(select(mart_sources.c.mart_id).where(mart_sources.c.mart_id == datasets.c.dataset_id))
    marts = select(datasets).where(and_(datasets.c.kind == "mart", has_source, ~hidden_source))
    if name is not None:
        uploads, marts = uploads.where(datasets.c.table_name == name), marts.where(datasets.c.table_name == name)
    for row in [*connection.execute(uploads).mappings(), *connection.execute(marts).mappings()]:
        tables.append(table_info(row))
    return sorted(tables, key=lambda table: table.name)


def visible_table(connection: Connection, principal: Principal, name: str) -> TableInfo:
    found = visible_tables(connection, principal, name)
    if not found:
        raise NotFound(f"There is no table {name}.", fix="GET /tables lists the tables that you can read.")
    return found[0]


def table_info(row: RowMapping) -> TableInfo:
    """`parquet_path` holds the key within the derived store; the caller resolves it."""
    return TableInfo(
        name=row["table_name"],
        label=row["label"],
        columns=tuple(column_from_json(column) for column in row["columns"]),
        row_count=row["row_count"],
        kind=row["kind"],
        parquet_path=row["parquet_key"],
        postgres=row["postgres_table"] is not None,
        dataset_id=row["dataset_id"],
        ordinal=row["ordinal"],
        version_id=row["version_id"],
        document_id=row.get("document_id"),
        file_name=row.get("file_name"),
        sheet=row["sheet"],
        description=row["description"],
    )


def active_datasets(connection: Connection) -> Sequence[RowMapping]:
    """Datasets of every active version, whoever may see them: what dbt builds from."""
    return (
        connection.execute(
            select(datasets, documents.c.file_name)
            .ext(distinct_on(datasets.c.dataset_id))
            .join(documents, documents.c.active_version == datasets.c.version_id)
            .where(documents.c.deleted_at.is_(None))
            .order_by(datasets.c.dataset_id, documents.c.created_at)
        )
        .mappings()
        .all()
    )


def replace_mart_sources(connection: Connection, mart_id: str, sources: Iterable[tuple[str, str]]) -> None:
    """`sources`: (dataset_id, version_id) of the uploads that the mart was built from."""
    connection.execute(delete(mart_sources).where(mart_sources.c.mart_id == mart_id))
    rows = [{"mart_id": mart_id, "dataset_id": d, "version_id": v} for d, v in sources]
    if rows:
        connection.execute(insert(mart_sources), rows)


def marts_using(connection: Connection, version_ids: Sequence[str]) -> Sequence[RowMapping]:
    return (
        connection.execute(
            select(datasets)
            .ext(distinct_on(datasets.c.dataset_id))
            .join(mart_sources, mart_sources.c.mart_id == datasets.c.dataset_id)
            .where(mart_sources.c.version_id.in_(version_ids))
        )
        .mappings()
        .all()
    )


def sources_of_mart(connection: Connection, mart_id: str) -> list[dict[str, Any]]:
    """The uploads that a mart was built from: dataset, table, columns, row count, version and a living document."""
    rows = (
        connection.execute(
            select(datasets, documents.c.document_id)
            .ext(distinct_on(datasets.c.dataset_id))
            .join(mart_sources, mart_sources.c.dataset_id == datasets.c.dataset_id)
            .outerjoin(
                documents,
                and_(documents.c.active_version == datasets.c.version_id, documents.c.deleted_at.is_(None)),
            )
            .where(mart_sources.c.mart_id == mart_id)
            .order_by(datasets.c.dataset_id, documents.c.created_at)
        )
        .mappings()
        .all()
    )
    return [{**row, "columns": tuple(column_from_json(c) for c in row["columns"])} for row in rows]


def remove_datasets(connection: Connection, dataset_ids: Sequence[str]) -> int:
    return connection.execute(delete(datasets).where(datasets.c.dataset_id.in_(dataset_ids))).rowcount
