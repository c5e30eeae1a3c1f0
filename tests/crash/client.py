"""A client that sends a request again until it is answered, as a real one does: under one Idempotency-Key."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable

import httpx

_RETRY = {409, 429, 500, 502, 503, 504}
_GIVE_UP_S = 600.0


class NotAnswered(Exception):
    """The service did not do within a very generous time what was asked."""


class PatientClient:
    def __init__(self, url: str, paused: Callable[[], float], look: Callable[[], None]) -> None:
        """`paused`: seconds to wait before each request. `look` raises when nobody will answer again."""
        self._http = httpx.Client(base_url=url, timeout=60, verify=False)  # no certificates to read
        self._paused, self._look = paused, look

    def upload(self, name: str, data: bytes) -> str:
        """The document's id."""
        headers = {"Idempotency-Key": uuid.uuid4().hex}
        answer = self._until(
            f"upload of {name}", {202}, "POST", "/upload", files=[("files", (name, data))], headers=headers
        )
        return str(answer.json()["items"][0]["document_id"])

    def delete(self, document_id: str) -> None:
        """404 on a repeated request means that the first one was done."""
        self._until(f"deletion of {document_id}", {202, 404}, "DELETE", f"/documents/{document_id}")

    def _until(self, what: str, good: set[int], method: str, path: str, **request: object) -> httpx.Response:
        time.sleep(self._paused())
        deadline, said = time.monotonic() + _GIVE_UP_S, ""
        while time.monotonic() < deadline:
            try:
                answer = self._http.request(method, path, **request)  # type: ignore[arg-type]
            except httpx.TransportError as error:
                said = type(error).__name__
                self._look()
            else:
                if answer.status_code in good:
                    return answer
                said = f"{answer.status_code} {answer.text[:300]}"
                if answer.status_code not in _RETRY:
                    raise NotAnswered(f"{what}: {said}")
            time.sleep(0.3)
        raise NotAnswered(f"{what}: {said}")
