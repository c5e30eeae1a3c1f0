"""route: which specialists take the question. A set: a question over documents and tables goes to both."""

from __future__ import annotations

from typing import Any

from query_service.agents.table_query import understand_tables
from query_service.reasoning.planner import Declined, Plan
from query_service.reasoning.router import RouteContext, clauses
from query_service.services import Services
from query_service.state import QuestionState


def choose_routes(services: Services, state: QuestionState) -> dict[str, Any]:
    """Nearest labelled examples choose, clause by clause; a specialist gets the clause that is for it.

    Whether the tables can answer, and which engine, the planner says: it makes a plan only from words that the tables
    explain, so it is the better judge of that.
    """
    forced, question = state.get("forced_routes"), state["rewritten_question"]
    if forced:
        reason = "Asked for by the request."
        return {"routes": [{"name": n, "score": 1.0, "reason": reason, "question": question} for n in forced]}
    tables = services.read_tables(state["principal"])
    plans = {clause: understand_tables(services, clause, tables, None) for clause in clauses(question)}
    context = RouteContext(tables=tables, planned=lambda clause: _route_of(plans.get(clause)))
    routes: dict[str, dict[str, Any]] = {}
    for clause, plan in plans.items():
        for choice in services.router.route(clause, context):
            route = {"name": choice.name, "score": choice.score, "reason": choice.reason, "question": clause}
            if _route_of(plan) == choice.name:
                route["plan"] = plan
            routes.setdefault(choice.name, route)
    return {"routes": list(routes.values())}


def _route_of(plan: Plan | Declined | None) -> str | None:
    return plan.route if isinstance(plan, Plan) else None
