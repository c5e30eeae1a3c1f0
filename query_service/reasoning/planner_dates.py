"""Time phrases of a question → half-open periods [start, end)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, timedelta

_MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_MONTH = "(?:" + "|".join(f"{m[:3]}(?:{m[3:]})?" if len(m) > 3 else m for m in _MONTHS) + ")\\.?"
_DAY = (
    rf"(?:\d{{4}}-\d{{2}}-\d{{2}}|{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?,?\s+\d{{4}}"
    rf"|\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH},?\s+\d{{4}})"
)
_YEAR = r"(?:19|20|21)\d\d"
_QUARTER = r"(?:q[1-4]\s*(?:of\s+)?\d{4}|(?:the\s+)?(?:first|second|third|fourth)\s+quarter\s+of\s+\d{4})"
_POINT = (
    rf"(?:{_DAY}|{_MONTH},?\s+(?:of\s+)?\d{{4}}|\d{{4}}-\d{{2}}|\d{{1,2}}/\d{{4}}|{_QUARTER}"
    rf"|(?:the\s+)?(?:year\s+)?{_YEAR})"
)
_COUNT = r"(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|twelve)"
_UNIT = r"(?:day|week|month|quarter|year)"
_DURING = r"\b(?:(?:in|during|over|within|for)\s+)?(?:the\s+)?"
_NUMBERS = {w: n for n, w in enumerate("zero one two three four five six seven eight nine ten eleven twelve".split())}
_PATTERNS = [
    ("span", rf"(?:\bbetween|\bfrom)\s+(?P<a>{_POINT})\s+(?:and|to|until|through|till)\s+(?P<b>{_POINT})(?![\w-])"),
    ("span", rf"(?:\b(?:for|in|over)\s+)?(?:\bthe\s+years\s+)?\b(?P<a>{_YEAR})\s*(?:-|–|to)\s*(?P<b>{_YEAR})(?![\w-])"),
    ("since", rf"\b(?:since|starting(?:\s+(?:in|from|on))?|from)\s+(?P<a>{_POINT})(?:\s+(?:on|onwards?))?(?![\w-])"),
    ("since", rf"\bin\s+(?P<a>{_POINT})\s+or\s+later(?![\w-])"),
    ("after", rf"\b(?:after|later\s+than)\s+(?P<a>{_POINT})(?![\w-])"),
    ("before", rf"\b(?:before|prior\s+to|earlier\s+than)\s+(?P<a>{_POINT})(?![\w-])"),
    ("until", rf"\b(?:until|through|up\s+to|till|by\s+the\s+end\s+of)\s+(?P<a>{_POINT})(?![\w-])"),
    ("decade", r"\b(?:in|during|from)?\s*the\s+(?P<a>(?:19|20)\d0)'?s\b"),
    ("last", rf"{_DURING}(?:last|past|previous)\s+(?P<n>{_COUNT})\s+(?P<u>{_UNIT})s?\b"),
    ("last", rf"\bsince\s+(?P<n>{_COUNT})\s+(?P<u>{_UNIT})s?\s+ago\b"),
    ("past", rf"\b(?:in|during|over|within)\s+the\s+(?:last|past)\s+(?P<u>{_UNIT})\b"),
    ("previous", rf"\b(?:in|during|over|for)?\s*(?:the\s+)?(?:last|previous)\s+(?P<u>{_UNIT})\b"),
    ("this", rf"\b(?:in|during|for)?\s*(?:this|the\s+current)\s+(?P<u>{_UNIT})(?:\s+so\s+far)?\b"),
    ("today", r"\b(?P<w>today|yesterday)\b"),
    ("in", rf"(?:\b(?:in|on|during|for|of|within|throughout)\s+)?(?<![\w-])(?P<a>{_POINT})(?![\w-])"),
]  # fmt: skip
_COMPILED = [(kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _PATTERNS]


@dataclass(frozen=True, slots=True)
class Period:
    """Days from `start` to before `end`; None is open. `text` stands at characters [at, until) of the question."""

    start: date | None
    end: date | None
    text: str
    at: int
    until: int
    relative: bool = False


def periods(question: str, today: date) -> list[Period]:
    """Every time phrase, longest reading first, none overlapping another, in the question's order."""
    found: list[Period] = []
    for kind, pattern in _COMPILED:
        for match in pattern.finditer(question):
            if any(match.start() < p.until and p.at < match.end() for p in found):
                continue
            bounds = _bounds(kind, match, today)
            if bounds is not None:
                relative = kind in {"last", "past", "previous", "this", "today"}
                lead = len(match.group()) - len(match.group().lstrip())
                found.append(Period(*bounds, match.group().strip(), match.start() + lead, match.end(), relative))
    return sorted(found, key=lambda p: p.at)


