"""/tables and POST /sql: what there is to query, and a statement of one's own under the same guard."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from foundation.registry.datasets import visible_table, visible_tables
from foundation.registry.documents import links_of
from foundation.table_catalog import catalog_name
from foundation.types import TableInfo
from query_service.agents.table_query import entry, execute, guarded
from query_service.answer import SqlEntry
from query_service.api.common import ConnectionDep, PrincipalDep, ServicesDep, checked_cursor, page

router = APIRouter(tags=["tables"])


def _shown(table: TableInfo) -> dict[str, Any]:
    return {
        "name": table.name,
        "label": table.label,
        "kind": table.kind,
        "sheet": table.sheet,
        "description": table.description,
        "rows": table.row_count,
        "rejects": table.rejects,
        "engines": ["postgres", "warehouse"] if table.postgres else ["warehouse"],
        "document_id": table.document_id,
        "version_id": table.version_id,
        "file_name": table.file_name,
        "columns": [
            {
                "name": column.name,
                "label": column.label,
                "type": column.type,
                "precision": column.precision,
                "scale": column.scale,
                "nulls": column.nulls,
                "distinct": column.distinct,
                "minimum": column.minimum,
                "maximum": column.maximum,
                "samples": list(column.samples),
            }
            for column in table.columns
        ],
    }


@router.get("/tables", summary="Tables that you can query")
def list_tables(
    connection: ConnectionDep,
    principal: PrincipalDep,
    cursor: str | None = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 200,
) -> dict[str, Any]:
    """Uploaded tables and marts, with their columns and the engines that can read them."""
    after = checked_cursor(cursor)
    tables = [t for t in visible_tables(connection, principal) if after is None or t.name > after]
    return page([_shown(table) for table in tables[: limit + 1]], limit, "name")


@router.get("/tables/{name}", summary="One table with its link to document version, catalog and Postgres")
def get_table(name: str, connection: ConnectionDep, principal: PrincipalDep, services: ServicesDep) -> dict[str, Any]:
    """With the link from document version to catalog and Postgres table, and the three row counts."""
    table = visible_table(connection, principal, name)
    links = links_of(connection, [table.version_id]) if table.version_id else []
    link = next((row for row in links if row["dataset_id"] == table.dataset_id), None)
    return _shown(table) | {
        "dataset_id": table.dataset_id,
        "link": None
        if link is None
        else {
            "document_id": table.document_id,
            "version_id": link["version_id"],
            "catalog_table": catalog_name(services.stores, table.dataset_id, table.name),
            "postgres_table": link["postgres_table"],
            "rows_file": link["rows_file"],
            "rows_catalog": link["rows_catalog"],
            "rows_postgres": link["rows_postgres"],
            "run_id": link["run_id"],
            "linked_at": link["linked_at"],
        },
    }


class SqlRequest(BaseModel):
    statement: str = Field(min_length=1, max_length=20_000)
    engine: Literal["postgres", "warehouse"] = "postgres"


@router.post("/sql", summary="Run a SELECT of your own, read-only, under the guard")
def run_sql(asked: SqlRequest, services: ServicesDep, principal: PrincipalDep) -> SqlEntry:
    """Only SELECT, only over tables that you can see, with a limit on rows and time. Refusals name the rule."""
    tables = services.read_tables(principal)
    sql = guarded(services.stores, asked.statement, asked.engine, tables)
    return entry(sql, asked.engine, execute(services.stores, sql, asked.engine, tables))
