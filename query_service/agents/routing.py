"""route: which specialists take the question. A set: a question over documents and tables goes to both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from query_service.agents.table_query import understand_tables
from query_service.reasoning.planner import Declined, Plan
from query_service.reasoning.router import RouteChoice, RouteContext, clauses
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
    whole = understand_tables(services, question, tables, None)
    # What the tables answer as a whole is one question: “how many …, and how often did it occur”.
    parts = [question] if isinstance(whole, Plan) else clauses(question)
    plans = {part: whole if part == question else understand_tables(services, part, tables, None) for part in parts}
    context = RouteContext(tables=tables, planned=lambda clause: _route_of(plans.get(clause)))
    taken: dict[str, list[tuple[int, str, RouteChoice]]] = {}
    for clause in plans:
        for place, choice in enumerate(services.router.choose(clause, context)):
            taken.setdefault(choice.name, []).append((place, clause, choice))
    return {"routes": [_route(found, plans) for found in taken.values()]}


def _route(found: Sequence[tuple[int, str, RouteChoice]], plans: Mapping[str, Plan | Declined]) -> dict[str, Any]:
    """What one specialist is asked: every clause that is above all for it, else the first that may be.

    It has one turn, so clauses that it shares are one question again, and the plan of one of them is not for that.
    """
    own = [item for item in found if item[0] == 0] or found[:1]
    _, clause, choice = own[0]
    route: dict[str, Any] = {"name": choice.name, "score": choice.score, "reason": choice.reason, "question": clause}
    if len(own) > 1:
        route["question"] = ", and ".join(part.rstrip("?. ") for _, part, _ in own) + "?"
    elif _route_of(plans[clause]) == choice.name:
        route["plan"] = plans[clause]
    return route


def _route_of(plan: Plan | Declined | None) -> str | None:
    return plan.route if isinstance(plan, Plan) else None
