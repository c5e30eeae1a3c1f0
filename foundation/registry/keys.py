"""API keys: `ak_` and 40 random letters and digits. Only their SHA-256 is stored; the key is shown once."""

from __future__ import annotations

import hashlib
import secrets
import string
from collections.abc import Sequence

from sqlalchemy import Connection, RowMapping, func, insert, select, update

from foundation.access import parse_name
from foundation.errors import InvalidInput, NotFound, Unauthenticated
from foundation.ids import new_id
from foundation.registry.tables import api_keys
from foundation.types import Principal

PREFIX = "ak_"
SCOPES = ("read", "write", "admin")
_LETTERS = string.ascii_letters + string.digits


def create_key(
    connection: Connection, name: str, groups: Sequence[str] = (), scopes: Sequence[str] = ("read", "write")
) -> tuple[str, str]:
    """(key_id, key) of a new key for the principal `name`."""
    unknown = set(scopes) - set(SCOPES)
    if unknown:
        raise InvalidInput(f"scopes: {', '.join(sorted(unknown))}; scopes are {', '.join(SCOPES)}.")
    key = PREFIX + "".join(secrets.choice(_LETTERS) for _ in range(40))
    key_id = new_id("key")
    connection.execute(
        insert(api_keys).values(
            key_id=key_id,
            key_hash=_hash(key),
            name=parse_name(name),
            groups=[parse_name(group, "groups") for group in groups],
            scopes=list(scopes),
        )
    )
    return key_id, key


def authenticate(connection: Connection, key: str) -> Principal:
    """The principal of a key that is not revoked. Unauthenticated otherwise."""
    row = connection.execute(
        update(api_keys)
        .where(api_keys.c.key_hash == _hash(key), api_keys.c.revoked_at.is_(None))
        .values(last_used_at=func.clock_timestamp())
        .returning(api_keys.c.name, api_keys.c.groups, api_keys.c.scopes)
    ).one_or_none()
    if row is None:
        raise Unauthenticated("This API key is unknown or revoked.")
    return Principal(row.name, tuple(row.groups), frozenset(row.scopes))


def any_key(connection: Connection) -> bool:
    return (
        connection.execute(
            select(func.count()).select_from(api_keys).where(api_keys.c.revoked_at.is_(None))
        ).scalar_one()
        > 0
    )


def list_keys(connection: Connection) -> Sequence[RowMapping]:
    columns = [column for column in api_keys.c if column.name != "key_hash"]
    return connection.execute(select(*columns).order_by(api_keys.c.created_at)).mappings().all()


def revoke_key(connection: Connection, key_id: str) -> None:
    done = connection.execute(
        update(api_keys)
        .where(api_keys.c.key_id == key_id, api_keys.c.revoked_at.is_(None))
        .values(revoked_at=func.clock_timestamp())
    )
    if done.rowcount == 0:
        raise NotFound(f"There is no key {key_id} to revoke.", fix="GET /keys lists the keys with their ids.")


def _hash(key: str) -> str:
    # The keys are random and long, so a fast hash is enough: there is nothing to guess.
    return hashlib.sha256(key.encode()).hexdigest()
