"""What every resource needs: the services, the principal, a transaction, pages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from fastapi import Depends, Request
from sqlalchemy import Connection, RowMapping

from foundation.access import local_principal, may_manage
from foundation.errors import Forbidden, InvalidInput, Unauthenticated, Unavailable
from foundation.registry.database import transaction
from foundation.registry.keys import PREFIX, authenticate
from foundation.types import Principal
from query_service.services import Services


def get_services(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


ServicesDep = Annotated[Services, Depends(get_services)]


def current_principal(request: Request, services: ServicesDep) -> Principal:
    """By API key, where one is sent or keys are required; on loopback without keys the local principal."""
    if any("api_key" in name.lower() or name.lower() == "key" for name in request.query_params):
        raise Unauthenticated("A key in the address would end up in logs; it is not read.")
    header = request.headers.get("authorization")
    if header is not None:
        scheme, _, key = header.partition(" ")
        if scheme.lower() != "bearer" or not key.startswith(PREFIX):
            raise Unauthenticated("The Authorization header holds no API key.")
        with transaction(services.stores.engine) as connection:
            return authenticate(connection, key)
    if request.app.state.keys_required:
        raise Unauthenticated("This service answers to API keys only.")
    return local_principal(services.settings.service.local_principal)


PrincipalDep = Annotated[Principal, Depends(current_principal)]


def principal_if_known(request: Request, services: ServicesDep) -> Principal | None:
    """As current_principal, but nobody instead of an error where no key was sent, or the registry cannot look it up."""
    if request.app.state.keys_required and "authorization" not in request.headers:
        return None
    try:
        return current_principal(request, services)
    except Unavailable:
        return None


KnownDep = Annotated[Principal | None, Depends(principal_if_known)]


def writer(principal: PrincipalDep) -> Principal:
    return _with_scope(principal, "write")


def admin(principal: PrincipalDep) -> Principal:
    return _with_scope(principal, "admin")


def _with_scope(principal: Principal, scope: str) -> Principal:
    if scope not in principal.scopes:
        raise Forbidden(f"This key lacks the scope {scope}.")
    return principal


WriterDep = Annotated[Principal, Depends(writer)]
AdminDep = Annotated[Principal, Depends(admin)]


def connection_of(services: ServicesDep) -> Iterator[Connection]:
    """One transaction a request, committed at its edge."""
    with transaction(services.stores.engine) as connection:
        yield connection


# scope="function": committed before the response leaves, so that what a client was told is there.
ConnectionDep = Annotated[Connection, Depends(connection_of, scope="function")]


def page(items: Sequence[Any], limit: int, cursor: str) -> dict[str, Any]:
    """`items` may hold one more than `limit`, which tells that there is a next page."""
    more = len(items) > limit
    shown = list(items[:limit])
    return {"items": shown, "next_cursor": shown[-1][cursor] if more else None}


def checked_cursor(cursor: str | None, prefix: str | None = None) -> str | None:
    """The cursor of a list by ids that begin with `prefix`, or by names of tables. InvalidInput for another form."""
    form = r"[^\W\d]\w{0,99}" if prefix is None else rf"{prefix}_[0-9a-f]{{32}}"
    if cursor is not None and not re.fullmatch(form, cursor):
        raise InvalidInput("cursor: this is not one that a page gave out.", fix="Use next_cursor as it came.")
    return cursor


def require_owner(row: RowMapping, principal: Principal) -> None:
    """To see a document is not to dispose of it."""
    if not may_manage(principal, row["owner"]):
        raise Forbidden(
            "Only its owner may change, delete, restore or retry this document.",
            fix="Ask its owner, or use an admin's key.",
        )
