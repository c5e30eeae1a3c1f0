"""The command line's way to the query service."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

from cli.stack import running
from foundation.card import SIDECAR
from foundation.errors import AsklineError, InvalidInput, Unavailable
from foundation.settings import Settings


class Client:
    """JSON in, JSON out. Problems come out as AsklineError with the service's code, message and fix."""

    def __init__(self, url: str, key: str | None = None) -> None:
        self.url = url.rstrip("/")
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._http = httpx.Client(base_url=self.url, headers=headers, timeout=httpx.Timeout(120, connect=5))

    def get(self, path: str, **params: Any) -> Any:
        return self._send("GET", path, params={k: v for k, v in params.items() if v is not None})

    def post(self, path: str, body: Any = None) -> Any:
        return self._send("POST", path, json=body)

    def delete(self, path: str) -> Any:
        return self._send("DELETE", path)

    def upload(self, path: Path, fields: dict[str, Any], name: str | None = None) -> dict[str, Any]:
        """One file, with the sidecar that lies beside it; returns its record."""
        sidecar = path.with_name(path.name + SIDECAR)
        try:
            with ExitStack() as opened:
                beside = [path, sidecar] if sidecar.is_file() and name is None else [path]
                files = [("files", (name or p.name, opened.enter_context(p.open("rb")))) for p in beside]
                answer = self._send("POST", "/upload", files=files, data=fields)
        except OSError as error:
            raise InvalidInput(f"{path}: {error.strerror}.", fix="Check the file and its permissions.") from error
        item: dict[str, Any] = answer["items"][0]
        return item

    def _send(self, method: str, path: str, **more: Any) -> Any:
        try:
            response = self._http.request(method, path, **more)
        except (httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
            raise InvalidInput(
                f"--url: {self.url} is no address of a service.", fix="Write it as http://127.0.0.1:8080."
            ) from error
        except httpx.TransportError as error:
            raise Unavailable(
                f"Askline does not answer at {self.url}.", fix="Start it with `askline up`, or give --url."
            ) from error
        if response.is_success:
            return response.json() if response.content else None
        raise _problem(response)


def segment(name: str) -> str:
    """An id or a name as one segment of a path."""
    return quote(name, safe="")


def _problem(response: httpx.Response) -> AsklineError:
    try:
        body = response.json()
        error = AsklineError(body["detail"], fix=body["fix"], code=body["code"])
    except (ValueError, KeyError, TypeError):
        error = AsklineError(
            f"{response.url} answered {response.status_code} without a problem that says why.",
            fix="Check that Askline, and nothing else, answers at this address (--url, ASKLINE_URL).",
            code="http_error",
        )
    error.status = response.status_code
    return error


@contextmanager
def connect(settings: Settings, url: str | None) -> Iterator[Client]:
    """To --url, else ASKLINE_URL, else the stack over the data folder, else the settings' address."""
    found = running(settings)
    address = url or os.environ.get("ASKLINE_URL") or (found.service_url if found else None)
    service = settings.service
    yield Client(address or f"http://{service.host}:{service.port}", os.environ.get("ASKLINE_API_KEY"))
