from __future__ import annotations

import ast
import json
import logging
import time
from collections.abc import Callable, Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sql_cases import ATTACKS, BENIGN, TABLES

from foundation.adapters.embedded.relational import PostgresRelational
from foundation.adapters.embedded.warehouse import DuckDbWarehouse
from foundation.errors import QueryTimedOut, SqlRefused
from foundation.sql_guard import guard
from foundation.types import Column, GuardedSql, QueryResult, TableInfo

DIALECTS = {"p": "postgres", "d": "duckdb", "a": "athena"}
ROOT = Path(__file__).parents[2]


def check(statement: str, dialect: Any, limit: int = 100, **more: Any) -> GuardedSql:
    return guard(statement, dialect=dialect, tables=TABLES, limit=limit, **more)


def spread(cases: list[Any], engines: str = "pda") -> list[Any]:
    return [
        pytest.param(DIALECTS[letter], *case[1:], id=f"{letter}-{case[-1][:60]!r}")
        for case in cases
        for letter in case[0]
        if letter in engines
    ]


# What must not pass


@pytest.mark.parametrize(("dialect", "rule", "statement"), spread(ATTACKS))
def test_an_attack_is_refused_by_its_rule(dialect: str, rule: str, statement: str) -> None:
    started = time.thread_time()
    with pytest.raises(SqlRefused) as caught:
        check(statement, dialect)
    assert caught.value.rule == rule, caught.value.message
    assert caught.value.message.endswith(".")
    assert time.thread_time() - started < 2


def outside_cases() -> list[Any]:
    path = ROOT.parent / "shared" / "data" / "adversarial" / "cases.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return [case for case in map(json.loads, lines) if case["category"] == "sql"]


@pytest.mark.parametrize("case", [pytest.param(c, id=f"{c['dialect']}-{c['id']}") for c in outside_cases()])
def test_the_adversarial_set_comes_out_as_it_says(case: dict[str, str]) -> None:
    tables = {"encounters": ["id", "name"]}
    if case["expected"] == "REJECT":
        with pytest.raises(SqlRefused):
            guard(case["input"], dialect=case["dialect"], tables=tables, limit=100)  # type: ignore[arg-type]
    else:
        passed = guard(case["input"], dialect=case["dialect"], tables=tables, limit=100)  # type: ignore[arg-type]
        assert passed.statement.endswith("LIMIT 101")


def test_a_refusal_does_not_tell_whether_a_table_that_one_may_not_read_exists() -> None:
    with pytest.raises(SqlRefused) as hidden:
        check("SELECT * FROM secrets", "postgres")
    with pytest.raises(SqlRefused) as absent:
        check("SELECT * FROM secretz", "postgres")
    assert hidden.value.message.replace("secrets", "") == absent.value.message.replace("secretz", "")
    assert hidden.value.fix == absent.value.fix == "Use one of: encounters, patients."


def test_a_slip_of_the_pen_gets_a_suggestion() -> None:
    with pytest.raises(SqlRefused) as table:
        check("SELECT * FROM encounter", "duckdb")
    assert table.value.fix == "Did you mean encounters?"
    with pytest.raises(SqlRefused) as column:
        check("SELECT departement FROM encounters", "duckdb")
    assert column.value.fix == "Did you mean department?"


def test_nothing_of_a_statement_reaches_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    for _, _, statement in ATTACKS:
        for dialect in DIALECTS.values():
            try:
                check(statement, dialect)
            except SqlRefused:
                continue
    assert caplog.records == []


def test_only_the_guard_makes_guarded_sql() -> None:
    makers = set()
    for folder in ("foundation", "pipelines", "query_service", "cli"):
        for path in (ROOT / folder).rglob("*.py"):
            text = path.read_text()
            for node in ast.walk(ast.parse(text)) if "GuardedSql" in text else ():
                called = node.func if isinstance(node, ast.Call) else None
                name = getattr(called, "id", None) or getattr(called, "attr", None)
                if name == "GuardedSql":
                    makers.add(path.relative_to(ROOT).as_posix())
    assert makers == {"foundation/sql_guard/__init__.py"}


