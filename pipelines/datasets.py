"""A version's tables in the catalog, and which names a document gives them: its own file's, whoever holds the bytes."""

from __future__ import annotations

from collections import Counter

from sqlalchemy import Connection

from foundation.ids import dataset_id
from foundation.registry.datasets import datasets_of
from foundation.registry.table_names import names_of_document, names_taken, save_names
from foundation.types import ParsedTable, TableInfo
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
