"""Sessions, messages and stored answers. A session belongs to its owner; for anyone else it does not exist."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import CompoundSelect, Connection, RowMapping, delete, func, insert, literal, select, update

from foundation.errors import NotFound
from foundation.ids import new_id
from foundation.registry.tables import answer_tables, answers, citations, feedback, messages, sessions
from foundation.types import Principal

ERASED = "This answer used a document that has been erased; what it quoted is gone."
EMPTIED: dict[str, Any] = {
    **{"claims": [], "citations": [], "sql": [], "graph": None, "chart": None},
    **{"routes": [], "warnings": []},  # their words may name a file, a table or a value of it
}
"""What of an answer goes with a document that it used."""


def create_session(connection: Connection, principal: Principal, domain: str, title: str | None = None) -> str:
    session_id = new_id("ses")
    connection.execute(insert(sessions).values(session_id=session_id, owner=principal.name, domain=domain, title=title))
    return session_id


def get_session(connection: Connection, principal: Principal, session_id: str) -> RowMapping:
    row = (
        connection.execute(
            select(sessions).where(sessions.c.session_id == session_id, sessions.c.owner == principal.name)
        )
        .mappings()
        .one_or_none()
    )
    if row is None:
        raise NotFound(f"There is no session {session_id}.", fix="POST /sessions makes one, or leave session_id out.")
    return row


def list_sessions(
    connection: Connection, principal: Principal, after: str | None = None, limit: int = 50
) -> Sequence[RowMapping]:
    clauses = [sessions.c.owner == principal.name]
    if after is not None:
        clauses.append(sessions.c.session_id < after)
    return (
        connection.execute(select(sessions).where(*clauses).order_by(sessions.c.session_id.desc()).limit(limit))
        .mappings()
        .all()
    )


def delete_session(connection: Connection, principal: Principal, session_id: str) -> None:
    get_session(connection, principal, session_id)
    connection.execute(delete(sessions).where(sessions.c.session_id == session_id))


def list_messages(connection: Connection, session_id: str, last: int | None = None) -> list[RowMapping]:
    """Oldest first, with the answer's body beside an assistant's message; the `last` ones only, if given."""
    statement = (
        select(messages, answers.c.body)
        .outerjoin(answers, answers.c.answer_id == messages.c.answer_id)
        .where(messages.c.session_id == session_id)
        .order_by(messages.c.message_id.desc())
    )
    if last is not None:
        statement = statement.limit(last)
    return list(reversed(connection.execute(statement).mappings().all()))


def save_turn(
    connection: Connection,
    principal: Principal,
    *,
    session_id: str,
    question: str,
    answer: dict[str, Any],
    cited: Sequence[dict[str, Any]],
    tables: Sequence[dict[str, Any]],
    duration_ms: int,
) -> None:
    """Write one question and its answer, with what it cites and the tables that it read."""
    answer_id = answer["answer_id"]
    connection.execute(
        insert(answers).values(
            answer_id=answer_id,
            session_id=session_id,
            asked_by=principal.name,
            question=question,
            status=answer["status"],
            routes=[route["name"] for route in answer["routes"]],
            model=answer["model"],
            body=answer,
            duration_ms=duration_ms,
        )
    )
    if cited:
        connection.execute(insert(citations), [{"answer_id": answer_id, **row} for row in cited])
    if tables:
        connection.execute(insert(answer_tables), [{"answer_id": answer_id, **row} for row in tables])
    connection.execute(
        insert(messages),
        [
            {"session_id": session_id, "role": "user", "text": question, "answer_id": None},
            {"session_id": session_id, "role": "assistant", "text": answer["text"], "answer_id": answer_id},
        ],
    )
    connection.execute(
        update(sessions)
        .where(sessions.c.session_id == session_id)
        .values(updated_at=func.clock_timestamp(), title=func.coalesce(sessions.c.title, question[:80]))
    )


def get_answer(connection: Connection, principal: Principal, answer_id: str) -> RowMapping:
    row = (
        connection.execute(
            select(answers).where(answers.c.answer_id == answer_id, answers.c.asked_by == principal.name)
        )
        .mappings()
        .one_or_none()
    )
    if row is None:
        raise NotFound(
            f"There is no answer {answer_id}.", fix="GET /sessions/{id}/messages holds your answers with their ids."
        )
    return row


def citations_of(connection: Connection, answer_id: str) -> Sequence[RowMapping]:
    return (
        connection.execute(select(citations).where(citations.c.answer_id == answer_id).order_by(citations.c.n))
        .mappings()
        .all()
    )


def tables_of(connection: Connection, answer_id: str) -> Sequence[RowMapping]:
    return connection.execute(select(answer_tables).where(answer_tables.c.answer_id == answer_id)).mappings().all()


def save_feedback(
    connection: Connection, principal: Principal, *, answer_id: str, claim: int | None, rating: str, comment: str | None
) -> str:
    get_answer(connection, principal, answer_id)
    feedback_id = new_id("fbk")
    connection.execute(
        insert(feedback).values(
            feedback_id=feedback_id,
            answer_id=answer_id,
            claim=claim,
            rating=rating,
            comment=comment,
            given_by=principal.name,
        )
    )
    return feedback_id


def _using(document_id: str) -> CompoundSelect[Any]:
    """Ids of the answers that cite the document or read a table of it."""
    cite = select(citations.c.answer_id).where(citations.c.document_id == document_id)
    return cite.union(select(answer_tables.c.answer_id).where(answer_tables.c.document_id == document_id))


def count_quotes(connection: Connection, document_id: str) -> int:
    return len(connection.execute(_using(document_id)).all())


def erase_quotes(connection: Connection, document_id: str, marker: str = ERASED) -> int:
    """Take what an erased document gave out of the answers that used it; returns how many answers were changed.

    That something was asked and answered stays known; text and statements go, since offline answers are made of
    verbatim sentences. The question stays: it is its asker's.
    """
    touched: Sequence[str] = connection.execute(_using(document_id)).scalars().all()
    if touched:
        emptied = {**EMPTIED, "text": marker}
        patch = literal(emptied, answers.c.body.type)
        connection.execute(
            update(answers).where(answers.c.answer_id.in_(touched)).values(body=answers.c.body.op("||")(patch))
        )
        connection.execute(
            update(messages)
            .where(messages.c.answer_id.in_(touched), messages.c.role == "assistant")
            .values(text=marker)
        )
        connection.execute(delete(citations).where(citations.c.answer_id.in_(touched)))
        connection.execute(delete(answer_tables).where(answer_tables.c.answer_id.in_(touched)))
    return len(touched)