# What must pass, and run


@pytest.mark.parametrize(("dialect", "statement"), spread(BENIGN))
def test_a_valid_question_passes(dialect: str, statement: str) -> None:
    passed = check(statement, dialect)
    assert passed.dialect == dialect
    assert "LIMIT" in passed.statement
    assert "--" not in passed.statement.replace("; --'", "")
    assert "/*" not in passed.statement


@pytest.mark.parametrize(("dialect", "statement"), spread(BENIGN))
def test_what_passed_passes_again_and_stays_the_same(dialect: str, statement: str) -> None:
    once = check(statement, dialect)
    assert check(once.statement, dialect).statement == once.statement


ENCOUNTERS = (
    Column("id", "Id", "bigint"),
    Column("patient_id", "Patient", "bigint"),
    Column("name", "Name", "text"),
    Column("department", "Department", "text"),
    Column("action", "Action", "text"),
    Column("status", "Status", "text"),
    Column("update_date", "Updated", "date"),
    Column("started", "Started", "timestamp"),
    Column("ended", "Ended", "timestamp"),
    Column("cost", "Cost", "decimal", precision=10, scale=2),
    Column("score", "Score", "double"),
    Column("active", "Active", "boolean"),
)
PATIENTS = (
    Column("id", "Id", "bigint"),
    Column("name", "Name", "text"),
    Column("born", "Born", "date"),
    Column("city", "City", "text"),
)
_AT = datetime.fromisoformat
ENCOUNTER_ROWS: list[tuple[Any, ...]] = [
    (1, 1, "Ann DROP TABLE x", "A&E", "create", "open", date(2024, 1, 5), _AT("2024-01-05T10:00"),
     _AT("2024-01-05T11:30"), Decimal("12.50"), 0.5, True),
    (2, 1, "Anna", "Ward", "delete", "closed", date(2024, 2, 5), _AT("2024-02-05T10:00"), _AT("2024-02-07T10:00"),
     Decimal("7.00"), 1.5, False),
    (3, 9, None, "Ward", "update", "open", date(2024, 2, 9), _AT("2024-02-09T10:00"), _AT("2024-02-09T10:10"),
     Decimal("99.99"), 2.5, True),
]  # fmt: skip
PATIENT_ROWS: list[tuple[Any, ...]] = [(1, "Zoë", date(1980, 1, 1), "Ulm"), (2, "Abe", date(1990, 1, 1), "Bonn")]

Ask = Callable[..., QueryResult]


@pytest.fixture(scope="module")
def on_postgres(postgres_server: str) -> Iterator[Ask]:
    relational = PostgresRelational(postgres_server, timeout_seconds=1.0)
    relational.prepare()
    with psycopg.connect(postgres_server) as connection:
        for name, columns, rows in (("encounters", ENCOUNTERS, ENCOUNTER_ROWS), ("patients", PATIENTS, PATIENT_ROWS)):
            relational.copy_table(f"guard_{name}", columns, rows)
            for statement in relational.publish_statements(name, f"guard_{name}"):
                connection.execute(statement.encode())
    yield lambda statement, **more: relational.query(check(statement, "postgres", **more))
    relational.close()
    for name in ("encounters", "patients"):
        relational.drop_table(f"guard_{name}")


@pytest.fixture(scope="module")
def on_duckdb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    folder = tmp_path_factory.mktemp("guard")
    tables = []
    for name, columns, rows in (("encounters", ENCOUNTERS, ENCOUNTER_ROWS), ("patients", PATIENTS, PATIENT_ROWS)):
        data = {c.name: [row[i] for row in rows] for i, c in enumerate(columns)}
        pq.write_table(pa.table(data), folder / f"{name}.parquet")
        path = str(folder / f"{name}.parquet")
        tables.append(TableInfo(name, name, columns, len(rows), "upload", path, False, f"ds_{name}"))
    warehouse = DuckDbWarehouse(timeout_seconds=1.0)
    yield lambda statement, **more: warehouse.query(check(statement, "duckdb", **more), tables)
    warehouse.close()


