"""Real patient tables (Synthea CSVs) as DuckDB holds them, with profiles as an upload has them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest
from profiled_tables import profile

from foundation.types import TableInfo

_POSTGRES = {"VARCHAR": "text", "DOUBLE": "double precision"}


@dataclass(frozen=True)
class Patients:
    tables: tuple[TableInfo, ...]
    duckdb: duckdb.DuckDBPyConnection

    def find_values(self, table: str, column: str, text: str) -> list[str]:
        sql = (
            f'select distinct "{column}" from "{table}" where contains(lower("{column}"), lower(?)) order by 1 limit 50'
        )
        return [r[0] for r in self.duckdb.execute(sql, [text]).fetchall()]


@pytest.fixture(scope="session")
def patients(shared_data: Path) -> Patients:
    connection = duckdb.connect()
    connection.execute("set timezone = 'UTC'")
    names = []
    for file in sorted((shared_data / "text_to_sql" / "synthea_csv").glob("*.csv")):
        relation = connection.read_csv(str(file), header=True, all_varchar=False, sample_size=-1)
        selected = []
        for header, kind in zip(relation.columns, relation.types, strict=True):
            low = header.lower()
            code = low in {"code", "reasoncode", "zip", "fips", "ssn"}
            target = "varchar" if code else "timestamp" if "TIMESTAMP" in str(kind) else str(kind)
            selected.append(f'cast("{header}" as {target}) as {low}')
        connection.execute(f'create table "{file.stem}" as {relation.project(", ".join(selected)).sql_query()}')
        names.append(file.stem)
    return Patients(tuple(profile(connection, name) for name in names), connection)


@pytest.fixture
def in_postgres(patients: Patients, empty_database: str) -> Callable[[str], list[tuple[Any, ...]]]:
    """Runs a statement in a real Postgres that holds the same tables."""
    with psycopg.connect(empty_database) as connection:
        for table in patients.tables:
            described = patients.duckdb.execute(f'describe "{table.name}"').fetchall()
            columns = ", ".join(f'"{name}" {_POSTGRES.get(kind, kind)}' for name, kind, *_ in described)
            connection.execute(f'create table "{table.name}" ({columns})')
            with connection.cursor().copy(f'copy "{table.name}" from stdin') as copy:
                for row in patients.duckdb.execute(f'select * from "{table.name}"').fetchall():
                    copy.write_row(row)

    def run(sql: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(empty_database) as connection:
            connection.execute("set timezone to 'UTC'")
            return connection.execute(sql).fetchall()

    return run
