"""The conversation's memory: turns in Postgres, written once a question, read to make a follow-up stand alone."""

from __future__ import annotations

import time
from typing import Any

from foundation.ids import new_id
from foundation.registry.conversations import create_session, get_session, list_messages, save_turn
from foundation.registry.database import transaction
from query_service.services import Services
from query_service.sessions.follow_up import standalone
from query_service.state import QuestionState

_TURNS = 6


def open_turn(services: Services, state: QuestionState) -> dict[str, Any]:
    """Find or make the session, and rewrite a follow-up into a question that stands alone."""
    principal, session_id = state["principal"], state.get("session_id")
    with transaction(services.stores.engine) as connection:
        if session_id:
            get_session(connection, principal, session_id)
            earlier = [
                row["body"]["rewritten_question"]
                for row in list_messages(connection, session_id, last=2 * _TURNS)
                if row["body"] is not None
            ]
        else:
            session_id = create_session(connection, principal, services.settings.domain)
            earlier = []
    return {
        "session_id": session_id,
        "answer_id": new_id("ans"),
        "rewritten_question": standalone(state["question"], earlier),
    }


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
