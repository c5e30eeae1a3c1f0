"""Trino's HTTP protocol, by hand: without the capability PARAMETRIC_DATETIME timestamps come as Athena shows them."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.engines.athena.trino import CATALOG

_NOT_YET = {"NO_NODES_AVAILABLE", "SERVER_STARTING_UP"}
_BEFORE_IT_RUNS = {"QUEUED", "WAITING_FOR_RESOURCES", "DISPATCHING", "PLANNING"}
_TRIES = 100


class TrinoError(Exception):
    """`name` such as COLUMN_NOT_FOUND; `kind` is USER_ERROR where the statement is at fault."""

    def __init__(self, name: str, message: str, kind: str = "USER_ERROR") -> None:
        super().__init__(f"{name}: {message}")
        self.name, self.message, self.kind = name, message, kind


@dataclass(slots=True)
class Watch:
    """What others ask of a statement while it runs, and how they stop it."""

    accepted: threading.Event = field(default_factory=threading.Event)
    """Parsed and planned, or refused."""
    cancelled: threading.Event = field(default_factory=threading.Event)
    scan_limit: int | None = None
    """Bytes."""
    over_limit: bool = False


@dataclass(slots=True)
class Result:
    columns: list[dict[str, Any]] = field(default_factory=list)
    """Trino's: name, type, typeSignature."""
    rows: list[list[Any]] = field(default_factory=list)
    updated: int = 0
    scanned: int = 0
    """Bytes."""


class TrinoClient:
    def __init__(self, url: str) -> None:
        self._url = url
        self._http = httpx.Client(trust_env=False, timeout=120)

    def run(self, sql: str, schema: str | None, watch: Watch, session: dict[str, str]) -> Result:
        """TrinoError when it fails or is cancelled."""
        for attempt in range(_TRIES):
            try:
                return self._run(sql, schema, watch, session)
            except TrinoError as error:
                # A server that says it has started may still lack its only node.
                if error.name not in _NOT_YET or attempt == _TRIES - 1:
                    raise
                time.sleep(0.1)
        raise AssertionError

    def _run(self, sql: str, schema: str | None, watch: Watch, session: dict[str, str]) -> Result:
        headers = {
            "X-Trino-User": "athena",
            "X-Trino-Source": "athena",
            "X-Trino-Catalog": CATALOG,
            "X-Trino-Time-Zone": "UTC",
            **({"X-Trino-Schema": schema} if schema else {}),
            **({"X-Trino-Session": ",".join(f"{key}={value}" for key, value in session.items())} if session else {}),
        }
        result = Result()
        told = self._answer("POST", f"{self._url}/v1/statement", content=sql.encode(), headers=headers)
        while True:
            if error := told.get("error"):
                raise TrinoError(error["errorName"], error["message"], error["errorType"])
            stats = told["stats"]
            result.columns = told.get("columns") or result.columns
            result.rows += told.get("data") or []
            result.updated = told.get("updateCount", result.updated)
            read = stats.get("physicalInputBytes") or stats.get("processedBytes") or 0
            result.scanned = max(result.scanned, read)
            if stats["state"] not in _BEFORE_IT_RUNS:
                watch.accepted.set()
            following = told.get("nextUri")
            if watch.scan_limit is not None and result.scanned > watch.scan_limit:
                watch.over_limit = True
                watch.cancelled.set()
            if watch.cancelled.is_set():
                if following:
                    self._http.delete(following)
                raise TrinoError("USER_CANCELED", "Query cancelled by user")
            if not following:
                return result
            told = self._answer("GET", following)

    def _answer(self, method: str, url: str, **more: Any) -> dict[str, Any]:
        while True:
            answer = self._http.request(method, url, **more)
            if answer.status_code not in (502, 503, 504):  # "come again"
                answer.raise_for_status()
                told: dict[str, Any] = answer.json()
                return told
            time.sleep(0.05)
