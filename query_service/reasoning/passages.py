"""The pieces of a passage: sentences, list items, rows, and which of them are headings."""

from __future__ import annotations

import re

from foundation.sentences import split_sentences
from query_service.reasoning.question_words import STOP_WORDS

_LONGEST_ITEM = 400
_ITEM = re.compile(r"(?:(?P<bullet>[•‣▪■●○◦*+–—-])|\(?(?:(?P<number>\d{1,2})|[a-z])[.)])\s")


def pieces(text: str) -> list[tuple[int, int]]:
    """The spans of the sentences; a list item with its further sentences, up to a limit, is one."""
    found: list[tuple[int, int]] = []
    for start, end in split_sentences(text):
        first, last = found[-1] if found else (start, start)
        if _ITEM.match(text, first) and "\n" not in text[last:start] and last < start and end - first <= _LONGEST_ITEM:
            found[-1] = (first, end)
        else:
            found.append((start, end))
    return found


def marker(text: str) -> str | None:
    """What marks a list item, alike for all items of one level; None for other text."""
    match = _ITEM.match(text)
    return None if match is None else match["bullet"] or ("1" if match["number"] else "a")


def is_open(text: str) -> bool:
    """No mark ends it: a lead-in, a table's row, a caption."""
    return text[-1] not in ".!?:;,。！？…)\"'”"


def is_heading(text: str, section: str | None) -> bool:
    """Also a line of a table of contents."""
    if "...." in text or (section and " ".join(text.split()) in section.split(" > ")):
        return True
    words = text.split()
    if not is_open(text) or " | " in text or _ITEM.match(text) or words[-1].lower() in STOP_WORDS:
        return False
    return len(words) <= 8 or text.isupper()
