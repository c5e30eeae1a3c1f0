"""Amazon Titan Text Embeddings v2 through Bedrock's InvokeModel.

The limits and fields are those of
https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-titan-embed-text.html: 8,192 tokens and 50,000
characters a text; 256, 512 or 1024 dimensions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from foundation.adapters.aws.embeddings_calls import EmbeddingCalls
from foundation.errors import InvalidInput
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


class TitanEmbedder(EmbeddingCalls):
    """See foundation.ports.embeddings.Embedder, and EmbeddingCalls for client, retries and errors.

    Titan's tokenizer is not public: ours are pieces of words, up to 8 letters or 3 digits, and single signs. On 1,000
    English abstracts they are 4.7 characters long in the mean, as Titan's are said to be.
    """

    revision = "v2-0"
    max_tokens = _MAX_TOKENS

    def __init__(self, client: Any, model: str, *, concurrency: int = 16, max_attempts: int = 8) -> None:
        super().__init__(client, MODEL_ID, MODELS[model], concurrency, max_attempts)
        self.model = model

    def embed_passages(self, texts: Sequence[str]) -> Vector:
        return self._each(texts, self._embed)

    def embed_query(self, text: str) -> Vector:
        return self._embed(text)

    def count_tokens(self, text: str) -> int:
        return sum(1 for _ in _TOKEN.finditer(text))

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        return [found.span() for found in _TOKEN.finditer(text)]

    def _embed(self, text: str) -> Vector:
        text = self._within_limit(text)
        while True:
            try:
                return self._vector({"inputText": text, "dimensions": self.dimension, "normalize": True})
            except InvalidInput as error:
                if len(text) == 1 or not _TOO_LONG.search(error.message):
                    raise
            text = text[: len(text) // 2]  # a script of which Titan makes many more tokens than we do

    def _within_limit(self, text: str) -> str:
        """Cut off as a model with a window does it."""
        if not text.strip():
            return _NOTHING
        for number, found in enumerate(_TOKEN.finditer(text), start=1):
            if number > _MAX_TOKENS:
                return text[: found.start()]
        return text
