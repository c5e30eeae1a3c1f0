"""A service on loopback without keys trusts whoever reaches it; so it makes sure that this is not another site's page.

`Host` must be a loopback name (against DNS rebinding), and a request that a browser sends for a page must come from our
own page (against cross-site forms). Programs send no `Origin` and pass.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from foundation.access import is_loopback
from foundation.errors import Forbidden
from query_service.problems import problem


class OwnOrigin:
    """403 for a foreign Host (only where `loopback`), and for a foreign Origin on anything but a plain read."""

    def __init__(self, app: ASGIApp, loopback: bool) -> None:
        self._app = app
        self._loopback = loopback

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
            refusal = self._refusal(scope["method"], headers)
            if refusal is not None:
                await problem(refusal)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _refusal(self, method: str, headers: dict[bytes, str]) -> Forbidden | None:
        host = urlsplit(f"//{headers.get(b'host', '')}").hostname or ""
        if self._loopback and not is_loopback(host):
            return Forbidden(
                "This service answers to loopback names only.", fix="Use http://127.0.0.1 or http://localhost."
            )
        origin = headers.get(b"origin")
        foreign = origin is not None and urlsplit(origin).netloc != headers.get(b"host")
        if foreign and method not in ("GET", "HEAD", "OPTIONS"):
            return Forbidden("The request comes from another site's page.", fix="Send it from the service's page.")
        return None
