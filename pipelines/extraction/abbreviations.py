"""Abbreviations that a text defines itself: `chronic kidney disease (CKD)`.

The algorithm of Schwartz and Hearst, A simple algorithm for identifying abbreviation definitions in biomedical text,
Pacific Symposium on Biocomputing 2003, 451-462: its candidates and its right-to-left match of characters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_PARENTHESIS = re.compile(r"\(([^()\n]{2,40})\)")
_SHORT = re.compile(r"[^\W_][\w\-/.&]*(?: [\w\-/.&]+)?\Z")


@dataclass(frozen=True, slots=True)
class Definition:
    """text[start:end] is the long form; text[short_start:short_end] the short one."""

    long: str
    short: str
    start: int
    end: int
    short_start: int
    short_end: int


def _is_short_form(text: str) -> bool:
    letters = [c for c in text if c.isalpha()]
    return (
        2 <= len(text) <= 10
        and _SHORT.match(text) is not None
        and len(letters) >= 2
        and sum(c.isupper() for c in letters) * 2 >= len(letters)
    )


def _best_long_form(short: str, candidate: str) -> int | None:
    """Where in `candidate` the long form starts, or None. Section 3.3 of the paper."""
    at = len(candidate) - 1
    for i in range(len(short) - 1, -1, -1):
        wanted = short[i].lower()
        if not wanted.isalnum():
            continue
        while at >= 0 and (candidate[at].lower() != wanted or (i == 0 and at > 0 and candidate[at - 1].isalnum())):
            at -= 1
        if at < 0:
            return None
        at -= 1
    return max((m.end() for m in re.finditer(r"\s", candidate[: at + 2])), default=0)


def find(text: str) -> list[Definition]:
    """Definitions in `text`, in order, short form in parentheses behind its long form."""
    found = []
    for match in _PARENTHESIS.finditer(text):
        short = re.split(r"[,;]", match.group(1))[0].strip()
        if not _is_short_form(short):
            continue
        # At most min(|A| + 5, |A| * 2) words before the parenthesis, within the clause.
        before = text[: match.start()].rstrip()
        clause = max(before.rfind(mark) for mark in ("\n\n", ". ", "; ", ": ", ")", "(")) + 1
        words = list(re.finditer(r"\S+", before[clause:]))[-min(len(short) + 5, len(short) * 2) :]
        if not words:
            continue
        start = clause + words[0].start()
        offset = _best_long_form(short, before[start:])
        if offset is None:
            continue
        long = before[start + offset :]
        if len(short) < len(long) <= 200 and short.lower() not in long.lower().split():
            short_start = match.start(1) + match.group(1).index(short)
            found.append(Definition(long, short, start + offset, len(before), short_start, short_start + len(short)))
    return found
