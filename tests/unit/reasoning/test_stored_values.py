"""Look-ups of stored values: one guarded statement finds the words of a question in every column."""

from __future__ import annotations

from typing import Any

import duckdb
from sqlglot import exp

from foundation.sql_guard import guard
from foundation.types import Column, QueryResult, TableInfo
from query_service.agents.stored_values import MOST, StoredValues

VALUES = {
    "drugs": ["100% oxygen gas", "Oxygen mask_set", "insulin glargine", *(f"tablet {i}" for i in range(MOST + 10))],
    "notes": ["Low OXYGEN", "tablet dissolved"],
}


class Counting:
    """Runs look-ups on DuckDB through the guard, as the service does."""

    def __init__(self) -> None:
        self.statements: list[str] = []
        self.connection = duckdb.connect()
        for name, values in VALUES.items():
            self.connection.execute(f"create table {name} as select unnest(?) as description", [values])
        self.tables = [self._table(name, values) for name, values in VALUES.items()]

    def _table(self, name: str, values: list[str]) -> TableInfo:
        column = Column("description", "description", "text", distinct=len(values), samples=(values[-1],))
        return TableInfo(name, name, (column,), len(values), "upload", "", True, name)

    def __call__(self, query: exp.Query, postgres: bool) -> QueryResult:
        allowed = {t.name: [c.name for c in t.columns] for t in self.tables}
        sql = guard(query.sql("duckdb"), dialect="duckdb", tables=allowed, limit=1000)
        self.statements.append(sql.statement)
        return QueryResult((), tuple(self.connection.execute(sql.statement).fetchall()), False, 0.0)


def _values(run: Any, *words: str) -> StoredValues:
    return StoredValues(run.tables, run, 1000, words)


def test_all_words_and_columns_are_looked_up_in_one_statement() -> None:
    run = Counting()
    values = _values(run, "oxygen", "insulin")
    assert sorted(values("drugs", "description", "oxygen")) == ["100% oxygen gas", "Oxygen mask_set"]
    assert values("notes", "description", "Oxygen") == ["Low OXYGEN"]
    assert values("drugs", "description", "insulin glargine") == ["insulin glargine"]
    assert values("notes", "description", "insulin") == []
    assert len(run.statements) == 1


def test_a_text_with_a_wildcard_is_taken_as_it_stands() -> None:
    run = Counting()
    values = _values(run)
    assert values("drugs", "description", "0% o") == ["100% oxygen gas"]
    assert values("drugs", "description", "k_s") == ["Oxygen mask_set"]
    assert values("drugs", "description", "o_y") == []


def test_where_a_word_has_too_many_values_the_longer_text_is_asked_for() -> None:
    run = Counting()
    values = _values(run, "tablet")
    assert len(values("drugs", "description", "tablet")) == MOST
    assert values("drugs", "description", "tablet 59") == ["tablet 59"]
    assert values("notes", "description", "tablet dissolved") == ["tablet dissolved"]
