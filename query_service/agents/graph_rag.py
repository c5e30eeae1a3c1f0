"""graph_rag: relations between entities, each statement with the passage that proves it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from foundation.types import Mention
from query_service.answer import GraphView
from query_service.reasoning.graph_answer import GraphAnswer, GraphStatement, answer_from_graph
from query_service.services import Services
from query_service.state import Finding, QuestionState, Span, Statement

_EVIDENCE_EACH = 2
_WEAKER = 3


def run(services: Services, state: QuestionState) -> Finding:
    found = answer_from_graph(
        state["rewritten_question"],
        services.stores.graph,
        state["principal"],
        services.lexicon,
        services.graph_schema,
    )
    if found.status != "answered":
        return Finding("graph_rag", "empty", why=_why(found))
    statements = [
        Statement(
            statement.text,
            tuple(Span(m.chunk_id, m.version_id, m.start, m.end) for m in _shown(statement, found)),
        )
        for statement in found.statements
    ]
    graph = GraphView(
        nodes=[asdict(node) for node in found.nodes],
        edges=[asdict(edge) for edge in found.edges],
        answers=found.answers,
    )
    listed = len(statements) > 1
    intro = f"{len(statements)} in all:" if found.answers and listed else None
    return Finding("graph_rag", "done", statements=statements, intro=intro, listed=listed, graph=graph)


def _shown(statement: GraphStatement, found: GraphAnswer) -> Sequence[Mention]:
    """Of a path every step is shown, of a single statement the best of its evidence."""
    return statement.mentions if found.answers else statement.mentions[:_EVIDENCE_EACH]


def _why(found: GraphAnswer) -> str:
    """Names what is only mentioned together, so that a reader can ask for that instead."""
    if not found.weaker:
        return "The knowledge graph holds nothing that answers the question."
    pairs = " ".join(statement.text for statement in found.weaker[:_WEAKER])
    return f"No sentence states the relation that the question asks for. {pairs}"
