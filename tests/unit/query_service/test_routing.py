"""What the route step asks each specialist: every clause of the question reaches one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from query_service.agents import routing
from query_service.reasoning.planner import Declined, Plan
from query_service.reasoning.router import RouteChoice
from query_service.reasoning.semantic_query import SemanticQuery

PLAN = Plan(SemanticQuery(tables=("conditions",), select=("conditions.description",)), "warehouse", "s3", 0.9, "")


@pytest.fixture
def routes(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Routes of a question of which these parts have a plan; a clause is sent where its first word says."""

    def ask(question: str, planned: set[str], by_word: dict[str, list[str]]) -> list[dict[str, Any]]:
        monkeypatch.setattr(
            routing, "understand_tables", lambda _s, part, *_: PLAN if part in planned else Declined("No.")
        )

        def choose(text: str, _: Any) -> list[RouteChoice]:
            return [RouteChoice(name, 1.0 - n / 10, "") for n, name in enumerate(by_word[text.split()[0].lower()])]

        services: Any = SimpleNamespace(read_tables=lambda _: [], router=SimpleNamespace(choose=choose))
        state: Any = {"rewritten_question": question, "principal": None}
        found: list[dict[str, Any]] = routing.choose_routes(services, state)["routes"]
        return found

    return ask


def test_what_the_tables_answer_as_a_whole_is_not_cut(routes: Any) -> None:
    question = "How many patients have gingivitis, and how often did it occur?"
    (only,) = routes(question, {question, "How many patients have gingivitis"}, {"how": ["s3"]})
    assert (only["question"], only["plan"]) == (question, PLAN)


def test_two_clauses_for_one_specialist_are_asked_together_and_no_plan_stands_for_both(routes: Any) -> None:
    question = "How many patients have gingivitis, and how often was it treated?"
    (only,) = routes(question, {"How many patients have gingivitis"}, {"how": ["s3"]})
    assert only["question"] == question
    assert "plan" not in only


def test_a_clause_that_is_above_all_for_a_specialist_goes_before_one_that_only_may_be(routes: Any) -> None:
    asked = routes(
        "How many encounters were there in 2021, and what does the policy say about them?",
        {"How many encounters were there in 2021"},
        {"how": ["s3", "rag"], "what": ["rag"]},
    )
    assert {r["name"]: (r["question"], "plan" in r) for r in asked} == {
        "s3": ("How many encounters were there in 2021", True),
        "rag": ("what does the policy say about them?", False),
    }
