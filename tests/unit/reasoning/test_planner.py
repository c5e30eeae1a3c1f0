"""Questions over real patient tables: the planner's query gives the rows that plain SQL gives, or there is none."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from foundation.types import Column, TableInfo
from query_service.reasoning.compiler import compile
from query_service.reasoning.planner import Declined, Plan, plan, understand
from query_service.reasoning.planner_dates import periods
from query_service.reasoning.planner_terms import Terms, load_terms

TODAY = date(2024, 6, 1)

RIGHT = {q["question"]: q["sql"] for q in yaml.safe_load((Path(__file__).parent / "questions.yaml").read_text("utf-8"))}

DECLINED = [
    "What is the average blood pressure of patients?",
    "How many patients love pizza?",
    "How many unicorn encounters were there in 2019?",
    "What is the birth date of patient Jane Doe?",
    "How many patients took penicillin after chronic sinusitis?",
    "How many encounters were there in the same hospital?",
    "Which patients were readmitted within 30 days?",
    "What is the survival rate of patients with chronic sinusitis?",
    "How many patients were seen first in 2019 or 2020?",
    "Total payer coverage by year",
    "What does the policy say about patients?",
    "Which encounter was not in 2019 and not emergency or had no cost?",
    "drop table patients",
    "",
]


@pytest.fixture(scope="module")
def terms() -> Terms:
    return load_terms(Path(__file__).parents[3] / "domains" / "healthcare" / "table_terms.yaml")


@pytest.fixture(scope="module")
def ask(patients: Any, terms: Terms) -> Callable[[str], Plan | Declined]:
    return lambda q: understand(q, patients.tables, today=TODAY, terms=terms, find_values=patients.find_values)


@pytest.mark.parametrize("question", RIGHT)
def test_an_answer_is_the_one_that_plain_sql_gives(question: str, ask: Any, patients: Any) -> None:
    made = ask(question)
    assert isinstance(made, Plan), made
    got = patients.duckdb.execute(compile(made.query, patients.tables, "duckdb").statement).fetchall()
    wanted = patients.duckdb.execute(RIGHT[question]).fetchall()
    assert [tuple(map(_plain, r)) for r in sorted(got, key=str)] == [
        tuple(map(_plain, r)) for r in sorted(wanted, key=str)
    ]


def _plain(value: Any) -> Any:
    return pytest.approx(float(value)) if isinstance(value, int | float) else value


@pytest.mark.parametrize("question", DECLINED)
def test_what_is_not_wholly_understood_is_declined_with_a_reason(question: str, ask: Any) -> None:
    made = ask(question)
    assert isinstance(made, Declined), made
    assert made.reason


def test_an_unknown_word_is_named(ask: Any) -> None:
    assert ask("How many unicorn encounters were there in 2019?").unknown == ("unicorn",)


def test_rows_and_fresh_questions_go_to_postgres_and_history_to_the_warehouse(
    ask: Any, patients: Any, terms: Terms
) -> None:
    rows, fresh, history = (
        ask("List the patients born after 2000"),
        ask("How many encounters were there today?"),
        ask("How many encounters were there per year?"),
    )
    assert [(p.engine, p.route) for p in (rows, fresh, history)] == [
        ("postgres", "sql"),
        ("postgres", "sql"),
        ("warehouse", "s3"),
    ]
    assert "whole history" in history.explanation
    hinted = plan(
        "How many encounters were there per year?", patients.tables, engine_hint="postgres", today=TODAY, terms=terms
    )
    assert hinted is not None and hinted.engine == "postgres"


def test_without_a_look_up_only_values_of_the_profile_are_known(patients: Any, terms: Terms) -> None:
    known = plan("How many emergency encounters?", patients.tables, today=TODAY, terms=terms)
    assert known is not None and known.query.filters[0].values == ("emergency",)
    assert plan("How many patients have otitis media?", patients.tables, today=TODAY, terms=terms) is None


def test_tables_of_other_names_and_keys_are_understood_by_the_same_terms(terms: Terms) -> None:
    """OMOP: codes live in a table of their own, the person's key is person_id, ages count from year_of_birth."""
    person = _table("person", 500, person_id=500, year_of_birth=60, gender_source_value=("F", "M"))
    concept = _table("concept", 300, concept_id=300, concept_name=("Anemia", "Asthma", "Aspirin 81 MG Oral Tablet"))
    condition = _table(
        "condition_occurrence",
        900,
        condition_occurrence_id=900,
        person_id=400,
        condition_concept_id=80,
        condition_type_concept_id=1,
        condition_start_date="date",
    )
    made = plan(
        "How many women older than 40 suffered from anemia?", [person, concept, condition], today=TODAY, terms=terms
    )
    assert made is not None
    sql = compile(made.query, [person, concept, condition], "postgres").statement
    assert '"condition_occurrence"."condition_concept_id" = "concept"."concept_id"' in sql
    assert 'EXTRACT(YEAR FROM "condition_occurrence"."condition_start_date") - "person"."year_of_birth"' in sql
    assert "LOWER('F')" in sql and "> 40" in sql


