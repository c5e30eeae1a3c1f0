"""What no store can hold is refused at the door, by the name of the field that holds it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from fastapi import Request

from foundation.errors import InvalidInput

MAX_ID = 300
"""Characters; no id or table name is nearly as long. Also keeps an error that quotes it readable."""
MAX_PARAMETER = 4_000
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


async def refuse_unstorable(request: Request) -> None:
    """InvalidInput for NUL and lone surrogates in the address or a JSON body, and for ids of absurd length.

    Forms are left to their endpoint: their text comes out of bytes, and a file's name has rules of its own.
    """
    for name, value in request.path_params.items():
        if len(str(value)) > MAX_ID:
            raise InvalidInput(f"{name}: {len(str(value)):,} characters; at most {MAX_ID} are read.")
        check_text(name, str(value))
    for name, value in request.query_params.multi_items():
        check_text("a parameter's name", name)
        if len(value) > MAX_PARAMETER:
            raise InvalidInput(f"{name}: {len(value):,} characters; at most {MAX_PARAMETER:,} are read.")
        check_text(name, value)
    if "json" in request.headers.get("content-type", ""):
        for name, value in _texts(await _json(request)):
            check_text(name or "body", value)


async def _json(request: Request) -> Any:
    try:
        return await request.json() if await request.body() else None
    except (ValueError, RecursionError):
        return None  # FastAPI says what is wrong with it


def _texts(value: Any) -> Iterator[tuple[str, str]]:
    """(field, text) of every string in a JSON value, keys among them. Without recursion: it may be deep."""
    left: list[tuple[str, Any]] = [("", value)]
    while left:
        name, here = left.pop()
        if isinstance(here, str):
            yield name, here
        elif isinstance(here, list):
            left += [(name, item) for item in here]
        elif isinstance(here, dict):
            for key, item in here.items():
                yield name or "a field's name", key
                left.append((f"{name}.{key}" if name else key, item))


def check_text(name: str, value: str) -> None:
    """InvalidInput, by field, for NUL and lone surrogates."""
    found = _UNSTORABLE.search(value)
    if found:
        kind = "a NUL character" if found[0] == "\0" else "half of a surrogate pair, which is no character"
        shown = _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", name)[:100]
        raise InvalidInput(f"{shown}: it holds {kind}.", fix="Take it out and send the request again.")
