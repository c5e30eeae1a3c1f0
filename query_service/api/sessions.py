"""/sessions: conversations of the principal, with their messages and whole answers."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field
from sqlalchemy import RowMapping

from foundation.registry import conversations as registry
from query_service.api.common import ConnectionDep, PrincipalDep, ServicesDep, checked_cursor, page
from query_service.api.idempotency import OnceDep

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
    rows = registry.list_sessions(connection, principal, checked_cursor(cursor, "ses"), limit + 1)
    return page([_shown(row) for row in rows], limit, "session_id")


@router.get("/sessions/{session_id}", summary="One conversation")
def get_session(session_id: str, connection: ConnectionDep, principal: PrincipalDep) -> dict[str, Any]:
    return _shown(registry.get_session(connection, principal, session_id))


@router.delete("/sessions/{session_id}", status_code=204, summary="Delete a conversation with its answers")
def delete_session(session_id: str, connection: ConnectionDep, principal: PrincipalDep) -> Response:
    registry.delete_session(connection, principal, session_id)
    return Response(status_code=204)


@router.get("/sessions/{session_id}/messages", summary="Its messages, oldest first, with whole answers")
def list_messages(session_id: str, connection: ConnectionDep, principal: PrincipalDep) -> dict[str, Any]:
    registry.get_session(connection, principal, session_id)
    items = [
        {
            "role": row["role"],
            "text": row["text"],
            "created_at": row["created_at"],
            **({"answer": row["body"]} if row["role"] == "assistant" else {}),
        }
        for row in registry.list_messages(connection, session_id)
    ]
    return {"items": items, "next_cursor": None}
