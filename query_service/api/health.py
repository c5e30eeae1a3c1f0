"""/health: whether the process lives, whether it can answer, and each dependency's state."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from typing import Any, Literal

import httpx
from fastapi import APIRouter
from pydantic import BaseModel
from sqlalchemy import text

from foundation.errors import AsklineError, Unavailable
from foundation.registry.database import transaction
from query_service.api.common import KnownDep, ServicesDep
from query_service.problems import log_unexpected
from query_service.services import Services

router = APIRouter(prefix="/health", tags=["health"])


_ALL = ("registry", "search", "embeddings", "objects", "dagster")
_NEEDED = _ALL[:3]
"""What an answer cannot do without."""


class Live(BaseModel):
    status: Literal["ok"]


class Health(BaseModel):
    status: Literal["ok", "degraded"]
    profile: str | None = None
    dependencies: dict[str, dict[str, Any]]


@router.get("/live", summary="The process lives")
def live() -> Live:
    """Looks at nothing else."""
    return Live(status="ok")


@router.get("/ready", summary="It can answer questions")
def ready(services: ServicesDep) -> Live:
    """503 while the registry, the search index or the embedding model is not there. Dagster is not needed for that."""
    down = [name for name, part in _checks(services, _NEEDED).items() if part["status"] != "ok"]
    if down:
        raise Unavailable(f"Questions cannot be answered now: {', '.join(down)} does not answer.")
    return Live(status="ok")


@router.get("", summary="Each dependency with its state")
def health(services: ServicesDep, principal: KnownDep) -> Health:
    """Without a key, where keys are required: the states only. Paths, hosts, versions and counts need a key."""
    found = _checks(services)
    worst = "ok" if all(part["status"] == "ok" for part in found.values()) else "degraded"
    if principal is None:
        return Health(status=worst, dependencies={name: {"status": part["status"]} for name, part in found.items()})
    return Health(status=worst, profile=services.settings.profile, dependencies=found)


def _checks(services: Services, wanted: Collection[str] = _ALL) -> dict[str, dict[str, Any]]:
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
        if services.settings.adapter("objects") == "aws":
            stores.landing.exists("health")  # raises where the bucket does not let us look
            return {"bucket": services.settings.s3.bucket}
        folder = services.settings.landing_folder
        _ = stores.landing  # makes the folder where it is not there yet
        if not os.access(folder, os.R_OK | os.W_OK):
            raise Unavailable("The landing folder cannot be written.", fix="Mount it, or correct its permissions.")
        return {"folder": str(folder)}

    def dagster() -> dict[str, Any]:
        url = services.settings.dagster.url
        if url is None:
            return {"url": None}
        httpx.get(f"{url.rstrip('/')}/server_info", timeout=2).raise_for_status()
        return {"url": url}

    checks = dict(zip(_ALL, (registry, search, embeddings, landing, dagster), strict=True))
    return {name: _state(checks[name]) for name in wanted}


def _state(check: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        return {"status": "ok", **check()}
    except AsklineError as error:
        return {"status": "unavailable", "code": error.code, "fix": error.fix}
    except httpx.HTTPError as error:
        return {"status": "unavailable", "code": type(error).__name__, "fix": "Start it with `askline up`."}
    except Exception as error:  # noqa: BLE001  the others' states are wanted all the more when one fails strangely
        log_unexpected("GET /health", error)
        return {"status": "unavailable", "code": "internal", "fix": AsklineError.fix}
