"""What lies between a client and AWS on a bad day: passes requests on to a server, and breaks those that it is told to.

The faults are those of the wire: a status with AWS's XML or JSON error, a body cut short, a connection that is closed.
"""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from urllib.parse import urlsplit

from tests.doubles.wire import LoopbackServer, QuietHandler


@dataclass
class Fault:
    """Breaks the next `times` requests of a method whose target or X-Amz-Target holds `within`."""

    method: str
    within: str = ""
    times: int = 1
    status: int = 503
    code: str = ""
    """AWS's error code, of which the body is made."""
    headers: dict[str, str] = field(default_factory=dict)
    cut_after: int | None = None
    """Pass the answer on, and close the connection after so many bytes of its body."""


class FaultyWire:
    """`url` is the endpoint to use; `seen` counts requests as "METHOD path?query"."""

    def __init__(self, upstream: str) -> None:
        self.faults: list[Fault] = []
        self.seen: list[str] = []
        self._lock = threading.Lock()
        self._upstream = urlsplit(upstream)
        self._server = LoopbackServer(self._handler())
        self.url = self._server.url

    def fault_of(self, method: str, target: str) -> Fault | None:
        with self._lock:
            self.seen.append(f"{method} {target}")
            for fault in self.faults:
                if fault.times > 0 and fault.method == method and fault.within in target:
                    fault.times -= 1
                    return fault
        return None

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        wire, upstream = self, self._upstream

        class Handler(QuietHandler):
            def handle_all(self) -> None:
                body = self._body()
                action = self.headers.get("X-Amz-Target", "")  # of services that speak JSON
                fault = wire.fault_of(self.command, f"{self.path} {action}".rstrip())
                if fault is not None and fault.cut_after is None:
                    self._refuse(fault)
                    return
                connection = http.client.HTTPConnection(str(upstream.hostname), upstream.port, timeout=60)
                try:
                    headers = {k: v for k, v in self.headers.items() if k.lower() not in ("expect", "connection")}
                    connection.request(self.command, self.path, body, headers)
                    answer = connection.getresponse()
                    self._pass_on(answer, answer.read(), fault)
                finally:
                    connection.close()

            do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = handle_all  # noqa: N815  the server's names

            def handle_expect_100(self) -> bool:
                self.send_response_only(100)
                self.end_headers()
                return True

            def _body(self) -> bytes:
                if "chunked" not in self.headers.get("Transfer-Encoding", ""):
                    return self.rfile.read(int(self.headers.get("Content-Length") or 0))
                data = b""
                while size := int(self.rfile.readline().split(b";")[0], 16):
                    data += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
                del self.headers["Transfer-Encoding"]
                self.headers["Content-Length"] = str(len(data))
                return data

            def _refuse(self, fault: Fault) -> None:
                text = f"<Error><Code>{fault.code}</Code><Message>a fault of the test</Message></Error>".encode()
                if self.headers.get("X-Amz-Target"):
                    text = f'{{"__type": "{fault.code}", "message": "a fault of the test"}}'.encode()
                self.send_response(fault.status)
                for name, value in {"x-amz-request-id": "TESTREQUEST", **fault.headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(text)

            def _pass_on(self, answer: http.client.HTTPResponse, body: bytes, fault: Fault | None) -> None:
                self.send_response_only(answer.status)
                length = answer.getheader("Content-Length") if self.command == "HEAD" else None
                for name, value in answer.getheaders():
                    if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                        self.send_header(name, value)
                self.send_header("Content-Length", length or str(len(body)))
                self.end_headers()
                self.wfile.write(body if fault is None else body[: fault.cut_after])
                if fault is not None:
                    self.close_connection = True

        return Handler

    @contextmanager
    def running(self) -> Iterator[FaultyWire]:
        with self._server.running():
            yield self