def _bounds(kind: str, match: re.Match[str], today: date) -> tuple[date | None, date | None] | None:
    groups = match.groupdict()
    if kind in {"span", "since", "after", "before", "until", "in"}:
        first = _point(groups["a"])
        second = _point(groups["b"]) if groups.get("b") else first
        if first is None or second is None or first[0] >= second[1]:
            return None
        return {
            "span": (first[0], second[1]),
            "in": first,
            "since": (first[0], None),
            "after": (first[1], None),
            "before": (None, first[0]),
            "until": (None, first[1]),
        }[kind]
    if kind == "decade":
        year = int(groups["a"])
        return date(year, 1, 1), date(year + 10, 1, 1)
    if kind == "today":
        day = today if groups["w"].lower() == "today" else today - timedelta(days=1)
        return day, day + timedelta(days=1)
    unit = groups["u"].lower()
    if kind in {"last", "past"}:
        count = groups.get("n") or "1"
        number = _NUMBERS.get(count.lower()) or int(count)
        return _back(today, number, unit), today + timedelta(days=1)
    start, end = _around(today, unit)
    return (start, end) if kind == "this" else _around(start - timedelta(days=1), unit)


def _around(day: date, unit: str) -> tuple[date, date]:
    """The calendar unit that holds the day; weeks begin on Monday."""
    if unit == "day":
        return day, day + timedelta(days=1)
    if unit == "week":
        monday = day - timedelta(days=day.weekday())
        return monday, monday + timedelta(days=7)
    if unit == "year":
        return date(day.year, 1, 1), date(day.year + 1, 1, 1)
    span = 3 if unit == "quarter" else 1
    first = date(day.year, (day.month - 1) // span * span + 1, 1)
    return first, _add_months(first, span)


def _back(day: date, number: int, unit: str) -> date:
    if unit in {"day", "week"}:
        return day - timedelta(days=number * (7 if unit == "week" else 1))
    return _add_months(day, -number * {"month": 1, "quarter": 3, "year": 12}[unit])


def _add_months(day: date, months: int) -> date:
    index = day.year * 12 + day.month - 1 + months
    year, month = index // 12, index % 12 + 1
    last = (date(year + month // 12, month % 12 + 1, 1) - timedelta(days=1)).day
    return date(year, month, min(day.day, last))


def _point(text: str) -> tuple[date, date] | None:
    """The day, month, quarter or year that the text names; None for a date that does not exist."""
    low = text.lower()
    year_match = re.search(r"\d{4}", low)
    if year_match is None:
        return None
    year = int(year_match.group())
    month = next((i + 1 for i, m in enumerate(_MONTHS) if re.search(rf"\b{m[:3]}", low)), None)
    rest = re.sub(r"\d{4}", " ", low, count=1)
    numbers = [int(n) for n in re.findall(r"\d+", rest)]
    quarter = re.search(r"q([1-4])|(first|second|third|fourth) quarter", low)
    try:
        if quarter:
            index = int(quarter[1]) if quarter[1] else ["first", "second", "third", "fourth"].index(quarter[2]) + 1
            first = date(year, index * 3 - 2, 1)
            return first, _add_months(first, 3)
        if month is not None and numbers:
            day = date(year, month, numbers[0])
            return day, day + timedelta(days=1)
        if month is None and len(numbers) == 2:
            day = date(year, numbers[0], numbers[1])
            return day, day + timedelta(days=1)
        if month is not None or len(numbers) == 1:
            first = date(year, month if month is not None else numbers[0], 1)
            return first, _add_months(first, 1)
        return date(year, 1, 1), date(year + 1, 1, 1)
    except ValueError:
        return None
