"""Who did what to which id. Never names or content."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, insert

from foundation.registry.tables import audit


def record(connection: Connection, principal: str, action: str, object_id: str, detail: dict[str, Any]) -> None:
    connection.execute(insert(audit).values(principal=principal, action=action, object_id=object_id, detail=detail))
