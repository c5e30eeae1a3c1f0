"""/health: whether the process lives, whether it can answer, and each dependency's state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from sqlalchemy import text

from foundation.errors import AsklineError
from foundation.registry.database import transaction
from query_service.api.common import ServicesDep
from query_service.services import Services

router = APIRouter(prefix="/health", tags=["health"])


@router.get("/live", summary="The process lives")
def live() -> dict[str, str]:
    return {"status": "ok"}


@router.get("/ready", summary="It can answer questions")
def ready(services: ServicesDep, request: Request) -> JSONResponse:
    found = _checks(services)
    needed = [found["registry"], found["search"], found["embeddings"]]
    ok = all(part["status"] == "ok" for part in needed)
    return JSONResponse({"status": "ok" if ok else "unavailable"}, 200 if ok else 503)


@router.get("", summary="Each dependency with its state")
def health(services: ServicesDep) -> dict[str, Any]:
    found = _checks(services)
    worst = "ok" if all(part["status"] == "ok" for part in found.values()) else "degraded"
    return {"status": worst, "profile": services.settings.profile, "dependencies": found}


def _checks(services: Services) -> dict[str, dict[str, Any]]:
    stores = services.stores

    def registry() -> dict[str, Any]:
        with transaction(stores.engine) as connection:
            return {"server": connection.execute(text("show server_version")).scalar_one()}

    def search() -> dict[str, Any]:
        return {"index": stores.search.index_name, "chunks": stores.search.count()}

    def embeddings() -> dict[str, Any]:
        stores.embedder.count_tokens("ready")
        return {"model": stores.embedder.model, "dimension": stores.embedder.dimension}

    def landing() -> dict[str, Any]:
        return {"folder": str(services.settings.landing_folder)}

    def dagster() -> dict[str, Any]:
        url = services.settings.dagster.url
        if url is None:
            return {"url": None}
        httpx.get(f"{url.rstrip('/')}/server_info", timeout=2).raise_for_status()
        return {"url": url}

    checks = {
        "registry": registry,
        "search": search,
        "embeddings": embeddings,
        "objects": landing,
        "dagster": dagster,
    }
    return {name: _state(check) for name, check in checks.items()}


def _state(check: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        return {"status": "ok", **check()}
    except AsklineError as error:
        return {"status": "unavailable", "code": error.code, "fix": error.fix}
    except httpx.HTTPError as error:
        return {"status": "unavailable", "code": type(error).__name__, "fix": "Start it with `askline up`."}
