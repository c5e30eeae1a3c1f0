"""The state of a question on its way through the graph, and what an agent hands back."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Annotated, Any, TypedDict

from foundation.types import Principal
from query_service.answer import Answer, AnswerWarning, GraphView, RouteState, SqlEntry
from query_service.reasoning.planner import Plan


@dataclass(frozen=True, slots=True)
class Span:
    """Where a statement's proof stands: parsed text[start:end] of a version."""

    chunk_id: str
    version_id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Statement:
    """One claim, in the words in which it is said, with the spans that prove it."""

    text: str
    spans: tuple[Span, ...] = ()


@dataclass(slots=True)
class Finding:
    """What one agent found. `intro` opens its part of the answer; `state` empty means: nothing that answers."""

    route: str
    state: RouteState
    question: str = ""
    """What it was asked: a clause of a fused question, or the whole; filled in by the graph."""
    statements: list[Statement] = field(default_factory=list)
    intro: str | None = None
    listed: bool = False
    """Whether the statements read as a list."""
    sql: list[SqlEntry] = field(default_factory=list)
    tables: list[dict[str, Any]] = field(default_factory=list)
    """Rows for the registry's answer_tables."""
    graph: GraphView | None = None
    warnings: list[AnswerWarning] = field(default_factory=list)
    note: str | None = None
    """How it was found, for the reader: which engine and why."""
    why: str | None = None
    """Why there is nothing, in a sentence for the reader."""
    ms: int = 0


def open_clauses(state: QuestionState) -> dict[str, list[Finding]]:
    """Clause → what was tried for it, for the clauses that nobody has answered, neither alone nor in the whole."""
    findings, whole = state.get("findings", []), state.get("rewritten_question", "")
    answered = {finding.question for finding in findings if finding.state == "done"}
    clauses = dict.fromkeys(route["question"] for route in state.get("routes", []))
    return {
        clause: [finding for finding in findings if finding.question in (clause, whole)]
        for clause in clauses
        if not {clause, whole} & answered
    }


class QuestionState(TypedDict, total=False):
    """Nodes return what they add."""

    principal: Principal
    session_id: str
    answer_id: str
    question: str
    document_ids: list[str] | None
    document_type: str | None
    forced_routes: list[str] | None
    deadline: float
    """On the clock of time.monotonic()."""
    started: float
    rewritten_question: str
    language: str
    refusal: AnswerWarning | None
    routes: list[dict[str, Any]]
    """name, score, reason of the chosen routes, the clause that each gets and the plan that was made for it."""
    plan: Plan | None
    """In a table specialist's own state: the plan that the route was chosen by."""
    findings: Annotated[list[Finding], operator.add]
    timings: Annotated[list[tuple[str, int]], operator.add]
    answer: Answer
