"""`Idempotency-Key`: the same request sent twice with one key acts once and is answered alike."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Annotated, Any

from fastapi import Depends, Header, Request
from fastapi.encoders import jsonable_encoder
from sqlalchemy import Connection
from starlette.concurrency import run_in_threadpool

from foundation.errors import Conflict, Unavailable
from foundation.registry import idempotency as registry
from foundation.registry.database import transaction
from foundation.types import Principal
from query_service.api.common import PrincipalDep, ServicesDep
from query_service.services import Services

Key = Annotated[
    str | None, Header(min_length=1, max_length=200, description="Makes a repeated request act once, for 24 hours")
]


class Once:
    """Runs an action once for the key of this request; without a key it just runs it."""

    def __init__(self, services: Services, principal: Principal, route: str, key: str | None) -> None:
        self._services, self._principal, self._route, self._key = services, principal, route, key

    @property
    def keyed(self) -> bool:
        return self._key is not None

    async def __call__(self, request_body: Any, act: Callable[[], Awaitable[Any]]) -> Any:
        """What `act` gives, or gave the first time. IdempotencyMismatch for another body, Conflict while it runs.

        `act` gives ids, not content: what is kept here must not outlive a deletion.
        """
        known = await self.begin(request_body)
        return known if known is not None else await self.run(act)

    async def begin(self, request_body: Any) -> Any:
        """What this request was answered with before; None when it is ours to act on, which `run` does."""
        return None if self._key is None else await run_in_threadpool(self._begin, self._digest(request_body))

    async def run(self, act: Callable[[], Awaitable[Any]]) -> Any:
        """After `begin` gave None: act and keep the result; a failure frees the key."""
        if self._key is None:
            return await act()
        renewals = asyncio.create_task(self._renew())
        try:
            result = await act()
        except BaseException:
            await run_in_threadpool(self._forget)
            raise
        finally:
            renewals.cancel()
        await run_in_threadpool(self._finish, jsonable_encoder(result))
        return result

    def within(self, connection: Connection, request_body: Any, act: Callable[[], Any]) -> Any:
        """The same inside the request's own transaction, so that act and key are committed together or not at all."""
        if self._key is None:
            return act()
        known = self._known(connection, self._digest(request_body))
        if known is not None:
            return known
        result = act()
        registry.finish(connection, self._principal.name, self._key, jsonable_encoder(result))
        return result

    def _digest(self, request_body: Any) -> str:
        described = json.dumps([self._route, jsonable_encoder(request_body)], sort_keys=True)
        return hashlib.sha256(described.encode()).hexdigest()

    def _begin(self, digest: str) -> Any:
        with transaction(self._services.stores.engine) as connection:
            return self._known(connection, digest)

    def _known(self, connection: Connection, digest: str) -> Any:
        assert self._key is not None
        state = registry.begin(connection, self._principal.name, self._key, digest)
        if state.running:
            raise Conflict("A request with this Idempotency-Key is under way.", fix="Send it again in a moment.")
        return state.body

    async def _renew(self) -> None:
        """Until it is cancelled. A time that is missed while Postgres is away does no harm: another follows."""
        while True:
            await asyncio.sleep(registry.RENEWED_S)
            with suppress(Unavailable):
                await run_in_threadpool(self._show_life)

    def _show_life(self) -> None:
        assert self._key is not None
        with transaction(self._services.stores.engine) as connection:
            registry.renew(connection, self._principal.name, self._key)

    def _finish(self, body: Any) -> None:
        assert self._key is not None
        with transaction(self._services.stores.engine) as connection:
            registry.finish(connection, self._principal.name, self._key, body)

    def _forget(self) -> None:
        assert self._key is not None
        with transaction(self._services.stores.engine) as connection:
            registry.forget(connection, self._principal.name, self._key)


def once(request: Request, services: ServicesDep, principal: PrincipalDep, idempotency_key: Key = None) -> Once:
    return Once(services, principal, f"{request.method} {request.url.path}", idempotency_key)


OnceDep = Annotated[Once, Depends(once)]
