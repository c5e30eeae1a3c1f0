"""The query service: `create_app` builds it from settings; `python -m query_service.app` serves it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import Depends, FastAPI
from fastapi.middleware.gzip import GZipMiddleware
from fastapi.responses import FileResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.types import ASGIApp

from foundation.access import is_loopback, require_safe_address
from foundation.registry.database import transaction
from foundation.registry.keys import any_key
from foundation.settings import Settings, get_settings
from foundation.stores import Stores
from query_service import openapi, problems
from query_service.api import (
    ask,
    documents,
    erasures,
    graph,
    health,
    keys,
    lineage,
    search,
    sessions,
    tables,
    uploads,
    versions,
)
from query_service.api.clean_input import refuse_unstorable
from query_service.follow_alias import follow_alias
from query_service.limits import BodyLimit
from query_service.origin import OwnOrigin
from query_service.question_graph import build_graph
from query_service.services import Services

WEB = Path(__file__).parent / "web"
_SECURITY_HEADERS = [
    (
        b"content-security-policy",
        b"default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self';"
        b" frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
]

logger = logging.getLogger(__name__)


_RESOURCES = (ask, search, uploads, documents, versions, erasures, tables, sessions, lineage, graph, keys, health)


def create_app(settings: Settings, stores: Stores | None = None) -> FastAPI:
    """ConfigurationError when the settings would expose the service without keys."""
    services = Services(settings, stores or Stores(settings))

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        with transaction(services.stores.engine) as connection:
            has_keys = any_key(connection)
        require_safe_address(settings.service.host, has_keys)
        app.state.keys_required = not is_loopback(settings.service.host)
        services.warm_up()
        app.state.graph = build_graph(services)
        following = asyncio.create_task(follow_alias(app))
        if settings.service.log_content:
            logger.warning("ASKLINE_SERVICE__LOG_CONTENT is on: questions and document text may be logged.")
        yield
        following.cancel()
        app.state.services.stores.close()

    app = FastAPI(
        title="Askline",
        version=version("askline"),
        description="Cited answers over documents, tables and a knowledge graph.",
        lifespan=lifespan,
        dependencies=[Depends(refuse_unstorable)],
        docs_url=None,
        redoc_url=None,
    )
    app.state.services = services
    app.add_middleware(GZipMiddleware, minimum_size=2_000)
    app.add_middleware(BodyLimit, max_megabytes=settings.service.max_upload_mb)
    app.add_middleware(OwnOrigin, loopback=is_loopback(settings.service.host))
    app.add_middleware(_SecurityHeaders)
    problems.install(app)
    for module in _RESOURCES:
        app.include_router(module.router)
    openapi.describe(app)
    _add_page(app)
    return app


# Asked for anew each time (by ETag), so that an upgrade never mixes old and new modules in a browser.
_FRESH = {"cache-control": "no-cache"}


class _PageFiles(StaticFiles):
    def file_response(self, *args: Any, **more: Any) -> Response:
        response = super().file_response(*args, **more)
        response.headers.update(_FRESH)
        return response


def _add_page(app: FastAPI) -> None:
    app.mount("/web", _PageFiles(directory=WEB), name="web")

    @app.get("/", include_in_schema=False)
    def page() -> FileResponse:
        return FileResponse(WEB / "index.html", headers=_FRESH)

    @app.get("/docs", include_in_schema=False)
    def docs() -> FileResponse:
        return FileResponse(WEB / "docs.html", headers=_FRESH)


class _SecurityHeaders:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope, receive, send) -> None:
        async def with_headers(message) -> None:
            if message["type"] == "http.response.start":
                there = {name for name, _ in message["headers"]}
                message["headers"] = [*message["headers"], *(h for h in _SECURITY_HEADERS if h[0] not in there)]
            await send(message)

        await self._app(scope, receive, with_headers if scope["type"] == "http" else send)


def main() -> None:
    settings = get_settings()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    for chatty in ("httpx", "alembic"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    # problems.py logs what went wrong without the message, which may quote a question; uvicorn would print it whole.
    logging.getLogger("uvicorn.error").addFilter(lambda record: not record.exc_info)
    uvicorn.run(
        create_app(settings),
        host=settings.service.host,
        port=settings.service.port,
        access_log=False,  # addresses hold ids and search words
        log_level="warning",
    )


if __name__ == "__main__":
    main()
