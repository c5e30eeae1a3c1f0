"""Semantic queries run on real DuckDB and real Postgres and give the same rows."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
import sqlglot
from semantic_queries import QUERIES

from foundation.errors import InvalidInput
from query_service.reasoning.compiler import compile
from query_service.reasoning.semantic_query import SemanticQuery


def same(left: list[tuple[Any, ...]], right: list[tuple[Any, ...]]) -> bool:
    def plain(value: Any) -> Any:
        return float(value) if isinstance(value, Decimal | int | float) and not isinstance(value, bool) else value

    return len(left) == len(right) and all(
        plain(a) == (pytest.approx(plain(b), rel=1e-9) if isinstance(plain(b), float) else b)
        for row, other in zip(left, right, strict=True)
        for a, b in zip(row, other, strict=True)
    )


def test_duckdb_and_postgres_give_the_same_rows_and_athena_parses(patients: Any, in_postgres: Any) -> None:
    for name, spec in QUERIES.items():
        query = SemanticQuery.model_validate(spec)
        warehouse = compile(query, patients.tables, "duckdb")
        rows = patients.duckdb.execute(warehouse.statement).fetchall()
        relational = compile(query, patients.tables, "postgres")
        assert same(rows, in_postgres(relational.statement)), f"{name}: {relational.statement}"
        assert rows or "only text" in name, name
        assert all(len(row) == len(warehouse.columns) for row in rows)
        sqlglot.parse_one(compile(query, patients.tables, "athena").statement, read="athena")


def test_a_related_table_never_multiplies_the_rows_that_are_summed(patients: Any) -> None:
    query = SemanticQuery.model_validate(QUERIES["facts related through a shared key, without multiplying rows"])
    compiled = compile(query, patients.tables, "duckdb")
    got = patients.duckdb.execute(compiled.statement).fetchall()[0][0]
    by_hand = """select sum(totalcost) from medications m where exists
        (select 1 from conditions c where c.patient = m.patient and description ilike '%disorder%')"""
    assert got == pytest.approx(patients.duckdb.execute(by_hand).fetchall()[0][0])
    assert set(compiled.tables) == {"medications", "conditions"}


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({"measures": [{"function": "sum", "column": "encounters.description", "alias": "n"}]}, "text"),
        ({"measures": [{"function": "sum", "column": "encounters.price", "alias": "n"}]}, "total_claim_cost"),
        ({"tables": ["claims"]}, "encounters"),
        ({"filters": [{"column": "encounters.start", "operator": ">", "values": ["soon"]}]}, "soon"),
        (
            {"filters": [{"column": "encounters.total_claim_cost", "operator": ">", "values": ["1; drop table x"]}]},
            "drop",
        ),
        ({"filters": [{"column": "encounters.start", "operator": "between", "values": ["2020-01-01"]}]}, "pairs"),
        ({"filters": [{"column": "conditions.description", "operator": "=", "values": ["x"]}]}, "related"),
        ({"dimensions": [{"column": "encounters.description", "grain": "year"}]}, "grain"),
    ],
)
def test_what_is_wrong_is_named_together_with_what_there_is(patients: Any, change: dict[str, Any], names: str) -> None:
    spec = {"tables": ["encounters"], "measures": [{"function": "count", "alias": "n"}], **change}
    with pytest.raises(InvalidInput) as raised:
        compile(SemanticQuery.model_validate(spec), patients.tables, "postgres")
    assert names in raised.value.message + raised.value.fix
