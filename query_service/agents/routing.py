"""route: which specialists take the question. A set: a question over documents and tables goes to both."""

from __future__ import annotations

from typing import Any

from query_service.agents.table_query import understand_tables
from query_service.prompts.router_prompt import ROUTES
from query_service.reasoning.planner import Plan
from query_service.services import Services
from query_service.state import QuestionState

TABLE_ROUTES = ("sql", "s3")


def choose_routes(services: Services, state: QuestionState) -> dict[str, Any]:
    """Nearest labelled examples choose; between the two engines of tables, and for them at all, the planner decides.

    A plan is made only from words that the tables explain, so it is the better judge of whether they can answer.
    """
    forced = state.get("forced_routes")
    if forced:
        return {"routes": [{"name": name, "score": 1.0, "reason": "Asked for by the request."} for name in forced]}
    question = state["rewritten_question"]
    understood = understand_tables(services, state["principal"], question, None)
    choices = services.router.route(question, tables=understood.tables)
    routes = [
        {"name": choice.name, "score": round(choice.score, 3), "reason": choice.reason}
        for choice in choices
        if choice.name in ROUTES
    ]
    if isinstance(understood.result, Plan):
        plan = understood.result
        others = [route for route in routes if route["name"] not in TABLE_ROUTES]
        routes = [{"name": plan.route, "score": plan.confidence, "reason": plan.explanation}, *others]
    return {"routes": routes}
