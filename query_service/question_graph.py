"""The question graph: intake → guardrail_pre → route → specialists → gather → final_answer → guardrail_post → closing.

Specialists run in threads under one deadline; what is not ready then is labelled late and left out.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Send

from foundation.errors import AsklineError
from query_service.agents import classification, final_answer, graph_rag, rag, s3, sql, summarization
from query_service.agents.routing import choose_routes
from query_service.guardrails.citations import keep_supported
from query_service.guardrails.input_validation import check_question
from query_service.prompts.router_prompt import ROUTES
from query_service.services import Services
from query_service.sessions.memory import open_turn, save_answer
from query_service.state import Finding, QuestionState, open_clauses

logger = logging.getLogger(__name__)

Agent = Callable[[Services, QuestionState], Finding]
AGENTS: dict[str, Agent] = {
    "sql": sql.run,
    "s3": s3.run,
    "rag": rag.run,
    "graph_rag": graph_rag.run,
    "summarization": summarization.run,
    "classification": classification.run,
}
FALLBACKS = ("rag", "graph_rag")
"""What is tried, in turn, for what the chosen routes left open."""

Node = Any  # LangGraph takes any callable from state to what it adds; its own overloads do not say so
Graph = CompiledStateGraph[QuestionState, None, QuestionState, QuestionState]


def build_graph(services: Services) -> Graph:
    """Compile the graph once for the life of the process."""
    graph: StateGraph[QuestionState, None, QuestionState, QuestionState] = StateGraph(QuestionState)
    graph.add_node("intake", _timed("intake", lambda state: open_turn(services, state)))
    graph.add_node("guardrail_pre", _timed("guardrail_pre", lambda state: check_question(services, state)))
    graph.add_node("route", _timed("route", lambda state: choose_routes(services, state)))
    for name in ROUTES:
        graph.add_node(name, _specialist(services, name))
    graph.add_node("gather", lambda state: {})
    graph.add_node("final_answer", _timed("final_answer", lambda state: final_answer.compose(services, state)))
    graph.add_node("guardrail_post", _timed("guardrail_post", lambda state: keep_supported(services, state)))
    graph.add_node("closing", _timed("closing", lambda state: save_answer(services, state)))

    graph.add_edge(START, "intake")
    graph.add_edge("intake", "guardrail_pre")
    graph.add_conditional_edges("guardrail_pre", _refused_or_route, ["route", "final_answer"])
    graph.add_conditional_edges("route", _to_specialists, [*ROUTES, "final_answer"])
    for name in ROUTES:
        graph.add_edge(name, "gather")
    graph.add_conditional_edges("gather", _fall_back_or_answer, [*FALLBACKS, "final_answer"])
    graph.add_edge("final_answer", "guardrail_post")
    graph.add_edge("guardrail_post", "closing")
    graph.add_edge("closing", END)
    return graph.compile()


def _refused_or_route(state: QuestionState) -> str:
    return "final_answer" if state.get("refusal") else "route"


def _to_specialists(state: QuestionState) -> list[Send]:
    return [
        Send(route["name"], {**state, "rewritten_question": route["question"], "plan": route.get("plan")})
        for route in state["routes"]
    ]


def _fall_back_or_answer(state: QuestionState) -> str | list[Send]:
    """What nobody answered is asked of the fall-backs, as the whole question: a clause may lean on the others."""
    findings, whole = state.get("findings", []), state["rewritten_question"]
    if state.get("forced_routes") or not open_clauses(state):
        return "final_answer"
    some = any(finding.state == "done" for finding in findings)
    tried = {finding.route for finding in findings if finding.question == whole}
    for name in FALLBACKS[:1] if some else FALLBACKS:
        if name not in tried:
            return [Send(name, {**state, "plan": None})]
    return "final_answer"


def _timed(name: str, function: Callable[[QuestionState], dict[str, Any]]) -> Node:
    async def node(state: QuestionState) -> dict[str, Any]:
        started = time.monotonic()
        added = await asyncio.to_thread(function, state)
        return {**added, "timings": [(name, _ms(started))]}

    return node


def _specialist(services: Services, name: str) -> Node:
    async def node(state: QuestionState) -> dict[str, Any]:
        started = time.monotonic()
        left = max(0.0, state["deadline"] - started)
        try:
            finding = await asyncio.wait_for(asyncio.to_thread(AGENTS[name], services, state), left)
        except TimeoutError:
            finding = Finding(name, "late", why="It was not ready in time.")
        except AsklineError as error:
            if error.transient:
                raise
            logger.warning("%s failed: %s", name, error.code)
            finding = Finding(name, "failed", why=error.message)
        finding.ms, finding.question = _ms(started), state["rewritten_question"]
        return {"findings": [finding], "timings": [(name, finding.ms)]}

    return node


def _ms(started: float) -> int:
    return round(1000 * (time.monotonic() - started))


def topology(graph: Graph) -> dict[str, Any]:
    """Nodes and edges as they were compiled, and Mermaid text of the same."""
    drawn = graph.get_graph()
    return {
        "nodes": sorted(node for node in drawn.nodes),
        "edges": sorted(
            ({"source": e.source, "target": e.target, "conditional": e.conditional} for e in drawn.edges),
            key=lambda e: (e["source"], e["target"]),
        ),
        "routes": dict(ROUTES),
        "mermaid": drawn.draw_mermaid(),
    }
