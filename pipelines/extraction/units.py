"""What states something as a whole: a sentence, or a list with its lead-in (`Symptoms include:` and its bullets)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from foundation.sentences import split_sentences

MAX_UNIT = 1500
"""Characters; a longer unit is layout, not a sentence."""

_MARK = r"(?:[-–•*▪●◦‣]|\d{1,2}[.)])\s+"
_INLINE_ITEM = re.compile(rf"(?:\n|\s{{2,}}|:\s+|\s(?=[-–•*▪●◦‣]\s))\s*{_MARK}")
_ITEM = re.compile(_MARK)


@dataclass(frozen=True, slots=True)
class Unit:
    """text[start:end]; of a list, `lead` is where the lead-in ends and `items` are the items' spans."""

    start: int
    end: int
    lead: int | None = None
    items: tuple[tuple[int, int], ...] = ()


def split(text: str) -> list[Unit]:
    """Units in order, at most MAX_UNIT characters long; what is longer is left out."""
    units: list[Unit] = []
    sentences = split_sentences(text)
    i = 0
    while i < len(sentences):
        start, end = sentences[i]
        i += 1
        lead, items = _inline_items(text, start, end)
        if lead is None and text[end - 1] == ":":
            lead = end
        while lead is not None and i < len(sentences) and sentences[i][1] - start <= MAX_UNIT:
            mark = _ITEM.match(text, *sentences[i])
            if mark is None:
                break
            items.append((mark.end(), sentences[i][1]))
            end = sentences[i][1]
            i += 1
        if end - start <= MAX_UNIT:
            units.append(Unit(start, end, lead, tuple(items)) if items else Unit(start, end))
    return units


def _inline_items(text: str, start: int, end: int) -> tuple[int | None, list[tuple[int, int]]]:
    """Items that the layout left within one sentence: `Signs include: - Fever - Chills`."""
    colon = text.find(":", start, end)
    marks = list(_INLINE_ITEM.finditer(text, colon, end)) if colon >= 0 else []
    if not marks or text[colon + 1 : marks[0].end()].strip(" \n\t-–•*▪●◦‣0123456789.):"):
        return None, []
    stops = [*(m.start() for m in marks[1:]), end]
    return colon + 1, [(m.end(), stop) for m, stop in zip(marks, stops, strict=True) if m.end() < stop]