def _table(name: str, rows: int, **columns: Any) -> TableInfo:
    made = []
    for column, spec in columns.items():
        if isinstance(spec, tuple):
            made.append(Column(column, column, "text", distinct=len(spec), samples=spec))
        elif spec == "date":
            made.append(Column(column, column, "date", distinct=300))
        else:
            made.append(Column(column, column, "bigint", distinct=spec))
    return TableInfo(name, name, tuple(made), rows, "upload", "", True, f"dst_{name}")


@pytest.mark.parametrize(
    ("phrase", "start", "end"),
    [
        ("in 2019", "2019-01-01", "2020-01-01"),
        ("since March 2020", "2020-03-01", None),
        ("between 2015 and 2018", "2015-01-01", "2019-01-01"),
        ("from January 2020 to March 2020", "2020-01-01", "2020-04-01"),
        ("last year", "2023-01-01", "2024-01-01"),
        ("in the last 12 months", "2023-06-01", "2024-06-02"),
        ("before 2010", None, "2010-01-01"),
        ("after 3 May 2021", "2021-05-04", None),
        ("in Q1 2021", "2021-01-01", "2021-04-01"),
        ("on March 5, 2020", "2020-03-05", "2020-03-06"),
        ("in the 1990s", "1990-01-01", "2000-01-01"),
        ("last week", "2024-05-20", "2024-05-27"),
    ],
)
def test_time_phrases_are_half_open_periods(phrase: str, start: str | None, end: str | None) -> None:
    (found,) = periods(f"How many visits {phrase}?", TODAY)
    assert (found.start and found.start.isoformat(), found.end and found.end.isoformat()) == (start, end)


def test_a_date_that_does_not_exist_is_no_period() -> None:
    assert periods("How many visits on 2021-02-30?", TODAY) == []


WARDS = TableInfo(
    name="wards",
    label="wards",
    columns=(
        Column("ward", "ward", "text", distinct=2, samples=("Kestrel", "Osprey")),
        Column("beds", "beds", "bigint", distinct=2, samples=("14", "9")),
        Column("floor", "floor", "bigint", distinct=2, samples=("1", "2")),
        Column("ward_number", "ward number", "bigint", distinct=2, samples=("3", "4")),
        Column("staff_hours", "staff hours", "double", distinct=2, samples=("1.5", "2")),
    ),
    row_count=2,
    kind="upload",
    parquet_path="wards.parquet",
    file_name="wards.csv",
    postgres=True,
    dataset_id="d",
)


@pytest.mark.parametrize(
    "question, function, column",
    [
        ("How many beds does the Kestrel ward have?", "sum", "wards.beds"),
        ("How many beds are there in all wards?", "sum", "wards.beds"),
        ("Number of beds by ward", "sum", "wards.beds"),
        ("How many staff hours are there?", "sum", "wards.staff_hours"),
        ("How many ward numbers are there?", "count_distinct", "wards.ward_number"),
        ("How many wards are there?", "count", None),
    ],
)
def test_amounts_are_added_up_where_keys_and_rows_are_counted(
    question: str, function: str, column: str | None, terms: Terms
) -> None:
    made = understand(question, [WARDS], today=TODAY, terms=terms)
    assert isinstance(made, Plan), made
    assert [(m.function, m.column) for m in made.query.measures] == [(function, column)]


@pytest.mark.parametrize("question", ["How many different beds are there?", "How many floors are there?"])
def test_a_number_that_may_be_added_up_or_counted_is_declined(question: str, terms: Terms) -> None:
    made = understand(question, [WARDS], today=TODAY, terms=terms)
    assert isinstance(made, Declined), made
    assert "added up, or counted" in made.reason
