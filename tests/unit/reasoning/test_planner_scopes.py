"""Tables that nothing ties are read apart: marts of totals and a price list beside the patient tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from profiled_tables import profile

from foundation.types import TableInfo
from query_service.reasoning.compiler import compile
from query_service.reasoning.planner import Declined, Plan, understand
from query_service.reasoning.planner_terms import load_terms
from query_service.reasoning.semantic_query import SemanticQuery

_COSTS = """create or replace view class_costs as select encounterclass as class, year(start) as year,
    count(*) as encounters, sum(total_claim_cost)::decimal(18, 2) as total_claim_cost,
    sum(total_claim_cost - payer_coverage)::decimal(18, 2) as patient_cost,
    sum(payer_coverage)::decimal(18, 2) as payer_coverage,
    avg(total_claim_cost)::decimal(18, 2) as average_claim_cost from encounters group by all"""
_BY_CONDITION = """create or replace view patients_by_condition as select code as condition_code,
    any_value(description) as condition, count(distinct patient) as patients, count(*) as occurrences
    from conditions group by all"""
_TARIFF = """create or replace view tariff as select * from (values
    ('Eye test', 'Basic', 31.5, 'Required'), ('Hearing test', 'Basic', 44.0, 'Not required'),
    ('Eye surgery', 'Special', 900.0, 'Required'), ('Allergy course', 'Special', 310.0, 'After 3 visits')
    ) as t(service, "group", price_usd, referral)"""
_WRITTEN = {
    "encounters": "How many encounters",
    "patient_cost": "What was left to the patients, the total less the coverage",
    "patients": "How many different patients",
    "occurrences": "How many diagnoses",
}

ANSWERED = {
    # An upload's rows, where a mart only has averages or totals of them.
    "What is the average claim cost of emergency encounters?": (
        "select avg(total_claim_cost) from encounters where encounterclass = 'emergency'"
    ),
    "What is the total claim cost by encounter class?": (
        "select encounterclass, sum(total_claim_cost) from encounters group by 1"
    ),
    "How many patients have gingivitis, and how often did it occur?": (
        "select count(distinct patient), count(*) from conditions where description = 'Gingivitis (disorder)'"
    ),
    "Tell me, how many encounters were there per month in 2021?": (
        "select date_trunc('month', start)::date, count(*) from encounters where year(start) = 2021 group by 1"
    ),
    # What only a mart has: by its name, by words for it, by its description.
    "What was the total patient cost in 2021?": (
        "select sum(total_claim_cost - payer_coverage) from encounters where year(start) = 2021"
    ),
    "How much did patients pay out of pocket for emergency encounters?": (
        "select sum(total_claim_cost - payer_coverage) from encounters where encounterclass = 'emergency'"
    ),
    "How much of the cost of wellness encounters was left to the patients after coverage?": (
        "select sum(total_claim_cost - payer_coverage) from encounters where encounterclass = 'wellness'"
    ),
    "What is the patient cost per year since 2020?": (
        "select year(start), sum(total_claim_cost - payer_coverage) from encounters where year(start) > 2019 group by 1"
    ),
    "What is the average patient cost of an emergency encounter?": (
        "select avg(total_claim_cost - payer_coverage) from encounters where encounterclass = 'emergency'"
    ),
    "How many occurrences of gingivitis were there?": (
        "select count(*) from conditions where description = 'Gingivitis (disorder)'"
    ),
    # A list whose rows only it names, and whose column says yes, no, or something else.
    "What does an eye test cost?": "select service, price_usd from tariff where service = 'Eye test'",
    "How much is the price of eye surgery according to the tariff?": (
        "select service, price_usd from tariff where service = 'Eye surgery'"
    ),
    "Which services need a referral?": "select service from tariff where referral = 'Required'",
    "Which services do not require a referral?": "select service from tariff where referral = 'Not required'",
    "For which services is a referral not required?": "select service from tariff where referral = 'Not required'",
    "Is a referral required for a hearing test?": "select 'Hearing test', 'Not required'",
    "What is the average price of special services?": "select avg(price_usd) from tariff where \"group\" = 'Special'",
    "Which is the most expensive service in the tariff?": "select 'Eye surgery', 900.0",
}

DECLINED = [
    "What is the average of the average claim costs by payer?",
    "What is the median patient cost?",
    "How many patients had gingivitis and how many had sinusitis?",
    "How many patients have gingivitis, and how often was it treated?",
    "How many patients have gingivitis, and which medications do they take?",
    "How many patients have it?",
    "How many encounters and medications were there in 2021?",
    "Average cost of encounters and total coverage",
    "What is the total cost by payer?",
    "How many services does each payer require?",
]


@pytest.fixture(scope="module")
def tables(patients: Any) -> list[TableInfo]:
    made = []
    for statement, name, kind in (
        (_COSTS, "class_costs", "mart"),
        (_BY_CONDITION, "patients_by_condition", "mart"),
        (_TARIFF, "tariff", "upload"),
    ):
        patients.duckdb.execute(statement)
        info = profile(patients.duckdb, name)
        columns = tuple(replace(c, description=_WRITTEN.get(c.name)) for c in info.columns)
        made.append(replace(info, kind=kind, columns=columns, postgres=kind == "upload"))
    return [*patients.tables, *made]


@pytest.fixture(scope="module")
def ask(patients: Any, tables: list[TableInfo]) -> Callable[[str], Plan | Declined]:
    terms = load_terms(Path(__file__).parents[3] / "domains" / "healthcare" / "table_terms.yaml")
    return lambda q: understand(q, tables, today=date(2024, 6, 1), terms=terms, find_values=patients.find_values)


@pytest.mark.parametrize("question", ANSWERED)
def test_the_tables_that_hold_the_answer_give_it(question: str, ask: Any, patients: Any, tables: Any) -> None:
    made = ask(question)
    assert isinstance(made, Plan), made
    got = patients.duckdb.execute(compile(made.query, tables, "duckdb").statement).fetchall()
    wanted = patients.duckdb.execute(ANSWERED[question]).fetchall()
    assert [tuple(map(_plain, r)) for r in sorted(got, key=str)] == [
        tuple(map(_plain, r)) for r in sorted(wanted, key=str)
    ]


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | date | None) else pytest.approx(float(value), abs=0.005)


@pytest.mark.parametrize("question", DECLINED)
def test_no_part_of_a_question_is_dropped_and_totals_are_not_averaged(question: str, ask: Any) -> None:
    assert isinstance(ask(question), Declined)


def test_two_lists_that_both_answer_are_named_and_naming_one_decides(ask: Any, patients: Any, tables: Any) -> None:
    twin = replace(tables[-1], name="tariff_north", label="tariff_north.csv", file_name="tariff north.csv")
    terms = load_terms(Path(__file__).parents[3] / "domains" / "healthcare" / "table_terms.yaml")

    def read(question: str) -> Plan | Declined:
        return understand(question, [*tables, twin], today=date(2024, 6, 1), terms=terms)

    unclear = read("What does an eye test cost?")
    assert isinstance(unclear, Declined)
    assert "tariff" in unclear.reason and "tariff_north" in unclear.reason
    named = read("What does an eye test cost in tariff north?")
    assert isinstance(named, Plan) and named.query.tables == ("tariff_north",)


def test_what_is_read_from_a_mart_says_what_its_column_holds(ask: Any) -> None:
    made = ask("What was the total patient cost in 2021?")
    assert isinstance(made, Plan)
    assert made.route == "s3" and "What was left to the patients" in made.explanation


def test_a_ratio_divides_the_sums_and_not_the_rows(tables: Any) -> None:
    query = {"function": "ratio", "column": "class_costs.patient_cost", "per": "class_costs.encounters", "alias": "a"}
    made = SemanticQuery.model_validate({"tables": ["class_costs"], "measures": [query]})
    for dialect in ("postgres", "duckdb", "athena"):
        statement = compile(made, tables, dialect).statement
        assert 'SUM("class_costs"."patient_cost")' in statement
        assert 'NULLIF(SUM("class_costs"."encounters"), 0)' in statement
