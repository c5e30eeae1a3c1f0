"""Dates in national formats, read only when all values of a column leave one reading."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

from pipelines.parsing.value_kinds import Found, all_match


@dataclass(frozen=True, slots=True)
class DateFormat:
    """`reading` names how the parts are ordered, `family` the formats that look alike: two readings are ambiguous."""

    family: str
    reading: str
    day: str
    time: str

    @property
    def pattern(self) -> str:
        return f"{self.day}{self.time}"


_TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
_DAYS = (
    *(("numeric", "day first", f"%d{mark}%m{mark}%Y") for mark in "/.-"),
    *(("numeric", "month first", f"%m{mark}%d{mark}%Y") for mark in "/.-"),
    *(("year first", "year first", f"%Y{mark}%m{mark}%d") for mark in "/."),
    *(("month name", "named", day) for day in ("%d-%b-%Y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y")),
)
_FORMATS = tuple(DateFormat(family, reading, day, time) for family, reading, day in _DAYS for time in _TIMES)
_SHAPE = (
    r"^([0-9]{1,2}[/.-][0-9]{1,2}[/.-][0-9]{4}|[0-9]{4}[/.][0-9]{1,2}[/.][0-9]{1,2}"
    r"|[0-9]{1,2}[ -][A-Za-z]{3,9}[ -][0-9]{4}|[A-Za-z]{3,9} [0-9]{1,2}, [0-9]{4})"
    r"( [0-9]{1,2}:[0-9]{2}(:[0-9]{2})?( [AaPp][Mm])?)?$"
)


class FormattedDates:
    """Day/month/year and its relatives, with or without a time of day; years have four digits."""

    def __init__(self) -> None:
        self.alive = True
        self._formats = list(_FORMATS)

    def observe(self, values: pa.Array) -> None:
        if not all_match(values, _SHAPE):
            self.alive = False
            return
        distinct = pc.unique(values).to_pylist()
        self._formats = [f for f in self._formats if all(_parse(value, f.pattern) is not None for value in distinct)]
        self.alive = bool(self._formats)

    def type(self) -> Found | None:
        readings: dict[str, set[str]] = defaultdict(set)
        for each in self._formats:
            readings[each.family].add(each.reading)
        if any(len(found) > 1 for found in readings.values()):
            return None
        return Found("timestamp", pa.timestamp("us")) if self._formats[0].time else Found("date", pa.date32())

    def convert(self, values: pa.Array) -> pa.Array:
        encoded = pc.dictionary_encode(pc.utf8_trim_whitespace(values))
        pattern = self._formats[0].pattern
        parsed = pa.array([_parse(value, pattern) for value in encoded.dictionary.to_pylist()], pa.timestamp("us"))
        typed = parsed if self._formats[0].time else pc.cast(parsed, pa.date32())
        return typed.take(encoded.indices)


def _parse(value: str, pattern: str) -> datetime | None:
    try:
        return datetime.strptime(value, pattern)  # noqa: DTZ007 - the file states no zone, and none is added
    except ValueError:
        return None
