"""Bedrock Runtime on the wire: InvokeModel of Titan Text Embeddings v2, with its checks and its errors by name.

Vectors are those of the local model, so that texts of one meaning lie close to each other.
"""

from __future__ import annotations

import json
import re
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import unquote

import numpy as np

from foundation.ports.embeddings import Embedder
from foundation.types import Vector
from tests.doubles.wire import LoopbackServer, QuietHandler

MODEL = "amazon.titan-embed-text-v2:0"
STATUS = {
    "ValidationException": 400,
    "AccessDeniedException": 403,
    "ResourceNotFoundException": 404,
    "ModelTimeoutException": 408,
    "ModelErrorException": 424,
    "ThrottlingException": 429,
    "ModelNotReadyException": 429,
    "InternalServerException": 500,
    "ServiceUnavailableException": 503,
}
_SIGNED = re.compile(
    r"AWS4-HMAC-SHA256 Credential=[^/]+/\d{8}/[^/]+/bedrock/aws4_request, SignedHeaders=\S*host\S*,"
    r" Signature=[0-9a-f]{64}"
)
_FIELDS = {"inputText", "dimensions", "normalize", "embeddingTypes"}


class Refused(Exception):
    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Bedrock:
    """`most_at_once`: calls above it are throttled. `tokens_a_character`: how Titan counts a text's tokens here."""

    def __init__(self, embedder: Embedder) -> None:
        self.latency_s = 0.0
        self.most_at_once = 1000
        self.tokens_a_character = 0.25
        self.answered: list[str] = []
        """The texts, in the order of their answers."""
        self.throttled = 0
        self.peak = 0
        self._failures: list[str] = []
        self._running = 0
        self._embedder = embedder
        self._lock = threading.Lock()
        self._server = LoopbackServer(self._handler())
        self.url = self._server.url

    def fail(self, code: str, times: int = 1) -> None:
        """The next calls end with this error."""
        self._failures += [code] * times

    def answer(self, path: str, headers: Any, body: bytes) -> dict[str, Any]:
        with self._lock:
            self._running += 1
            self.peak = max(self.peak, self._running)
            too_many = self._running > self.most_at_once
            failure = self._failures.pop(0) if self._failures else None
        try:
            if not _SIGNED.fullmatch(headers.get("Authorization", "")) or "X-Amz-Date" not in headers:
                raise Refused("AccessDeniedException", "The request is not signed by SigV4.")
            time.sleep(self.latency_s)
            if too_many:
                self.throttled += 1
                raise Refused("ThrottlingException", "Too many requests, please wait before trying again.")
            if failure is not None:
                raise Refused(failure, f"{failure} of the test")
            return self._embedded(path, json.loads(body))
        finally:
            with self._lock:
                self._running -= 1

    def _embedded(self, path: str, asked: dict[str, Any]) -> dict[str, Any]:
        if unquote(path) != f"/model/{MODEL}/invoke":
            raise Refused("ResourceNotFoundException", f"Could not resolve the foundation model from {path}.")
        text, dimensions = asked.get("inputText"), asked.get("dimensions", 1024)
        if unknown := asked.keys() - _FIELDS:
            raise Refused("ValidationException", f"extraneous key [{unknown.pop()}] is not permitted")
        if not isinstance(text, str) or not text:
            raise Refused("ValidationException", "expected minLength: 1, actual: 0")
        if len(text) > 50_000:
            raise Refused("ValidationException", f"expected maxLength: 50000, actual: {len(text)}")
        tokens = int(len(text) * self.tokens_a_character) + 1
        if tokens > 8192:
            raise Refused("ValidationException", f"Too many input tokens. Max input tokens: 8192, was {tokens}.")
        if dimensions not in (256, 512, 1024):
            raise Refused("ValidationException", f"{dimensions} is not a valid enum value for dimensions")
        self.answered.append(text)
        vector = _lengthened(self._embedder.embed_passages([text])[0], dimensions)
        if not asked.get("normalize", True):
            vector = vector * 7
        return {"embedding": vector.tolist(), "inputTextTokenCount": tokens}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        bedrock = self

        class Handler(QuietHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                try:
                    status, answer, more = 200, bedrock.answer(self.path, self.headers, body), {}
                except Refused as error:
                    status, answer = STATUS[error.code], {"message": str(error)}
                    more = {"x-amzn-ErrorType": f"{error.code}:http://internal.amazon.com/coral/com.amazon.bedrock/"}
                data = json.dumps(answer).encode()
                self.send_response(status)
                more |= {"Content-Type": "application/json", "x-amzn-RequestId": str(uuid.uuid4())}
                for name, value in {**more, "Content-Length": str(len(data))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

        return Handler

    @contextmanager
    def running(self) -> Iterator[Bedrock]:
        with self._server.running():
            yield self


def _lengthened(vector: Vector, dimensions: int) -> Vector:
    """To another length, so that angles stay nearly as they were."""
    if dimensions >= len(vector):
        return np.pad(vector, (0, dimensions - len(vector)))
    projection = np.random.default_rng(7).standard_normal((len(vector), dimensions)).astype(np.float32)
    shorter: Vector = vector @ projection
    return shorter / np.linalg.norm(shorter)
