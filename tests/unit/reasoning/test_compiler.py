"""Semantic queries run on real DuckDB and real Postgres and give the same rows."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
import sqlglot

from foundation.errors import InvalidInput
from query_service.reasoning.compiler import compile
from query_service.reasoning.semantic_query import SemanticQuery

QUERIES: dict[str, dict[str, Any]] = {
    "count": {"tables": ["encounters"], "measures": [{"function": "count", "alias": "n"}]},
    "every aggregate": {
        "tables": ["encounters"],
        "measures": [
            {"function": f, "column": "encounters.total_claim_cost", "alias": f"m_{f}"}
            for f in ("count", "count_distinct", "sum", "avg", "min", "max", "median")
        ]
        + [{"function": "per_distinct", "column": "encounters.patient", "alias": "per_patient"}],
        "dimensions": [{"column": "encounters.encounterclass"}],
        "order_by": [{"by": "m_sum", "descending": True}],
    },
    "grain, derived join and computed age": {
        "tables": ["encounters"],
        "computed": [
            {"name": "age", "function": "years_between", "start": "patients.birthdate", "end": "encounters.start"},
            {"name": "minutes", "function": "minutes_between", "start": "encounters.start", "end": "encounters.stop"},
            {"name": "days", "function": "days_between", "start": "encounters.start", "end": "encounters.stop"},
        ],
        "measures": [
            {"function": "avg", "column": "age", "alias": "age_avg"},
            {"function": "max", "column": "minutes", "alias": "minutes_max"},
            {"function": "sum", "column": "days", "alias": "days_sum"},
        ],
        "dimensions": [{"column": "encounters.start", "grain": "quarter"}, {"column": "patients.gender"}],
        "filters": [{"column": "age", "operator": "between", "values": [5, 17, 30, 60]}],
        "order_by": [{"by": "quarter"}],
        "limit": 20,
    },
    "patients who have one and not the other": {
        "tables": ["patients"],
        "measures": [{"function": "count", "alias": "n"}],
        "related": [
            {
                "table": "conditions",
                "filters": [{"column": "conditions.description", "operator": "contains", "values": ["SINUSITIS"]}],
            },
            {
                "table": "medications",
                "negated": True,
                "filters": [{"column": "medications.description", "operator": "contains", "values": ["Penicillin"]}],
            },
            {"table": "encounters", "rows": {"operator": ">", "value": 10}},
        ],
    },
    "facts related through a shared key, without multiplying rows": {
        "tables": ["medications"],
        "measures": [{"function": "sum", "column": "medications.totalcost", "alias": "cost"}],
        "related": [
            {
                "table": "conditions",
                "filters": [{"column": "conditions.description", "operator": "contains", "values": ["disorder"]}],
            }
        ],
    },
    "share": {
        "tables": ["patients"],
        "measures": [
            {
                "function": "share",
                "column": "patients.id",
                "alias": "percent",
                "where": [{"column": "patients.gender", "operator": "=", "values": ["f"]}],
                "where_related": [
                    {
                        "table": "encounters",
                        "filters": [
                            {
                                "column": "encounters.encounterclass",
                                "operator": "in",
                                "values": ["Emergency", "INPATIENT"],
                            }
                        ],
                    }
                ],
            }
        ],
    },
    "rows": {
        "tables": ["encounters"],
        "select": ["patients.first", "encounters.start", "encounters.description"],
        "filters": [
            {"column": "encounters.start", "operator": ">=", "values": ["2019-01-01"]},
            {"column": "encounters.start", "operator": "<", "values": ["2020-01-01T12:30:00"]},
            {"column": "encounters.reasoncode", "operator": "is_null"},
            {"column": "encounters.total_claim_cost", "operator": ">", "values": [100.5]},
        ],
        "order_by": [{"by": "encounters.start", "descending": True}, {"by": "encounters.id"}],
        "limit": 30,
    },
    "having and distinct": {
        "tables": ["conditions"],
        "measures": [{"function": "count_distinct", "column": "conditions.patient", "alias": "n"}],
        "dimensions": [{"column": "conditions.description", "alias": "what"}],
        "having": [{"measure": "n", "operator": ">=", "value": 3}],
        "order_by": [{"by": "n", "descending": True}],
        "limit": 5,
    },
    "quotes, percent and underscore in values are only text": {
        "tables": ["patients"],
        "select": ["patients.id"],
        "filters": [{"column": "patients.last", "operator": "contains", "values": ["o'%_\\"]}],
    },
}


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
