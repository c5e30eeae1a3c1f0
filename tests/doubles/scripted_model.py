"""A language model that answers from a script, so that no test ever asks a real one."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from foundation.errors import Unavailable
from foundation.types import Completion, JsonObject, Message

Script = Callable[[Sequence[Message], JsonObject | None], str | dict[str, Any] | Exception]


class ScriptedModel:
    """`script` gets the messages and the schema; what it returns is the answer, an exception is raised.

    `asked` holds every call, for the test to look at. A word counts as a token.
    """

    model = "scripted/1"

    def __init__(self, script: Script) -> None:
        self._script = script
        self.asked: list[tuple[Sequence[Message], JsonObject | None]] = []

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int = 1024,
        temperature: float = 0.0,
        schema: JsonObject | None = None,
    ) -> Completion:
        self.asked.append((messages, schema))
        answer = self._script(messages, schema)
        if isinstance(answer, Exception):
            raise answer
        text = answer if isinstance(answer, str) else json.dumps(answer)
        read = sum(len(message.content.split()) for message in messages)
        return Completion(text, self.model, input_tokens=read, output_tokens=len(text.split()))


def throttled(messages: Sequence[Message], schema: JsonObject | None) -> Exception:
    return Unavailable("The provider answers 429.")
