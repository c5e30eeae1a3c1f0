"""A version's tables: kept, copied to Postgres, and named by each document after its own file."""

from __future__ import annotations

from collections import Counter
from typing import Any

from sqlalchemy import Connection

from foundation.errors import StageFailed
from foundation.ids import dataset_id
from foundation.registry.database import transaction
from foundation.registry.datasets import column_from_json, datasets_of, remove_datasets, save_dataset
from foundation.registry.table_names import names_of_document, names_taken, save_names
from foundation.stores import Stores
from foundation.table_catalog import forget_in_catalog, tell_catalog
from foundation.types import ParsedTable, ParsedWorkbook, TableInfo
from pipelines.parsing.table_names import table_name


def dataset_of(version_id: str, table: ParsedTable) -> TableInfo:
    """The catalog entry of a table; its names are those of the documents that hold it."""
    return TableInfo(
        name=table.label,
        label=table.label,
        columns=table.columns,
        row_count=table.row_count,
        kind="upload",
        parquet_path=table.parquet_path,
        postgres=True,
        dataset_id=dataset_id(version_id, table.ordinal),
        ordinal=table.ordinal,
        version_id=version_id,
        sheet=table.sheet,
        rejects=table.rejects,
    )


def save_tables(stores: Stores, version_id: str, parsed: ParsedWorkbook) -> dict[str, Any]:
    """Keep what was parsed of these bytes: Parquet, profiles, catalog. Returns the stage's counts."""
    workbook = stores.artefacts.save_workbook(version_id, parsed)
    _remove_others(stores, version_id, {table.ordinal for table in workbook.tables})
    tables = [dataset_of(version_id, table) for table in workbook.tables]
    with transaction(stores.engine) as connection:
        for table in tables:
            save_dataset(connection, table)
    tell_catalog(stores, tables)
    return {
        "tables": len(workbook.tables),
        "rows": sum(t.row_count for t in workbook.tables),
        "table_warnings": len(workbook.warnings),
    }


def copy_tables(stores: Stores, version_id: str, file_name: str) -> dict[str, Any]:
    """A Postgres copy of each table of these bytes, with the types read back. Returns the stage's counts."""
    with transaction(stores.engine) as connection:
        found = datasets_of(connection, version_id)
    copied = 0
    for row in found:
        columns = tuple(column_from_json(column) for column in row["columns"])
        with stores.derived.local_path(row["parquet_key"]) as path:
            copied += stores.relational.copy_parquet(row["postgres_table"], columns, path)
        types = stores.relational.column_types(row["postgres_table"])
        wrong = [c.name for c in columns if types.get(c.name) != c.type]
        if wrong:
            raise StageFailed(f"{file_name}: columns {', '.join(wrong)} have another type in Postgres.")
    return {"copies": len(found), "copied_rows": copied}


def _remove_others(stores: Stores, version_id: str, ordinals: set[int]) -> None:
    """Tables that an earlier parser found in these bytes and this one does not."""
    with transaction(stores.engine) as connection:
        gone = [row for row in datasets_of(connection, version_id) if row["ordinal"] not in ordinals]
        forget_in_catalog(stores, [row["dataset_id"] for row in gone])
        remove_datasets(connection, [row["dataset_id"] for row in gone])
    for row in gone:
        stores.relational.drop_table(row["postgres_table"])
        stores.derived.purge(row["parquet_key"])


def name_tables(connection: Connection, document_id: str, file_name: str, version_id: str) -> None:
    """Name every table that the document has in this version; one that an earlier version had keeps its name."""
    found = datasets_of(connection, version_id)
    if not found:
        return
    taken = names_taken(connection, document_id)
    earlier = names_of_document(connection, document_id)
    names = {row["dataset_id"]: earlier.get((row["ordinal"], row["sheet"])) for row in found}
    taken |= {name for name in names.values() if name}
    sheets = Counter(row["sheet"] for row in found if not row["rejects"])
    for row in found:
        if names[row["dataset_id"]] is None:
            # A title tells the tables of one sheet apart.
            part = row["label"] if row["rejects"] or sheets[row["sheet"]] > 1 else None
            name = table_name(file_name, row["sheet"], len(sheets), taken, part if part != row["sheet"] else None)
            names[row["dataset_id"]] = name
            taken.add(name)
    save_names(connection, document_id, version_id, {key: name for key, name in names.items() if name})
