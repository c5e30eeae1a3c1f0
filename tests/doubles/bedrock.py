"""Bedrock Runtime on the wire: InvokeModel of Titan Text Embeddings v2 and Titan Multimodal Embeddings G1, with their
checks and errors by name.

Vectors of texts are those of the local model, so that texts of one meaning lie close to each other. Those of images are
small grey copies of what they show, as the pixels are stored: nobody promises that Bedrock turns them by their EXIF.
"""

from __future__ import annotations

import base64
import binascii
import io
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
from PIL import Image, UnidentifiedImageError

from foundation.ports.embeddings import Embedder
from foundation.settings import AdapterSettings, AwsSettings, BedrockSettings, Settings
from foundation.types import Vector
from tests.doubles.wire import LoopbackServer, QuietHandler

TEXT_MODEL = "amazon.titan-embed-text-v2:0"
IMAGE_MODEL = "amazon.titan-embed-image-v1"
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
_TEXT_FIELDS = {"inputText", "dimensions", "normalize", "embeddingTypes"}
_IMAGE_FIELDS = {"inputText", "inputImage", "embeddingConfig"}
_MOST_IMAGE_BYTES = 25_000_000
_MOST_IMAGE_SIDE = 2048
_SMALL = (15, 17)
"""Size of the grey copies: with the one number that keeps a grey picture from being nothing, the shortest vector."""


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
        self.pictures: list[Image.Image] = []
        """The images, in the order of their answers, each with the format and the metadata that it came with."""
        self.message: str | None = None
        """What the multimodal model says inside a 200 instead of a vector."""
        self.denied: set[str] = set()
        """Models that nobody may call."""
        self.throttled = 0
        self.peak = 0
        self._failures: list[str] = []
        self._running = 0
        self._embedder = embedder
        self._lock = threading.Lock()
        self._server = LoopbackServer(self._handler())
        self.url = self._server.url

    def settings(self, **chosen: object) -> Settings:
        """Of Askline whose embeddings are made here; `chosen` are those of the group bedrock."""
        return Settings(
            adapters=AdapterSettings(embeddings="aws"),
            aws=AwsSettings(endpoint_url=self.url),
            bedrock=BedrockSettings.model_validate(chosen),
        )

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
        if denied := [model for model in self.denied if unquote(path) == f"/model/{model}/invoke"]:
            raise Refused("AccessDeniedException", f"You don't have access to the model {denied[0]}.")
        models = {f"/model/{TEXT_MODEL}/invoke": self._text, f"/model/{IMAGE_MODEL}/invoke": self._multimodal}
        if unquote(path) not in models:
            raise Refused("ResourceNotFoundException", f"Could not resolve the foundation model from {path}.")
        return models[unquote(path)](asked)

    def _text(self, asked: dict[str, Any]) -> dict[str, Any]:
        text, dimensions = asked.get("inputText"), asked.get("dimensions", 1024)
        _known(asked, _TEXT_FIELDS)
        if not isinstance(text, str) or not text:
            raise Refused("ValidationException", "expected minLength: 1, actual: 0")
        if len(text) > 50_000:
            raise Refused("ValidationException", f"expected maxLength: 50000, actual: {len(text)}")
        tokens = self._tokens(text, 8192)
        if dimensions not in (256, 512, 1024):
            raise Refused("ValidationException", f"{dimensions} is not a valid enum value for dimensions")
        self.answered.append(text)
        vector = _lengthened(self._embedder.embed_passages([text])[0], dimensions)
        if not asked.get("normalize", True):
            vector = vector * 7
        return {"embedding": vector.tolist(), "inputTextTokenCount": tokens}

    def _multimodal(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Not of unit length: nobody promises it."""
        _known(asked, _IMAGE_FIELDS)
        config = asked.get("embeddingConfig", {})
        _known(config, {"outputEmbeddingLength"})
        length = config.get("outputEmbeddingLength", 1024)
        if length not in (256, 384, 1024):
            raise Refused("ValidationException", f"{length} is not a valid enum value for outputEmbeddingLength")
        text, encoded = asked.get("inputText"), asked.get("inputImage")
        if text is None and encoded is None:
            raise Refused("ValidationException", "at least one of inputText and inputImage is required")
        tokens = 0 if text is None else self._tokens(text, 256)
        picture = None if encoded is None else _decoded(encoded)
        if self.message is not None:
            return {"embedding": None, "inputTextTokenCount": tokens, "message": self.message}
        vectors = []
        if text is not None:
            vectors.append(_lengthened(self._embedder.embed_passages([text])[0], length))
        if picture is not None:
            self.pictures.append(picture)
            vectors.append(_lengthened(_small(picture), length))
        mean = np.mean(vectors, axis=0) * 7
        return {"embedding": mean.tolist(), "inputTextTokenCount": tokens, "message": None}

    def _tokens(self, text: str, most: int) -> int:
        tokens = int(len(text) * self.tokens_a_character) + 1
        if tokens > most:
            raise Refused("ValidationException", f"Too many input tokens. Max input tokens: {most}, was {tokens}.")
        return tokens

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


def _known(asked: dict[str, Any], fields: set[str]) -> None:
    if unknown := asked.keys() - fields:
        raise Refused("ValidationException", f"extraneous key [{unknown.pop()}] is not permitted")


def _decoded(encoded: Any) -> Image.Image:
    try:
        data = base64.b64decode(encoded, validate=True)
        if len(data) > _MOST_IMAGE_BYTES:
            raise Refused("ValidationException", "Image exceeds max size allowed.")
        image = Image.open(io.BytesIO(data), formats=("PNG", "JPEG"))
        image.load()
    except (TypeError, binascii.Error, UnidentifiedImageError, OSError) as error:
        raise Refused("ValidationException", "Failed to process the image. Provide a valid base64 image.") from error
    if max(image.size) > _MOST_IMAGE_SIDE:
        raise Refused("ValidationException", "Image exceeds max pixels allowed.")
    return image


def _small(picture: Image.Image) -> Vector:
    grey = np.asarray(picture.convert("L").resize(_SMALL, Image.Resampling.BOX), np.float32)
    return np.append(grey.ravel() / 127.5 - 1, np.float32(1))


def _lengthened(vector: Vector, dimensions: int) -> Vector:
    """To another length, so that angles stay nearly as they were."""
    if dimensions >= len(vector):
        return np.pad(vector, (0, dimensions - len(vector)))
    projection = np.random.default_rng(7).standard_normal((len(vector), dimensions)).astype(np.float32)
    shorter: Vector = vector @ projection
    return shorter / np.linalg.norm(shorter)
