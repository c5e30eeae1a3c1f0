"""route: which specialists take the question. A set: a question over documents and tables goes to both."""

from __future__ import annotations

from functools import partial
from typing import Any

from foundation.types import TableInfo
from query_service.agents.table_query import understand_tables
from query_service.reasoning.planner import Plan
from query_service.reasoning.router import RouteContext, clauses
from query_service.services import Services
from query_service.state import QuestionState

TABLE_ROUTES = ("sql", "s3")


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
    context = RouteContext(tables=tables, planned=partial(_planned, services, state, tables))
    routes: dict[str, dict[str, Any]] = {}
    for clause in clauses(question):
        for choice in services.router.route(clause, context):
            route = {"name": choice.name, "score": choice.score, "reason": choice.reason, "question": clause}
            routes.setdefault(choice.name, route)
    return {"routes": list(routes.values())}


def _planned(services: Services, state: QuestionState, tables: list[TableInfo], clause: str) -> str | None:
    result = understand_tables(services, clause, tables, None)
    return result.route if isinstance(result, Plan) else None
