"""What an ingested version gave: for POST /upload?wait= and for whoever wants to see it at a glance."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection

from foundation.errors import QueryFailed
from foundation.registry.artefacts import chunks_of
from foundation.registry.datasets import datasets_of
from foundation.registry.table_names import names_of_version
from foundation.sql_guard import guard
from query_service.agents.table_query import plain
from query_service.services import Services

_SAMPLE_ROWS = 5


def outcome_of(connection: Connection, services: Services, document_id: str, version_id: str) -> dict[str, Any]:
    """rows, columns, sample_rows, tables, chunks, entities, relationships of one version of a document."""
    names = names_of_version(connection, document_id, version_id)
    tables = []
    for row in datasets_of(connection, version_id):
        tables.append(
            {
                "name": names.get(row["dataset_id"]),
                "label": row["label"] or None,
                "sheet": row["sheet"],
                "rows": row["row_count"],
                "columns": [{"name": c["name"], "label": c["label"], "type": c["type"]} for c in row["columns"]],
                "sample_rows": _sample(services, row["postgres_table"], [c["name"] for c in row["columns"]]),
            }
        )
    counts = services.stores.graph.counts(version_id)
    return {
        "rows": sum(table["rows"] for table in tables),
        "columns": tables[0]["columns"] if tables else [],
        "sample_rows": tables[0]["sample_rows"] if tables else [],
        "tables": tables,
        "chunks": len(chunks_of(connection, version_id)),
        "entities": counts["nodes"],
        "relationships": counts["edges"],
    }


def _sample(services: Services, name: str, columns: list[str]) -> list[list[Any]]:
    """The first rows of the published copy; none before it is published."""
    statement = f'select * from "{name}"'
    sql = guard(statement, dialect="postgres", tables={name: columns}, limit=_SAMPLE_ROWS)
    try:
        result = services.stores.relational.query(sql)
    except QueryFailed:
        return []
    return [[plain(value) for value in row] for row in result.rows]
