"""Text → vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from foundation.types import Vector


class Embedder(Protocol):
    model: str
    """Stable name, stored with each vector."""
    revision: str
    """Hash or version of the weights, stored with each vector."""
    dimension: int
    max_tokens: int
    """Longest input, special tokens included; more is cut off by the model, so chunk below it."""

    def embed_passages(self, texts: Sequence[str]) -> Vector:
        """float32 (len(texts), dimension), rows of unit length."""

    def embed_query(self, text: str) -> Vector:
        """float32 (dimension,), unit length; adds the model's query instruction."""

    def count_tokens(self, text: str) -> int:
        """By the model's own tokenizer, special tokens excluded.

        Texts that a space, tab or line break parts add up: what is joined by one has the sum of their tokens.
        """

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """Character (start, end) of each token of `text`, special tokens excluded, never truncated."""
