"""Names of people and dates of birth: what can be one person's, and what cannot."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from datetime import date
from typing import Literal

from rapidfuzz.distance import OSA

Likeness = Literal["equal", "compatible", "misspelt", "different"]

TITLES = frozenset("mr mrs ms miss mx dr prof professor sir dame madam nurse sister father rev judge".split())
_SUFFIXES = frozenset("jr sr ii iii iv".split())
_DEGREES = frozenset("md phd rn do dds np pa msc bsc ma mba facs esq".split())
_PARTICLES = frozenset("van von de der den del della di da la le du dos das bin ibn al el st".split())
_MIN_LETTERS = 5
"""Of a part that can be misspelt; in shorter ones a letter makes another name (Jon is also a name, Ann and Jan are)."""

_MONTHS = {
    name: number
    for number, names in enumerate(
        "jan january|feb february|mar march|apr april|may|jun june|jul july|aug august|sep sept september|oct october|"
        "nov november|dec december".split("|"),
        start=1,
    )
    for name in names.split()
}
_MONTH = "(?P<month>" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + r")\.?"
DATE = (
    r"(?:(?P<iso>(?:19|20|18)\d\d-\d\d?-\d\d?)"
    r"|(?P<numbers>\d{1,2}[/.]\d{1,2}[/.](?:19|20|18)\d\d)"
    rf"|(?P<day_first>\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{_MONTH},? (?:19|20|18)\d\d)"
    rf"|(?P<month_first>{_MONTH.replace('month', 'month2')} \d{{1,2}}(?:st|nd|rd|th)?,? (?:19|20|18)\d\d)"
    r"|(?P<year>(?:19|20|18)\d\d)(?![\d/.-]))"
)
"""A date as people write it; named groups tell which way. To be searched with re.IGNORECASE."""


@dataclass(frozen=True, slots=True)
class PersonName:
    """Parts in lower case without accents or dots; an initial is one letter."""

    given: tuple[str, ...]
    surname: str
    suffix: str = ""

    @property
    def key(self) -> str:
        return " ".join(part for part in (*self.given, self.surname, self.suffix) if part)


def parse_name(name: str) -> PersonName | None:
    """`Dr. John T. Doe`, `Doe, John T.`; None where there is no given name or no surname."""
    first, comma, rest = name.partition(",")
    turned = f"{rest} {first}" if comma and _parts(rest) and _parts(rest)[0] not in _SUFFIXES | _DEGREES else name
    parts = _parts(turned)
    while parts and parts[0] in TITLES:
        parts = parts[1:]
    parts = [part for part in parts if part not in _DEGREES]
    suffix = next((part for part in parts[2:] if part in _SUFFIXES), "")
    parts = [part for part in parts if part != suffix]
    at = next((i for i, part in enumerate(parts) if i and part in _PARTICLES), len(parts) - 1)
    if at < 1 or len(parts[-1]) < 2:
        return None
    return PersonName(tuple(parts[:at]), " ".join(parts[at:]), suffix)


def _parts(name: str) -> list[str]:
    plain = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    return re.findall(r"[^\W\d_]+(?:['’\-][^\W\d_]+)*", plain.casefold().replace(".", " "))


def compare_names(one: PersonName, other: PersonName) -> Likeness:
    """equal; compatible (an initial for a name, a middle name left out); misspelt (a letter off); else different."""
    if one == other:
        return "equal"
    if one.suffix and other.suffix and one.suffix != other.suffix:
        return "different"
    likeness = _compare_parts(one.surname, other.surname, initials=False)
    shorter, longer = sorted((one.given, other.given), key=len)
    found = [likeness, _compare_parts(shorter[0], longer[0])]
    middle = list(longer[1:])
    for part in shorter[1:]:
        likenesses = [(_compare_parts(part, other_part), i) for i, other_part in enumerate(middle)]
        best = min(likenesses, key=lambda pair: _ORDER.index(pair[0]), default=("different", 0))
        found.append(best[0])
        middle = middle[best[1] + 1 :]
    worst = max(found, key=_ORDER.index)
    return "compatible" if worst == "equal" else worst


_ORDER: tuple[Likeness, ...] = ("equal", "compatible", "misspelt", "different")


def _compare_parts(one: str, other: str, *, initials: bool = True) -> Likeness:
    if one == other:
        return "equal"
    if initials and 1 in (len(one), len(other)):
        return "compatible" if one[0] == other[0] else "different"
    if min(len(one), len(other)) >= _MIN_LETTERS and OSA.distance(one, other) <= 1:
        return "misspelt"
    return "different"


def read_birth_date(match: re.Match[str]) -> str | None:
    """The dates that a match of DATE may mean, as ISO dates (or a year) parted by `~`; None for no date of a calendar.

    `03/04/1970` is the third of April or the fourth of March, and stays both.
    """
    found = match.groupdict()
    if found["year"]:
        return str(found["year"])
    text = str(next(found[way] for way in ("iso", "numbers", "day_first", "month_first") if found[way])).lower()
    numbers = [int(n) for n in re.findall(r"\d+", text)]
    if found["iso"]:
        readings = [(numbers[0], numbers[1], numbers[2])]
    elif found["numbers"]:
        first, second, year = numbers
        readings = [(year, second, first)] if "." in text else [(year, second, first), (year, first, second)]
    else:
        month = _MONTHS[(found["month"] or found["month2"]).lower()]
        readings = [(numbers[-1], month, numbers[0])]
    dates = {value.isoformat() for reading in readings if (value := _date(*reading)) is not None}
    return "~".join(sorted(dates)) or None


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def same_date(one: str, other: str) -> bool:
    """Whether two birth dates, as read_birth_date gives them, can be one; a year alone goes with any day of it."""
    return any(a.startswith(b) or b.startswith(a) for a in one.split("~") for b in other.split("~"))