@pytest.mark.parametrize(("_dialect", "statement"), spread(BENIGN, "p"))
def test_what_passes_runs_on_postgres(_dialect: str, statement: str, on_postgres: Ask) -> None:
    on_postgres(statement)


@pytest.mark.parametrize(("_dialect", "statement"), spread(BENIGN, "d"))
def test_what_passes_runs_on_duckdb(_dialect: str, statement: str, on_duckdb: Ask) -> None:
    on_duckdb(statement)


@pytest.mark.parametrize("engine", ["on_postgres", "on_duckdb"])
def test_the_rendered_statement_means_what_was_asked(engine: str, request: pytest.FixtureRequest) -> None:
    ask: Ask = request.getfixturevalue(engine)
    assert ask("SELECT id FROM encounters WHERE name LIKE '%DROP TABLE%'").rows == ((1,),)
    assert ask("SELECT id FROM encounters WHERE NOT (id = 1 OR id = 2)").rows == ((3,),)
    assert ask("SELECT 2 + 3 * 4 - (5 - (6 - 7)), -2 - -3, 7 % 4, 2 ^ 3").rows == ((8, 1, 3, 8),)
    assert ask("SELECT id FROM encounters ORDER BY id DESC OFFSET 1 LIMIT 1").rows == ((2,),)
    assert ask("SELECT count(*) FROM (SELECT 1 UNION ALL SELECT 1 UNION SELECT 1) t").rows == ((1,),)
    assert ask("SELECT max(cost) FILTER (WHERE active), min(name) FROM encounters").rows[0][0] == Decimal("99.99")
    assert ask("SELECT department, count(*) FROM encounters GROUP BY 1 ORDER BY 1").rows == (("A&E", 1), ("Ward", 2))


def test_postgres_formats_reach_the_server_unchanged(on_postgres: Ask) -> None:
    statement = "SELECT to_char(started, 'YYYY-\"Q\"Q FMMonth IYYY-IW HH24:MI'), to_char(cost, 'FM990.00')"
    assert on_postgres(f"{statement} FROM encounters WHERE id = 1").rows == (
        ("2024-Q1 January 2024-01 10:00", "12.50"),
    )


STRINGS = [
    "", "'", "''", "\\", "\\'", "\\\\'; --", '"', "$$", "$1", "?", "%s", "%%", "/*", "--", "é\u0301", "\n\r\t",
    "\U0001f600", "{x}", ":a", "E'x'",
]  # fmt: skip


@pytest.mark.parametrize("engine", ["on_postgres", "on_duckdb"])
@pytest.mark.parametrize("value", STRINGS)
def test_a_string_reaches_the_engine_as_it_was_written(engine: str, value: str, request: pytest.FixtureRequest) -> None:
    ask: Ask = request.getfixturevalue(engine)
    quoted = value.replace("'", "''")
    assert ask(f"SELECT '{quoted}' AS v, ? AS p", parameters=[value]).rows == ((value, value),)


@pytest.mark.parametrize("engine", ["on_postgres", "on_duckdb"])
def test_an_expensive_question_is_stopped_by_the_clock(engine: str, request: pytest.FixtureRequest) -> None:
    ask: Ask = request.getfixturevalue(engine)
    factors = ", ".join(f"encounters e{n}" for n in range(25))
    with pytest.raises(QueryTimedOut):
        ask(f"SELECT sum(e0.id * e24.cost) FROM {factors}")


# Limits and parameters


