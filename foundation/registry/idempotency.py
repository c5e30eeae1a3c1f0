"""Which requests were made under an Idempotency-Key, and what they were answered with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, func, select, text, update
from sqlalchemy.dialects.postgresql import insert as upsert

from foundation.errors import IdempotencyMismatch
from foundation.registry.tables import idempotency_keys

_KEPT = "interval '24 hours'"
RENEWED_S = 10.0
"""So often whoever acts on a request says that it still does: see `renew`."""
_ABANDONED = "interval '30 seconds'"


@dataclass(frozen=True, slots=True)
class Begun:
    """`running`: somebody else acts on it now. `body`: the answer that was given; None when it is ours to act."""

    running: bool
    body: Any


def begin(connection: Connection, principal: str, key: str, request_hash: str) -> Begun:
    """Take the key for this request. IdempotencyMismatch when it was used for another one."""
    table = idempotency_keys
    connection.execute(
        delete(table).where(
            (table.c.created_at < func.now() - text(_KEPT))
            | (table.c.status.is_(None) & (table.c.created_at < func.now() - text(_ABANDONED)))
        )
    )
    taken = connection.execute(
        upsert(table)
        .values(principal=principal, idempotency_key=key, request_hash=request_hash)
        .on_conflict_do_nothing()
        .returning(table.c.idempotency_key)
    ).one_or_none()
    if taken is not None:
        return Begun(False, None)
    known = connection.execute(
        select(table).where(table.c.principal == principal, table.c.idempotency_key == key)
    ).one()
    if known.request_hash != request_hash:
        raise IdempotencyMismatch("This Idempotency-Key was used for a different request.")
    return Begun(known.status is None, known.body)


def renew(connection: Connection, principal: str, key: str) -> None:
    """The request is still acted on; without this the key is free again, since its process must have died."""
    table = idempotency_keys
    connection.execute(
        update(table)
        .where(table.c.principal == principal, table.c.idempotency_key == key, table.c.status.is_(None))
        .values(created_at=func.now())
    )


def finish(connection: Connection, principal: str, key: str, body: Any) -> None:
    table = idempotency_keys
    connection.execute(
        update(table)
        .where(table.c.principal == principal, table.c.idempotency_key == key)
        .values(status=200, body=body)
    )


def forget(connection: Connection, principal: str, key: str) -> None:
    """The request failed: the same key may be used again."""
    table = idempotency_keys
    connection.execute(delete(table).where(table.c.principal == principal, table.c.idempotency_key == key))
