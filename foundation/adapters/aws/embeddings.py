"""Amazon Titan Text Embeddings v2 through Bedrock's InvokeModel, one text a call, as many calls at once as it takes.

The limits and fields are those of
https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-titan-embed-text.html: 8,192 tokens and 50,000
characters a text; 256, 512 or 1024 dimensions.
"""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from botocore.exceptions import BotoCoreError, ClientError

from foundation.adapters.aws.embeddings_pace import Pace
from foundation.adapters.aws.errors import code_of, is_throttled, translated
from foundation.errors import AsklineError
from foundation.types import Vector

MODELS = {"titan-embed-text-v2": 1024, "titan-embed-text-v2-512": 512, "titan-embed-text-v2-256": 256}
"""Our names of the model, one for each length of its vectors, since vectors of two lengths go into two indexes."""
MODEL_ID = "amazon.titan-embed-text-v2:0"

_MAX_TOKENS = 1024
"""Ours, which are at most 8 letters long; so a text within the limit is within Titan's in nearly every script."""
_IDEOGRAPHS = "\u2e80-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_TOKEN = re.compile(rf"(?:(?![{_IDEOGRAPHS}])[^\W\d_]){{1,8}}|\d{{1,3}}|[^\s]")
_TOO_LONG = re.compile(r"too many input tokens|maxlength", re.IGNORECASE)
_NOTHING = "."
"""Stands for a text without a character, which Titan refuses."""
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.2, 10.0


class TitanEmbedder:
    """See foundation.ports.embeddings.Embedder. Thread-safe.

    Titan's tokenizer is not public: ours are pieces of words, up to 8 letters or 3 digits, and single signs. On 1,000
    English abstracts they are 4.7 characters long in the mean, as Titan's are said to be.

    `client` is boto3's of bedrock-runtime, which must not retry by itself: what is throttled waits here, and fewer
    calls go out at once for a while. Unavailable after `max_attempts` tries; other errors are not tried again.
    """

    revision = "v2-0"
    max_tokens = _MAX_TOKENS

    def __init__(self, client: Any, model: str, *, concurrency: int = 16, max_attempts: int = 8) -> None:
        self._client = client
        self._attempts = max_attempts
        self._pace = Pace(concurrency)
        self._pool = ThreadPoolExecutor(concurrency, thread_name_prefix="titan")
        self.model = model
        self.dimension = MODELS[model]

    def embed_passages(self, texts: Sequence[str]) -> Vector:
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        calls = [self._pool.submit(self._embed, text) for text in texts]
        try:
            return np.stack([call.result() for call in calls])
        finally:
            for call in calls:  # after an error nobody wants the others
                call.cancel()

    def embed_query(self, text: str) -> Vector:
        return self._embed(text)

    def count_tokens(self, text: str) -> int:
        return sum(1 for _ in _TOKEN.finditer(text))

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        return [found.span() for found in _TOKEN.finditer(text)]

    def _embed(self, text: str) -> Vector:
        text = self._within_limit(text)
        for attempt in range(1, self._attempts + 1):
            try:
                with self._pace.turn():
                    return self._invoke(text)
            except (ClientError, BotoCoreError) as error:
                if len(text) > 1 and _says_too_long(error):
                    text = text[: len(text) // 2]  # a script of which Titan makes many more tokens than we do
                    continue
                told = translated(error, f"Bedrock, model {MODEL_ID}")
                if not told.transient or attempt == self._attempts:
                    raise told from error
                if is_throttled(error):
                    self._pace.slow_down()
                time.sleep(random.uniform(0, min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2**attempt)))
        raise AsklineError(f"Bedrock, model {MODEL_ID}, does not take the text however short it is cut.")

    def _invoke(self, text: str) -> Vector:
        asked = {"inputText": text, "dimensions": self.dimension, "normalize": True}
        answer = self._client.invoke_model(
            modelId=MODEL_ID, contentType="application/json", accept="application/json", body=json.dumps(asked)
        )
        found = np.array(json.loads(answer["body"].read())["embedding"], np.float32)
        vector: Vector = found / np.linalg.norm(found)
        return vector

    def _within_limit(self, text: str) -> str:
        """Cut off as a model with a window does it."""
        if not text.strip():
            return _NOTHING
        for number, found in enumerate(_TOKEN.finditer(text), start=1):
            if number > _MAX_TOKENS:
                return text[: found.start()]
        return text


def _says_too_long(error: Exception) -> bool:
    return (
        isinstance(error, ClientError)
        and code_of(error) == "ValidationException"
        and bool(_TOO_LONG.search(str(error)))
    )