@pytest.mark.parametrize("dialect", DIALECTS.values())
@pytest.mark.parametrize(
    ("statement", "rows"),
    [
        ("SELECT id FROM encounters", 11),
        ("SELECT id FROM encounters LIMIT 3", 3),
        ("SELECT id FROM encounters LIMIT 0", 0),
        ("SELECT id FROM encounters LIMIT 1000000000000", 11),
        ("SELECT id FROM encounters LIMIT ALL", 11),
        ("SELECT id FROM encounters FETCH FIRST 4 ROWS ONLY", 4),
        ("SELECT id FROM encounters FETCH FIRST ROW ONLY", 1),
        ("(SELECT id FROM encounters LIMIT 500)", 11),
        ("(SELECT id FROM encounters) UNION ALL SELECT id FROM patients", 11),
        ("WITH a AS (SELECT id FROM encounters LIMIT 500) SELECT id FROM a", 11),
    ],
)
def test_the_outermost_limit_is_never_above_the_given_one(dialect: str, statement: str, rows: int) -> None:
    assert check(statement, dialect, limit=10).statement.endswith(f" LIMIT {rows}")


def test_a_limit_below_one_is_the_callers_mistake() -> None:
    with pytest.raises(ValueError, match="limit"):
        check("SELECT 1", "postgres", limit=0)


def test_parameters_keep_their_place_whatever_the_tree_makes_of_the_order() -> None:
    statement = "SELECT ? AS a FROM encounters WHERE name LIKE '?' AND id = ? ORDER BY id OFFSET ? LIMIT 5"
    passed = check(statement, "postgres", parameters=["x", 2, 1])
    assert passed.parameters == ("x", 2, 1)
    assert [passed.statement.count(f"${n}") for n in (1, 2, 3)] == [1, 1, 1]
    assert passed.statement.index("$1") < passed.statement.index("$2") < passed.statement.index("OFFSET $3")
    athena = check(statement, "athena", parameters=["x", 2, 1])
    assert athena.statement.count("?") == 4
    assert "__" not in athena.statement
    assert athena.parameters == ("x", 2, 1)


def test_the_tables_that_are_read_are_named_once_and_by_their_real_names() -> None:
    passed = check("WITH c AS (SELECT * FROM ENCOUNTERS) SELECT 1 FROM c, patients, encounters x", "duckdb")
    assert passed.tables == ("encounters", "patients")


def test_a_table_and_a_column_may_have_names_that_need_quotes() -> None:
    tables = {'Größe "x"': ["order", "A b"]}
    statement = 'SELECT "order", t."A b" FROM "Größe ""x""" t'
    assert guard(statement, dialect="postgres", tables=tables, limit=5).tables == ('Größe "x"',)
    with pytest.raises(SqlRefused):
        guard('SELECT "a b" FROM "Größe ""x"""', dialect="postgres", tables=tables, limit=5)


# Whatever comes

PIECES = sorted(
    {piece for case in (*ATTACKS, *BENIGN) for piece in case[-1].replace("(", " ( ").split() if len(piece) < 40}
)


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(max_size=60), st.lists(st.sampled_from(PIECES), max_size=15).map(" ".join)), st.booleans())
def test_the_guard_raises_nothing_but_a_refusal(text: str, as_it_is: bool) -> None:
    statement = text if as_it_is else f"SELECT {text}"
    for dialect in DIALECTS.values():
        try:
            passed = check(statement, dialect)
        except SqlRefused:
            continue
        assert set(passed.tables) <= set(TABLES)
        assert check(passed.statement, dialect).statement == passed.statement


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_valid_question_that_was_damaged_raises_nothing_but_a_refusal(data: st.DataObject) -> None:
    letters, statement = data.draw(st.sampled_from(BENIGN))
    start = data.draw(st.integers(0, len(statement)))
    end = data.draw(st.integers(start, min(len(statement), start + 5)))
    damaged = (
        statement[:start]
        + data.draw(st.sampled_from(["", "'", '"', "(", ")", ";", "--", "/*", "\\", " . ", "$$"]))
        + statement[end:]
    )
    dialect = DIALECTS[data.draw(st.sampled_from(letters))]
    try:
        passed = check(damaged, dialect)
    except SqlRefused:
        return
    assert set(passed.tables) <= set(TABLES)
