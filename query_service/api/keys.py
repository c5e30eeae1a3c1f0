"""/keys: API keys, for principals with the scope admin (the local principal has it)."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from foundation.errors import Conflict
from foundation.registry import keys as registry
from foundation.registry.audit import record
from query_service.api.common import AdminDep, ConnectionDep
from query_service.api.idempotency import OnceDep

router = APIRouter(prefix="/keys", tags=["keys"])


class KeyRequest(BaseModel):
    name: str = Field(min_length=1, max_length=200, description="The principal that the key stands for")
    groups: list[str] = Field([], max_length=100)
    scopes: list[str] = ["read", "write"]


@router.post("", status_code=201, summary="Create a key; it is shown this once")
def create_key(asked: KeyRequest, connection: ConnectionDep, principal: AdminDep, once: OnceDep) -> dict[str, Any]:
    """Only its hash is stored, so a repeated request with the same Idempotency-Key cannot be given it again (409)."""
    made: list[str] = []

    def act() -> str:
        key_id, key = registry.create_key(connection, asked.name, asked.groups, asked.scopes)
        record(connection, principal.name, "create_key", key_id, {"scopes": asked.scopes})
        made.append(key)
        return key_id

    key_id = once.within(connection, asked, act)
    if not made:
        raise Conflict(
            f"This Idempotency-Key has created {key_id} already, and a key is shown once.",
            fix=f"Revoke {key_id} if its secret is lost, and create another with a new Idempotency-Key.",
        )
    return {"key_id": key_id, "key": made[0]}


@router.get("", summary="Keys, without the keys themselves")
def list_keys(connection: ConnectionDep, principal: AdminDep) -> dict[str, Any]:
    """With the times of last use and revocation. Only hashes are stored."""
    return {"items": [dict(row) for row in registry.list_keys(connection)], "next_cursor": None}


@router.delete("/{key_id}", status_code=204, summary="Revoke a key")
def revoke_key(key_id: str, connection: ConnectionDep, principal: AdminDep) -> Response:
    """It is refused from the next request on."""
    registry.revoke_key(connection, key_id)
    record(connection, principal.name, "revoke_key", key_id, {})
    return Response(status_code=204)
