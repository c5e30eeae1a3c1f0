"""`start` and `end` of a span of a version's parsed text, checked alike wherever a request names one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Query

from foundation.errors import OutOfRange

_FIX = "Offsets count characters from 0, `end` is exclusive; GET /documents/{id}/text says the `length`."


@dataclass(frozen=True, slots=True)
class Span:
    """As it was asked for: either end may be absent."""

    start: int | None
    end: int | None

    def within(self, length: int) -> tuple[int, int]:
        """(start, end) with 0 <= start <= end <= length; an absent end is the text's own. OutOfRange otherwise."""
        start = 0 if self.start is None else self.start
        end = length if self.end is None else self.end
        for name, value in (("start", start), ("end", end)):
            if value > length:
                raise OutOfRange(f"{name}: {value} is behind the end of the text, {length}.", fix=_FIX)
        return start, end


def span(
    start: Annotated[
        int | None, Query(description="First character, from 0.", json_schema_extra={"minimum": 0}, examples=[0])
    ] = None,
    end: Annotated[
        int | None, Query(description="Character after the last.", json_schema_extra={"minimum": 0}, examples=[200])
    ] = None,
) -> Span:
    """OutOfRange for what is wrong in every text: below zero, or backwards."""
    for name, value in (("start", start), ("end", end)):
        if value is not None and value < 0:
            raise OutOfRange(f"{name}: {value} is below 0.", fix=_FIX)
    if start is not None and end is not None and start > end:
        raise OutOfRange(f"start: {start} is behind end, {end}.", fix=_FIX)
    return Span(start, end)


SpanDep = Annotated[Span, Depends(span)]
