"""Result rows become a sentence or a short table that says what was asked."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest

from foundation.types import QueryResult
from query_service.reasoning.semantic_query import SemanticQuery
from query_service.reasoning.table_answer import describe, format_value


def query(**parts: Any) -> SemanticQuery:
    return SemanticQuery.model_validate({"tables": ["encounters"], **parts})


COUNT = {"function": "count", "alias": "number_of_encounters"}
FILTERS = [
    {"column": "encounters.encounterclass", "operator": "=", "values": ["emergency"]},
    {"column": "encounters.start", "operator": ">=", "values": ["2019-01-01"]},
]


def test_one_value_is_a_sentence_that_names_its_conditions() -> None:
    made = query(measures=[COUNT], filters=FILTERS)
    text = describe("How many?", made, QueryResult(("number_of_encounters",), ((12345,),), False, 0.1))
    assert text == (
        "The number of encounters where encounterclass is emergency and start is on or after 2019-01-01 is **12,345**."
    )


def test_a_yes_no_question_is_answered_yes_or_no() -> None:
    for count, word in ((3, "Yes"), (0, "No")):
        text = describe("Has she been seen?", query(measures=[COUNT]), QueryResult(("n",), ((count,),), False, 0.1))
        assert text.startswith(f"{word}: ")


def test_many_rows_are_a_table_of_ten_with_their_number() -> None:
    rows = tuple((f"class {i}", Decimal("1234.5")) for i in range(25))
    made = query(
        measures=[{"function": "sum", "column": "encounters.cost", "alias": "total_cost"}],
        dimensions=[{"column": "encounters.encounterclass"}],
    )
    lines = describe("?", made, QueryResult(("encounterclass", "total_cost"), rows, False, 0.1)).splitlines()
    assert lines[0].startswith("25 rows") and "first 10" in lines[0]
    assert lines[2] == "| encounterclass | total cost |"
    assert len([x for x in lines if x.startswith("|")]) == 12
    assert lines[4] == "| class 0 | 1,234.50 |"
    cut = describe("?", made, QueryResult(("encounterclass", "total_cost"), rows, True, 0.1))
    assert cut.startswith("More than 25 rows")


@pytest.mark.parametrize("rows", [(), ((None,),)])
def test_nothing_found_names_what_was_looked_for(rows: tuple[Any, ...]) -> None:
    made = query(measures=[{"function": "avg", "column": "encounters.cost", "alias": "avg_cost"}], filters=FILTERS)
    text = describe("?", made, QueryResult(("avg_cost",), rows, False, 0.1))
    assert text == "No rows match where encounterclass is emergency and start is on or after 2019-01-01."


def test_values_cannot_leave_their_cell_or_become_markup() -> None:
    rows = (("a|b\n<img src=x> [x](http://e) *b*", 1), ("c", 2))
    text = describe(
        "?", query(select=["encounters.description", "encounters.n"]), QueryResult(("description", "n"), rows, False, 0)
    )
    line = next(x for x in text.splitlines() if "img" in x)
    assert "\\|b \\<img" in line and "\\[x\\]" in line and "\\*b\\*" in line


@pytest.mark.parametrize(
    ("value", "column", "shown"),
    [
        (Decimal("1366.5101"), "avg_total_claim_cost", "1,366.51"),
        (22.0125, "percent", "22.0 %"),
        (2019, "year", "2019"),
        (10018081, "patient_id", "10018081"),
        (95.4, "per_patient", "95.4"),
        (12000, "number_of_costs", "12,000"),
        (None, "stop", "–"),
        (True, "active", "yes"),
        (date(2021, 3, 1), "birthdate", "2021-03-01"),
        (datetime(2021, 3, 1, 7, 5), "start", "2021-03-01 07:05"),  # noqa: DTZ001 stored without an offset
    ],
)
def test_values_are_shown_as_their_column_suggests(value: Any, column: str, shown: str) -> None:
    assert format_value(value, column) == shown
