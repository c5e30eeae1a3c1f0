"""/sessions: conversations of the principal, with their messages and whole answers."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field
from sqlalchemy import RowMapping

from foundation.registry import conversations as registry
from query_service.api.common import ConnectionDep, PrincipalDep, ServicesDep, checked_cursor, page
from query_service.api.idempotency import OnceDep
from query_service.stored_answers import as_shown

router = APIRouter(tags=["sessions"])


class SessionRequest(BaseModel):
    title: str | None = Field(None, max_length=200)


def _shown(row: RowMapping) -> dict[str, Any]:
    return {name: row[name] for name in ("session_id", "title", "domain", "created_at", "updated_at")}


@router.post("/sessions", status_code=201, summary="Begin a conversation")
def create_session(
    asked: SessionRequest, services: ServicesDep, connection: ConnectionDep, principal: PrincipalDep, once: OnceDep
) -> dict[str, Any]:
    """POST /ask without `session_id` begins one by itself; its title is then the question."""
    session_id = once.within(
        connection,
        asked,
        lambda: registry.create_session(connection, principal, services.settings.domain, asked.title),
    )
    return _shown(registry.get_session(connection, principal, session_id))


@router.get("/sessions", summary="Your conversations, newest first")
def list_sessions(
    connection: ConnectionDep,
    principal: PrincipalDep,
    cursor: str | None = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> dict[str, Any]:
    """Nobody sees anybody else's."""
    rows = registry.list_sessions(connection, principal, checked_cursor(cursor, "ses"), limit + 1)
    return page([_shown(row) for row in rows], limit, "session_id")


@router.get("/sessions/{session_id}", summary="One conversation")
def get_session(session_id: str, connection: ConnectionDep, principal: PrincipalDep) -> dict[str, Any]:
    """Its title is the first question unless it was given one."""
    return _shown(registry.get_session(connection, principal, session_id))


@router.delete("/sessions/{session_id}", status_code=204, summary="Delete a conversation with its answers")
def delete_session(session_id: str, connection: ConnectionDep, principal: PrincipalDep) -> Response:
    """Its messages and answers go with it."""
    registry.delete_session(connection, principal, session_id)
    return Response(status_code=204)


@router.get("/sessions/{session_id}/messages", summary="Its messages, oldest first, with whole answers")
def list_messages(session_id: str, connection: ConnectionDep, principal: PrincipalDep) -> dict[str, Any]:
    """An assistant's message holds the answer as it was given, less what has been erased since."""
    registry.get_session(connection, principal, session_id)
    rows = registry.list_messages(connection, session_id)
    shown = {body["answer_id"]: body for body in as_shown(connection, [row["body"] for row in rows if row["body"]])}
    return {"items": [_message(row, shown.get(row["answer_id"])) for row in rows], "next_cursor": None}


def _message(row: RowMapping, answer: dict[str, Any] | None) -> dict[str, Any]:
    message = {"role": row["role"], "text": row["text"], "created_at": row["created_at"]}
    if row["role"] == "assistant":
        message |= {"text": answer["text"] if answer else row["text"], "answer": answer}
    return message
