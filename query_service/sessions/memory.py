"""The conversation's memory: turns in Postgres, written once a question, read to make a follow-up stand alone."""

from __future__ import annotations

import time
from typing import Any

from foundation.ids import new_id
from foundation.registry.conversations import create_session, get_session, list_messages, save_turn
from foundation.registry.database import transaction
from query_service.agents.table_query import understand_tables
from query_service.reasoning.planner import Plan
from query_service.reasoning.semantic_query import SemanticQuery
from query_service.services import Services
from query_service.sessions.follow_up import Turn, standalone
from query_service.sessions.table_follow_up import meant
from query_service.sessions.topics import Entity
from query_service.state import QuestionState

_TURNS = 6
_NO_CONTEXT = ("refused",)
"""Answers after which nobody can mean `it`."""


def open_turn(services: Services, state: QuestionState) -> dict[str, Any]:
    """Find or make the session, and rewrite a follow-up into a question that stands alone."""
    principal, session_id = state["principal"], state.get("session_id")
    with transaction(services.stores.engine) as connection:
        if session_id:
            get_session(connection, principal, session_id)
            earlier = [
                _turn(row["body"])
                for row in list_messages(connection, session_id, last=2 * _TURNS)
                if row["body"] is not None and row["body"]["status"] not in _NO_CONTEXT
            ]
        else:
            session_id = create_session(connection, principal, services.settings.domain)
            earlier = []
    return {
        "session_id": session_id,
        "answer_id": new_id("ans"),
        "rewritten_question": _rewritten(services, state, earlier),
    }


def _turn(body: dict[str, Any]) -> Turn:
    return Turn(body["rewritten_question"], tuple(claim["text"] for claim in body["claims"]), bool(body["sql"]))


def _rewritten(services: Services, state: QuestionState, earlier: list[Turn]) -> str:
    """The question as it stands alone. After a question about tables the planner has a say in what is meant."""
    question = state["question"]
    if not earlier:
        return question

    def find(text: str) -> list[Entity]:
        terms = services.lexicon.terms
        return [Entity(m.start, m.end, terms[m.term_ids[0]].type) for m in services.lexicon.find(text)]

    type_words = {word: type_ for type_, words in services.graph_schema.type_words.items() for word in words}
    texts = standalone(question, earlier, find, type_words)
    if texts == [question] or not earlier[-1].from_tables:
        return texts[0]
    tables = services.read_tables(state["principal"])

    def read(text: str) -> SemanticQuery | None:
        plan = understand_tables(services, text, tables, None)
        return plan.query if isinstance(plan, Plan) else None

    return meant(question, earlier[-1].question, texts, read) or texts[0]


def save_answer(services: Services, state: QuestionState) -> dict[str, Any]:
    """Write question, answer, citations and the tables read, in one transaction."""
    answer = state["answer"]
    answer.timings = dict(state.get("timings", []))
    body = answer.model_dump(mode="json")
    cited = [
        {
            "n": citation.n,
            "document_id": citation.document_id,
            "version_id": citation.version_id,
            "chunk_id": citation.chunk_id,
            "start_char": citation.start,
            "end_char": citation.end,
            "quote": citation.quote,
        }
        for citation in answer.citations
    ]
    read = {row["dataset_id"]: row for finding in state.get("findings", []) for row in finding.tables}
    with transaction(services.stores.engine) as connection:
        save_turn(
            connection,
            state["principal"],
            session_id=answer.session_id,
            question=state["question"],
            answer=body,
            cited=cited,
            tables=list(read.values()),
            duration_ms=round(1000 * (time.monotonic() - state["started"])),
        )
    return {"answer": answer}
