"""Numbers that a question compares with: “over 100”, “at least 3”, “between 18 and 35 or between 40 and 75”."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from query_service.reasoning.planner_words import NUMBERS

_WORDS = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
_N = rf"[$€£]?\s*(\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?|\d+(?:\.\d+)?|(?:{_WORDS}))\s*(k\b)?"
_TO = r"\s*(?:to|-|–)\s*"
_AND = r"\s*(?:and|to|-|–)\s*"
_OLD = r"\s*(?:the\s+age\s+of\s+)?"
_MORE = r"(?:more|greater|higher|larger|older|longer|bigger)\s+than|over|above|exceeding|exceeds|exceeded|exceed"
_LESS = r"(?:less|fewer|lower|smaller|younger|shorter|cheaper)\s+than|under|below"
# Tried in this order; a later pattern does not touch what an earlier one took.
_PATTERNS = [
    ("or between", rf"\b(?:or|and)\s+(?:in\s+(?:the\s+)?age\s+)?(?:of\s+)?between\s+{_N}{_AND}{_N}"),
    ("or between", rf"\b(?:or|and)\s+(?:aged\s+)?{_N}{_TO}{_N}"),
    (
        "between",
        rf"\b(?:(?:in\s+)?ages?\s+|aged\s+|in\s+the\s+age\s+range\s+)?(?:of\s+)?between\s+(?:the\s+ages\s+of\s+)?{_N}{_AND}{_N}",
    ),
    ("between", rf"\b(?:aged|ages?|from)\s+(?:from\s+)?{_N}{_AND}{_N}"),
    ("between", rf"\b(?:within\s+)?(?:the\s+)?age\s+ranges?\s+(?:of\s+|from\s+)?{_N}{_TO}{_N}"),
    (">=", rf"(?:\bat\s+least|\bno\s+less\s+than|\bno\s+fewer\s+than|\bminimum\s+of|>=|≥)\s*{_N}"),
    ("<=", rf"(?:\bat\s+most|\bno\s+more\s+than|\bnot\s+more\s+than|\bup\s+to|<=|≤)\s*{_N}"),
    (">", rf"(?:\b(?:is\s+)?(?:{_MORE})|>){_OLD}{_N}"),
    ("<", rf"(?:\b(?:{_LESS})|<){_OLD}{_N}"),
    (">=", rf"\b{_N}\s*(?:years?\s+)?(?:or|and)\s+(?:more|older|above|over|up|higher|greater|longer)\b"),
    ("<=", rf"\b{_N}\s*(?:years?\s+)?(?:or|and)\s+(?:less|younger|under|below|fewer|lower|shorter)\b"),
    ("=", rf"(?:\bexactly|\bequal\s+to|\bequals|=)\s*{_N}"),
    ("aged", r"\baged\s+(\d{1,3})(\b)"),
]
_COMPILED = [(operator, re.compile(pattern, re.IGNORECASE)) for operator, pattern in _PATTERNS]
_AGE = re.compile(r"\b(?:age|ages|aged|older|younger)\b", re.IGNORECASE)
_AGE_UNIT = re.compile(r"\s*(?:years?[\s-]+(?:old|of\s+age)|yo\b|y/o\b|year[\s-]olds?)", re.IGNORECASE)
_YEARS = re.compile(r"\s*years?\b", re.IGNORECASE)
_TIMES = re.compile(r"\s*times?\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Comparison:
    """`age` where the phrase itself speaks of age; characters [at, until) of the question."""

    operator: str
    values: tuple[float | int, ...]
    age: bool
    at: int
    until: int


def comparisons(question: str) -> list[Comparison]:
    """The question's comparisons in their order, none overlapping another."""
    found: list[Comparison] = []
    for operator, pattern in _COMPILED:
        for match in pattern.finditer(question):
            taken = any(match.start() < c.until and c.at < match.end() for c in found)
            if not taken and not _TIMES.match(question, match.end()):
                made = _comparison(operator, match, question)
                found.extend([made] if made else [])
    return _joined(sorted(found, key=lambda c: c.at), question)


def _comparison(operator: str, match: re.Match[str], question: str) -> Comparison | None:
    groups = match.groups()
    values = tuple(_number(groups[i], groups[i + 1]) for i in range(0, len(groups), 2))
    plain = "," not in match.group() and "$" not in match.group()
    if "between" in operator and plain and all(1900 <= v <= 2199 for v in values):
        return None  # years: planner_dates reads them
    unit, years = _AGE_UNIT.match(question, match.end()), _YEARS.match(question, match.end())
    aged = operator == "aged" or bool(_AGE.search(match.group())) or unit is not None
    until = (unit or years or match).end()
    return Comparison("=" if operator == "aged" else operator, values, aged, match.start(), until)


def _joined(found: list[Comparison], question: str) -> list[Comparison]:
    """“between 18 and 35 or between 40 and 75” is one comparison with two ranges."""
    result: list[Comparison] = []
    for item in found:
        last = result[-1] if result else None
        if not item.operator.startswith("or"):
            result.append(item)
        elif last is not None and last.operator == "between" and not question[last.until : item.at].strip():
            values = (*last.values, *item.values)
            result[-1] = replace(last, values=values, age=last.age or item.age, until=item.until)
    return result


def _number(text: str, thousands: str | None) -> float | int:
    plain = text.lower().replace(",", "")
    value = float(NUMBERS[plain]) if plain in NUMBERS else float(plain)
    value *= 1_000 if thousands and thousands.strip() else 1
    return int(value) if value == int(value) else value
