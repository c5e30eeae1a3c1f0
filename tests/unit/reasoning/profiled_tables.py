"""A table of DuckDB as the planner sees it, with the profile that an upload has."""

from __future__ import annotations

import duckdb

from foundation.types import Column, ColumnType, TableInfo

_TYPES: dict[str, ColumnType] = {
    "VARCHAR": "text",
    "BIGINT": "bigint",
    "DOUBLE": "double",
    "BOOLEAN": "boolean",
    "DATE": "date",
    "TIMESTAMP": "timestamp",
}


def profile(connection: duckdb.DuckDBPyConnection, name: str) -> TableInfo:
    rows = connection.execute(f'select count(*) from "{name}"').fetchall()[0][0]
    columns = []
    for header, kind, *_ in connection.execute(f'describe "{name}"').fetchall():
        q = f'"{header}"'
        distinct, nulls = connection.execute(
            f'select count(distinct {q}), count(*) filter ({q} is null) from "{name}"'
        ).fetchall()[0]
        top = connection.execute(
            f'select {q}::varchar from "{name}" where {q} is not null group by 1 order by count(*) desc, 1 limit ?',
            [50 if distinct <= 50 else 5],
        ).fetchall()
        columns.append(
            Column(
                header,
                header,
                "decimal" if kind.startswith("DECIMAL") else _TYPES[kind],
                nulls=nulls,
                distinct=distinct if distinct <= 1_000 else None,
                samples=tuple(r[0] for r in top),
            )
        )
    return TableInfo(
        name, f"{name}.csv", tuple(columns), rows, "upload", "", True, f"dst_{name}", file_name=f"{name}.csv"
    )
