"""A language model, if one is configured. The embedded profile needs none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from foundation.types import Completion, JsonObject, Message


class LanguageModel(Protocol):
    model: str

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int = 1024,
        temperature: float = 0.0,
        schema: JsonObject | None = None,
    ) -> Completion:
        """With `schema` (JSON Schema) the text is one JSON value of it. Unavailable on 429, 5xx, transport errors."""
