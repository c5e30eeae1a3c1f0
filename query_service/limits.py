"""A bound on the size of a request's body, counted while it streams in."""

from __future__ import annotations

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from foundation.errors import TooLarge
from query_service.problems import problem

_OVERHEAD = 1_000_000  # form fields and the boundaries around the file


class BodyLimit:
    """413 before the body is read when Content-Length says too much, else as soon as too much has come."""

    def __init__(self, app: ASGIApp, max_megabytes: int) -> None:
        self._app = app
        self._megabytes = max_megabytes
        self._limit = max_megabytes * 1_000_000 + _OVERHEAD

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        if declared.isdigit() and int(declared) > self._limit:
            await problem(self._error())(scope, receive, send)
            return
        seen, over, started = 0, False, False

        async def counted() -> Message:
            nonlocal seen, over
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self._limit:
                over = True
                return {"type": "http.disconnect"}  # to the application the sender has gone away
            return message

        async def noted(message: Message) -> None:
            nonlocal started
            if over and not started:
                return  # what it makes of the cut body is not the answer
            started = True
            await send(message)

        try:
            await self._app(scope, counted, noted)
        except ClientDisconnect:
            if not over:
                raise
        if over and not started:
            await problem(self._error())(scope, receive, send)

    def _error(self) -> TooLarge:
        return TooLarge(
            f"The request is larger than {self._megabytes:,} MB.",
            fix="Send large files one at a time; split a larger one, or raise ASKLINE_SERVICE__MAX_UPLOAD_MB.",
        )
