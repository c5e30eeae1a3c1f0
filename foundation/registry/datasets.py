"""Typed tables: which exist and who may read them. Also the embedded catalog."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict
from pathlib import PurePath
from typing import Any

from sqlalchemy import Connection, RowMapping, and_, delete, func, insert, select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.dialects.postgresql import insert as upsert

from foundation.errors import NotFound
from foundation.registry.table_names import TableName, visible_names
from foundation.registry.tables import datasets, document_tables, documents, mart_sources, table_links
from foundation.types import Column, Principal, TableInfo


def column_from_json(value: dict[str, Any]) -> Column:
    return Column(**{**value, "samples": tuple(value.get("samples", ()))})


def relation_name(dataset_id: str) -> str:
    """The Postgres table of a dataset's copy, and the view that shows it: of the content, so no name is in it."""
    return f"t_{dataset_id.partition('_')[2]}"


def save_dataset(connection: Connection, table: TableInfo) -> None:
    """Create or replace the catalog entry of this dataset. `parquet_path` is its key in the derived store."""
    values = {
        "version_id": table.version_id,
        "kind": table.kind,
        "table_name": table.name if table.kind == "mart" else None,
        "label": table.label,
        "sheet": table.sheet,
        "description": table.description,
        "columns": [asdict(column) for column in table.columns],
        "row_count": table.row_count,
        "parquet_key": table.parquet_path,
        "rejects": table.rejects,
        "postgres_table": relation_name(table.dataset_id) if table.postgres else None,
        "run_id": table.run_id,
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
    """The tables that the principal may read: of visible versions, and marts all of whose sources are visible.

    A content that two visible documents hold is there twice, by the name that each gives it.
    """
    names = [n for n in visible_names(connection, principal) if name is None or n.name == name]
    rows = {
        row["dataset_id"]: row
        for row in connection.execute(
            select(datasets).where(datasets.c.dataset_id.in_({n.dataset_id for n in names}))
        ).mappings()
    }
    held_by = {n.document_id for n in names if n.document_id}
    found = connection.execute(
        select(documents.c.document_id, documents.c.file_name).where(documents.c.document_id.in_(held_by))
    )
    files = {row.document_id: row.file_name for row in found}
    tables = [table_info(rows[n.dataset_id], n, files.get(n.document_id or "")) for n in names]
    return sorted(tables, key=lambda table: table.name)


def visible_table(connection: Connection, principal: Principal, name: str) -> TableInfo:
    found = visible_tables(connection, principal, name)
    if not found:
        raise NotFound(f"There is no table {name}.", fix="GET /tables lists the tables that you can read.")
    return found[0]


_ABOUT_REJECTS = {"irregular", "reject", "rejects", "rejected"}


def one_a_content(tables: Iterable[TableInfo], question_words: Collection[str] = ()) -> list[TableInfo]:
    """Each dataset once: by the name of which the question has the most words, else by the oldest document's.

    Irregular rows only where the question asks for them.
    """
    by_dataset: dict[str, list[TableInfo]] = {}
    about_rejects = not _ABOUT_REJECTS.isdisjoint(question_words)
    for table in tables:
        if table.rejects and not about_rejects:
            continue
        by_dataset.setdefault(table.dataset_id, []).append(table)

    def fit(table: TableInfo) -> tuple[int, str]:
        words = table.name.split("_")
        return -sum(word in question_words for word in words), table.document_id or ""

    return [min(same, key=fit) for same in by_dataset.values()]


def table_info(row: RowMapping, known: TableName, file_name: str | None) -> TableInfo:
    """`parquet_path` holds the key within the derived store; the caller resolves it."""
    return TableInfo(
        name=known.name,
        label=row["label"] or PurePath(file_name or known.name).stem,
        columns=tuple(column_from_json(column) for column in row["columns"]),
        row_count=row["row_count"],
        kind=row["kind"],
        parquet_path=row["parquet_key"],
        postgres=row["postgres_table"] is not None,
        dataset_id=row["dataset_id"],
        relation=row["postgres_table"],
        ordinal=row["ordinal"],
        version_id=row["version_id"],
        document_id=known.document_id,
        file_name=file_name,
        sheet=row["sheet"],
        description=row["description"],
        rejects=row["rejects"],
        run_id=row["run_id"],
    )


def active_datasets(connection: Connection) -> Sequence[RowMapping]:
    """Datasets of every active version, whoever may see them: what dbt builds from. `name` is the oldest document's."""
    return (
        connection.execute(
            select(datasets, document_tables.c.table_name.label("name"), documents.c.file_name)
            .ext(distinct_on(datasets.c.dataset_id))
            .join(document_tables, document_tables.c.dataset_id == datasets.c.dataset_id)
            .join(
                documents,
                and_(
                    documents.c.document_id == document_tables.c.document_id,
                    documents.c.active_version == datasets.c.version_id,
                ),
            )
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


def sources_of_mart(connection: Connection, mart_id: str, principal: Principal) -> list[dict[str, Any]]:
    """The uploads that a mart was built from, each by the first visible document that holds it.

    Dataset with its columns, version, document_id and the name that the principal knows it by; both None where no
    visible document holds it any more.
    """
    known: dict[str, TableName] = {}
    for each in visible_names(connection, principal):
        known.setdefault(each.dataset_id, each)
    rows = connection.execute(
        select(datasets)
        .join(mart_sources, mart_sources.c.dataset_id == datasets.c.dataset_id)
        .where(mart_sources.c.mart_id == mart_id)
        .order_by(datasets.c.dataset_id)
    ).mappings()
    found = []
    for row in rows:
        name = known.get(row["dataset_id"])
        found.append(
            {
                **row,
                "columns": tuple(column_from_json(c) for c in row["columns"]),
                "table_name": name.name if name else None,
                "document_id": name.document_id if name else None,
            }
        )
    return found


def remove_datasets(connection: Connection, dataset_ids: Sequence[str]) -> int:
    return connection.execute(delete(datasets).where(datasets.c.dataset_id.in_(dataset_ids))).rowcount
