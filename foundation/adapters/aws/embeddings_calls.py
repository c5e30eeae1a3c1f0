"""Vectors by Bedrock's InvokeModel, one thing a call, as many calls at once as it takes."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from botocore.exceptions import BotoCoreError, ClientError

from foundation.adapters.aws.embeddings_pace import Pace
from foundation.adapters.aws.errors import is_throttled, translated
from foundation.errors import InvalidInput
from foundation.types import Vector

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.2, 10.0
T = TypeVar("T")


class EmbeddingCalls:
    """What the embedders of Bedrock's models have in common. Thread-safe.

    `client` is boto3's of bedrock-runtime, which must not retry by itself: what is throttled waits here, and fewer
    calls go out at once for a while. Unavailable after `max_attempts` tries; other errors are not tried again.
    """

    def __init__(self, client: Any, model_id: str, dimension: int, concurrency: int, max_attempts: int) -> None:
        self._client = client
        self._model_id = model_id
        self._attempts = max_attempts
        self._pace = Pace(concurrency)
        self._pool = ThreadPoolExecutor(concurrency, thread_name_prefix="titan")
        self.dimension = dimension

    def _each(self, things: Sequence[T], vector: Callable[[T], Vector]) -> Vector:
        """float32 (len(things), dimension), rows in their order. The first error ends the others."""
        if not things:
            return np.zeros((0, self.dimension), np.float32)
        calls = [self._pool.submit(vector, thing) for thing in things]
        try:
            return np.stack([call.result() for call in calls])
        finally:
            for call in calls:  # after an error nobody wants the others
                call.cancel()

    def _vector(self, asked: Mapping[str, Any], of: str = "") -> Vector:
        """float32 (dimension,), unit length. `of` says in errors what is embedded, as ", image 3"."""
        body, what = json.dumps(asked), f"Bedrock, model {self._model_id}{of}"
        attempt = 1
        while True:
            try:
                with self._pace.turn():
                    return self._invoke(body, what)
            except (ClientError, BotoCoreError) as error:
                told = translated(error, what)
                if not told.transient or attempt >= self._attempts:
                    raise told from error
                if is_throttled(error):
                    self._pace.slow_down()
            time.sleep(random.uniform(0, min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2**attempt)))
            attempt += 1

    def _invoke(self, body: str, what: str) -> Vector:
        response = self._client.invoke_model(
            modelId=self._model_id, contentType="application/json", accept="application/json", body=body
        )
        answer = json.loads(response["body"].read())
        if said := answer.get("message"):  # the multimodal model reports errors inside a 200
            raise InvalidInput(f"{what}: {said}")
        found = np.array(answer["embedding"], np.float32)
        vector: Vector = found / np.linalg.norm(found)
        return vector
