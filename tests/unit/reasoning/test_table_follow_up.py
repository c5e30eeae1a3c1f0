"""A follow-up on a question about tables, judged by the planner over real patient tables."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from conftest import Patients

from query_service.reasoning.planner import plan
from query_service.reasoning.planner_terms import load_terms
from query_service.reasoning.semantic_query import SemanticQuery
from query_service.sessions.follow_up import Turn, standalone
from query_service.sessions.table_follow_up import meant

TERMS = load_terms(Path(__file__).parents[3] / "domains" / "healthcare" / "table_terms.yaml")


def read(patients: Patients, text: str) -> SemanticQuery | None:
    found = plan(text, patients.tables, today=date(2026, 12, 1), terms=TERMS, find_values=patients.find_values)
    return found.query if found is not None else None


def ask(patients: Patients, before: str, question: str) -> str | None:
    texts = standalone(question, [Turn(before, from_tables=True)])
    return meant(question, before, texts, lambda text: read(patients, text))


def parts(query: SemanticQuery | None) -> object:
    """What the query asks, whatever the order of its conditions."""
    assert query is not None
    return query.tables, query.select, query.measures, query.dimensions, {*query.filters}, {*query.related}


@pytest.mark.parametrize(
    ("before", "question", "expected"),
    [
        (
            "How many encounters were there in 2021?",
            "Only for emergency",
            "How many emergency encounters were there in 2021?",
        ),
        (
            "What is the total claim cost by encounter class?",
            "by payer instead",
            "What is the total claim cost by payer?",
        ),
        (
            "What is the total claim cost by encounter class?",
            "and in 2019?",
            "What is the total claim cost by encounter class in 2019?",
        ),
        (
            "What is the average claim cost of emergency encounters?",
            "And ambulatory?",
            "What is the average claim cost of ambulatory encounters?",
        ),
        ("How many patients have gingivitis?", "And prediabetes?", "How many patients have prediabetes?"),
        ("How many patients have gingivitis?", "what about women?", "How many women patients have gingivitis?"),
        (
            "Which patients were born before 1930?",
            "How many of them are women?",
            "How many patients who are women were born before 1930?",
        ),
        (
            "Which procedure was performed most often?",
            "only in 2024",
            "Which procedure was performed most often in 2024?",
        ),
    ],
)
def test_the_reading_changes_filters_or_groups_and_nothing_else(
    patients: Patients, before: str, question: str, expected: str
) -> None:
    text = ask(patients, before, question)
    assert text is not None
    assert parts(read(patients, text)) == parts(read(patients, expected)), text


def test_what_no_column_or_value_explains_is_no_query(patients: Patients) -> None:
    for question in ("why?", "What about the parking rules?", "only with purple hats"):
        assert ask(patients, "How many encounters were there in 2021?", question) is None
