"""What the compiler and the guard write for Athena, on a real Trino, beside the same on DuckDB."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from lake import lake_settings, put_table
from semantic_queries import QUERIES
from uploaded import make_stores, upload_csv

from foundation import aws_stores
from foundation.adapters.embedded import postgres
from foundation.adapters.embedded.warehouse import DuckDbWarehouse
from foundation.errors import QueryFailed, SqlRefused
from foundation.ports.warehouse import Warehouse
from foundation.registry.database import transaction
from foundation.registry.datasets import visible_tables
from foundation.settings import Settings
from foundation.sql_guard import guard
from foundation.stores import Stores
from foundation.types import Column, ColumnType, Principal, QueryResult, TableInfo
from query_service.agents.table_query import understand_tables
from query_service.reasoning.compiler import Dialect
from query_service.reasoning.compiler import compile as compile_query
from query_service.reasoning.planner import Declined
from query_service.reasoning.semantic_query import SemanticQuery
from query_service.services import Services
from tests.engines.athena import Athena

pytestmark = pytest.mark.engines

SAMPLES = Path(__file__).parents[2] / "samples"
ASKED = yaml.safe_load((SAMPLES / "questions.yaml").read_text())
OF_A_MART = {"s3-04"}
QUESTIONS = [q["question"] for q in ASKED if q["route"] in ("s3", "sql") and q["id"] not in OF_A_MART]


class Both:
    """The sample tables in DuckDB and in Athena."""

    def __init__(self, stores: Stores, lake: Settings) -> None:
        self.stores, self.lake, self.athena = stores, lake, aws_stores.warehouse(lake)
        self.services = Services(stores.settings, stores)
        with transaction(stores.engine) as connection:
            self.tables = visible_tables(connection, Principal("local"))

    def ask(self, warehouse: Warehouse, statement: str, tables: Sequence[TableInfo]) -> QueryResult:
        names = {table.name: [column.name for column in table.columns] for table in tables}
        dialect: Any = warehouse.dialect
        return warehouse.query(guard(statement, dialect=dialect, tables=names, limit=1000), tables)

    def compare(self, query: SemanticQuery) -> None:
        both: tuple[tuple[Warehouse, Dialect], ...] = ((self.stores.warehouse, "duckdb"), (self.athena, "athena"))
        answers = [
            self.ask(warehouse, compile_query(query, self.tables, dialect).statement, self.tables)
            for warehouse, dialect in both
        ]
        assert answers[0].columns == answers[1].columns
        assert [plain(row) for row in answers[0].rows] == [plain(row) for row in answers[1].rows]


REFUSED, FAILED = SqlRefused, QueryFailed

# One statement through the guard on both engines: what each gives. `f` has the ids 1 to 4, one row of nulls among them.
# Where they differ the words are the engine's own, since a statement that somebody writes is of its dialect; what
# the compiler writes means the same on both.
STATEMENTS: list[tuple[str, Any, Any]] = [
    # Athena divides whole numbers whole, and decimals to their own scale.
    ("SELECT 7/2, -7/2, 7 % -3", [(3.5, -3.5, 1)], [(3, -3, 1)]),
    ("SELECT amount/3 FROM f WHERE id = 4", [(10 / 3,)], [(Decimal("3.33"),)]),
    ("SELECT ratio/3 FROM f WHERE id = 4", [(1.0,)], [(1.0,)]),
    ("SELECT avg(amount) FROM f", [(13.75 / 3,)], [(Decimal("4.58"),)]),
    ("SELECT 1/0", [(math.inf,)], FAILED),
    ("SELECT 1/nullif(0, 0)", [(None,)], [(None,)]),
    # Written in either order, in one that each engine takes.
    ("SELECT id FROM f ORDER BY id LIMIT 2 OFFSET 1", [(2,), (3,)], [(2,), (3,)]),
    ("SELECT id FROM f ORDER BY id OFFSET 1 LIMIT 2", [(2,), (3,)], [(2,), (3,)]),
    ("SELECT id FROM f ORDER BY id FETCH FIRST 1 ROWS ONLY", [(1,)], [(1,)]),
    ("SELECT name FROM f WHERE name ILIKE 'N1'", [("n1",)], [("n1",)]),
    ("SELECT id::varchar FROM f WHERE id = 1", [("1",)], [("1",)]),
    ("SELECT extract(epoch FROM seen) FROM f WHERE id = 1", [(1767308400.0,)], [(1767308400.0,)]),
    (
        "SELECT day + INTERVAL 1 DAY FROM f WHERE id = 1",
        [(datetime.fromisoformat("2026-02-01"),)],
        [(date(2026, 2, 1),)],
    ),
    # Aliases and GROUP BY.
    ("SELECT name AS n, count(*) FROM f WHERE id < 2 GROUP BY n", [("n1", 1)], REFUSED),
    ("SELECT name, count(*) FROM f WHERE id < 2 GROUP BY ALL", [("n1", 1)], REFUSED),
    ("SELECT name AS n, count(*) FROM f WHERE id < 2 GROUP BY 1 ORDER BY n", [("n1", 1)], [("n1", 1)]),
    ("SELECT id AS x FROM f WHERE x = 1", [(1,)], REFUSED),
    ("SELECT sum(id) AS x FROM f HAVING x > 1", [(10,)], REFUSED),
    # What one has and the other lacks.
    ("SELECT * EXCLUDE (id, name, amount, seen, day) FROM f WHERE id = 1", [(0.5,)], REFUSED),
    ("SELECT DISTINCT ON (name) id FROM f WHERE id = 1", [(1,)], REFUSED),
    ("SELECT string_agg(name, ',') FROM f WHERE id = 1", [("n1",)], REFUSED),
    ("SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY ratio) FROM f", [(1.5,)], REFUSED),
    ("SELECT median(ratio) FROM f", [(1.5,)], REFUSED),
    ("SELECT strftime(day, '%Y-%m') FROM f WHERE id = 1", [("2026-01",)], REFUSED),
    ("SELECT date_format(seen, '%Y-%m') FROM f WHERE id = 1", REFUSED, [("2026-01",)]),
    ("SELECT format_datetime(seen, 'yyyy') FROM f WHERE id = 1", REFUSED, [("2026",)]),
    ("SELECT listagg(name, ',') WITHIN GROUP (ORDER BY id DESC) FROM f", [("a1b2,n2,n1",)], [("a1b2,n2,n1",)]),
    # Types and casts.
    ("SELECT try_cast('1.7' AS integer), try_cast('x' AS bigint)", [(2, None)], [(None, None)]),
    ("SELECT cast('1.7' AS integer)", [(2,)], FAILED),
    ("SELECT cast(1.5 AS integer), cast(2.5 AS integer)", [(2, 3)], [(2, 3)]),
    ("SELECT cast('abc' AS varchar(2))", [("abc",)], [("ab",)]),
    ("SELECT id FROM f WHERE id = '1'", [(1,)], FAILED),
    ("SELECT id FROM f WHERE day = '2026-01-31'", [(1,)], FAILED),
    ("SELECT id FROM f WHERE day = DATE '2026-01-31'", [(1,)], [(1,)]),
    # Functions of one name that are not the same.
    ("SELECT regexp_replace('a1b2', '([0-9])', '<$1>')", [("a<$1>b2",)], [("a<1>b<2>",)]),
    (
        "SELECT date_diff('day', TIMESTAMP '2026-01-01 23:00:00', TIMESTAMP '2026-01-02 01:00:00')",
        [(1,)],
        [(0,)],
    ),
    ("SELECT date_diff('year', DATE '2025-12-31', DATE '2026-01-01')", [(1,)], [(0,)]),
    ("SELECT date_diff('day', DATE '2026-01-01', DATE '2026-01-31')", [(30,)], [(30,)]),
    ("SELECT substr('hello', 0, 2), split_part('a-b', '-', 3)", [("h", "")], [("", None)]),
    ("SELECT concat('a', NULL), 'a' || NULL", [("a", None)], [(None, None)]),
    ("SELECT greatest(1, NULL)", [(1,)], [(None,)]),
]


def sample_of_every_kind() -> pa.Table:
    return pa.table(
        {
            "id": pa.array([1, 2, 3, 4], pa.int64()),
            "name": ["n1", "n2", None, "a1b2"],
            "amount": pa.array([Decimal("1.50"), Decimal("2.25"), None, Decimal("10.00")], pa.decimal128(10, 2)),
            "ratio": [0.5, 1.5, None, 3.0],
            "seen": pa.array([datetime.fromisoformat("2026-01-01T23:00:00"), None, None, None], pa.timestamp("us")),
            "day": pa.array([date(2026, 1, 31), None, None, None]),
        }
    )


@pytest.fixture(scope="module")
def table_f(both: Both, tmp_path_factory: Any) -> TableInfo:
    """Stored for both: DuckDB reads the file, Athena the copy."""
    path = tmp_path_factory.mktemp("f") / "f.parquet"
    pq.write_table(sample_of_every_kind(), path)
    kinds: dict[str, ColumnType] = {
        "id": "bigint",
        "name": "text",
        "ratio": "double",
        "seen": "timestamp",
        "day": "date",
    }
    columns = tuple(
        Column(name, name, kinds[name]) if name in kinds else Column(name, name, "decimal", precision=10, scale=2)
        for name in sample_of_every_kind().column_names
    )
    table = TableInfo("f", "f", columns, 4, "upload", str(path), False, "dst_f")
    put_table(both.lake, table, path)
    return table


@pytest.mark.parametrize(("statement", "duckdb", "athena"), STATEMENTS, ids=[s[0] for s in STATEMENTS])
def test_what_each_engine_makes_of_a_statement(
    both: Both, table_f: TableInfo, statement: str, duckdb: Any, athena: Any
) -> None:
    local = DuckDbWarehouse()
    for warehouse, expected in ((local, duckdb), (both.athena, athena)):
        if isinstance(expected, list):
            assert [plain(row) for row in both.ask(warehouse, statement, [table_f]).rows] == [
                plain(r) for r in expected
            ]
        else:
            with pytest.raises(expected):
                both.ask(warehouse, statement, [table_f])
    local.close()


def plain(row: tuple[Any, ...]) -> list[Any]:
    """Sums in double differ in the last digits by the order of their rows."""
    return [pytest.approx(float(v), rel=1e-9) if isinstance(v, float | Decimal) else v for v in row]


@pytest.fixture(scope="module")
def both(postgres_server: str, athena_server: Athena, aws_keys: None, tmp_path_factory: Any) -> Iterator[Both]:
    postgres.ensure_database(postgres_server, "test_sql_on_athena")
    stores = make_stores(
        postgres_server.replace("/askline?", "/test_sql_on_athena?"), tmp_path_factory.mktemp("stores")
    )
    lake = lake_settings(athena_server.url)
    for path in sorted([*SAMPLES.glob("*.csv"), *SAMPLES.glob("*.xlsx")]):
        upload_csv(stores, path.name, path.read_bytes())
    made = Both(stores, lake)
    for table in made.tables:
        with stores.derived.local_path(table.parquet_path) as path:
            put_table(lake, table, path)
    yield made
    stores.close()
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute("drop database test_sql_on_athena with (force)")


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_over_tables_has_the_same_rows_on_both(both: Both, question: str) -> None:
    plan = understand_tables(both.services, question, both.tables, "warehouse")
    assert not isinstance(plan, Declined)
    both.compare(plan.query)


@pytest.mark.parametrize("name", QUERIES)
def test_every_way_through_the_compiler_has_the_same_rows_on_both(both: Both, name: str) -> None:
    both.compare(SemanticQuery.model_validate(QUERIES[name]))


@pytest.mark.parametrize("patients", [1, 2, 3, 10])
def test_the_median_is_exact_for_few_and_many_and_null_for_none(both: Both, patients: int) -> None:
    for extra in ([], [{"column": "encounters.total_claim_cost", "operator": "<", "values": [0]}]):
        both.compare(
            SemanticQuery.model_validate(
                {
                    "tables": ["encounters"],
                    "measures": [{"function": "median", "column": "encounters.total_claim_cost", "alias": "m"}],
                    "dimensions": [{"column": "encounters.patient"}] if not extra else [],
                    "filters": extra,
                    "order_by": [{"by": "encounters.patient"}] if not extra else [],
                    "limit": patients,
                }
            )
        )
