"""Kinds of value that a column can hold: each tells from a column's text whether it fits, and converts it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from foundation.types import ColumnType

MAX_DIGITS, MAX_SCALE = 18, 4
"""A decimal holds at most 18 digits, 4 of them behind the point: Postgres, DuckDB and Athena then sum it exactly."""
EXACT = 2**53
"""Whole numbers above it change when a browser or a spreadsheet reads them: they are identifiers, so text."""


@dataclass(frozen=True, slots=True)
class Found:
    name: ColumnType
    arrow: pa.DataType
    precision: int | None = None
    scale: int | None = None


class Kind(Protocol):
    alive: bool

    def observe(self, values: pa.Array) -> None:
        """Trimmed, non-null strings; sets `alive` to False at the first that does not fit."""

    def type(self) -> Found | None:
        """The type that all observed values fit; None when they leave two readings."""

    def convert(self, values: pa.Array) -> pa.Array:
        """Strings as observed, with nulls, to the Arrow type of `type()`."""


def all_match(values: pa.Array, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(values, pattern)).as_py())


def any_match(values: pa.Array, pattern: str) -> bool:
    return bool(pc.any(pc.match_substring_regex(values, pattern)).as_py())


class Texts:
    alive = True

    def observe(self, values: pa.Array) -> None:
        pass

    def type(self) -> Found:
        return Found("text", pa.string())

    def convert(self, values: pa.Array) -> pa.Array:
        return values


class Booleans:
    """The words true and false only: yes, no, 0, 1, Y, N mean other things too often."""

    def __init__(self) -> None:
        self.alive = True

    def observe(self, values: pa.Array) -> None:
        self.alive = all_match(values, r"^(?i:true|false)$")

    def type(self) -> Found:
        return Found("boolean", pa.bool_())

    def convert(self, values: pa.Array) -> pa.Array:
        return pc.equal(pc.ascii_lower(pc.utf8_trim_whitespace(values)), "true")


class IsoDates:
    def __init__(self) -> None:
        self.alive = True

    def observe(self, values: pa.Array) -> None:
        self.alive = all_match(values, r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$") and _converts(self, values)

    def type(self) -> Found:
        return Found("date", pa.date32())

    def convert(self, values: pa.Array) -> pa.Array:
        return pc.cast(pc.utf8_trim_whitespace(values), pa.date32())


class IsoTimestamps:
    """ISO 8601, also with a space for the T. With an offset they become UTC; without, they stay as written.

    A column that mixes both fits neither. Fractions beyond microseconds are cut.
    """

    _DAY = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}"
    _TIME = r"[Tt ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.,][0-9]{1,9})?)?"

    _ODD = r"[,a-z]| U|\.[0-9]{7}"
    """What Arrow does not read as it stands: a comma, a small letter, UTC; more digits than microseconds have."""

    def __init__(self, with_offset: bool) -> None:
        self.alive = True
        self._odd = False
        self._zone = pa.timestamp("us", "UTC" if with_offset else None)
        offset = r"([Zz]| UTC|[+-][0-9]{2}(:?[0-9]{2})?)$"
        self._pattern = self._DAY + self._TIME + offset if with_offset else f"{self._DAY}({self._TIME})?$"

    def observe(self, values: pa.Array) -> None:
        self.alive = all_match(values, self._pattern)
        if self.alive:
            self._odd = self._odd or any_match(values, self._ODD)
            self.alive = _converts(self, values)

    def type(self) -> Found:
        return Found("timestamp", pa.timestamp("us"))

    def convert(self, values: pa.Array) -> pa.Array:
        values = pc.utf8_trim_whitespace(values)
        if not self._odd:
            return pc.cast(pc.cast(values, self._zone), pa.timestamp("us"))
        values = pc.ascii_upper(values)
        values = pc.replace_substring(pc.replace_substring(values, " UTC", "Z"), ",", ".")
        values = pc.replace_substring_regex(values, r"(\.[0-9]{6})[0-9]+", r"\1")
        return pc.cast(pc.cast(values, self._zone), pa.timestamp("us"))


class NumberStyle(Enum):
    PLAIN = "1234.5"
    GROUPED = "1,234.5"
    COMMA = "1.234,5"


_NUMBERS = {
    NumberStyle.PLAIN: r"^-?((0|[1-9][0-9]*)(\.[0-9]+)?|\.[0-9]+)$",
    NumberStyle.GROUPED: r"^-?(0|[1-9][0-9]{0,2}(,[0-9]{3})*)(\.[0-9]+)?$",
    NumberStyle.COMMA: r"^-?(0|[1-9][0-9]*|[1-9][0-9]{0,2}(\.[0-9]{3})+)(,[0-9]+)?$",
}
INTEGER = r"^-?(0|[1-9][0-9]*)$"
_WITH_EXPONENT = r"^-?((0|[1-9][0-9]*)?\.[0-9]+[eE][+-]?|(0|[1-9][0-9]*)[eE][+-])[0-9]{1,3}$"
_PROOFS = {
    NumberStyle.GROUPED: r",[0-9]{3}[,.]",
    NumberStyle.COMMA: r"\..*,|^-?0,|,([0-9]{1,2}|[0-9]{4,})$",
}
# Whoever writes 1,234 for a fraction writes 12,500 too; 12 beside 1,234 (and nothing like 1234) shows groups.
_UNGROUPED = r"^-?[1-9][0-9]{0,2}(\.[0-9]+)?$"


class Numbers:
    """Numbers in one style. Leading zeros, a plus sign and an exponent as in `1E90` are marks of identifiers.

    `proved`: some value can be read in this style only. `has_marks`: some value has a point or a comma.
    """

    def __init__(self, style: NumberStyle) -> None:
        self.style = style
        self.alive = True
        self.has_marks = False
        self._certain = False
        self._has_comma = self._has_ungrouped = False
        self._exponent = False
        self._digits = self._scale = 0

    @property
    def proved(self) -> bool:
        grouped = self.style is NumberStyle.GROUPED and self._has_comma and self._has_ungrouped
        return self.style is NumberStyle.PLAIN or self._certain or grouped

    def observe(self, values: pa.Array) -> None:
        plain = pc.match_substring_regex(values, _NUMBERS[self.style])
        if not pc.all(plain).as_py():
            with_exponent = values.filter(pc.invert(plain))
            self.alive = self.style is NumberStyle.PLAIN and all_match(with_exponent, _WITH_EXPONENT)
            if not self.alive:
                return
            self._exponent = True
            if not _finite(with_exponent):
                self.alive = False
                return
            values = values.filter(plain)
        self._gather_proof(values)
        self._measure(self._pointed(values))

    def reads_alone(self, values: pa.Array) -> bool:
        """Whether this plain style has read these values, and no comma and no exponent is in them."""
        return self.alive and not self._exponent and not pc.any(pc.match_substring(values, ",")).as_py()

    def observe_ungrouped(self, values: pa.Array, plain: Numbers) -> None:
        """What `observe` of the grouped style does, for values that `plain` reads alone: far cheaper to tell."""
        self.alive = not any_match(values, r"^-?[0-9]{4}")
        self._has_ungrouped = self._has_ungrouped or any_match(values, _UNGROUPED)
        self.has_marks = self.has_marks or plain.has_point
        self._digits, self._scale = max(self._digits, plain._digits), max(self._scale, plain._scale)

    @property
    def has_point(self) -> bool:
        return self._scale > 0

    def observe_integers(self, values: pa.Array) -> None:
        """What `observe` does, for values that match INTEGER: every style reads those, but groups want their commas."""
        if self.style is NumberStyle.GROUPED:
            self.observe(values)
        elif pc.max(pc.binary_length(values)).as_py() > self._digits:
            self._measure(values)

    def _gather_proof(self, values: pa.Array) -> None:
        if self.style is NumberStyle.PLAIN:
            return
        self._certain = self._certain or any_match(values, _PROOFS[self.style])
        self._has_comma = self._has_comma or any_match(values, ",")
        self._has_ungrouped = self._has_ungrouped or any_match(values, _UNGROUPED)
        self.has_marks = self.has_marks or any_match(values, "[.,]")

    def _measure(self, values: pa.Array) -> None:
        if not len(values):
            return
        length = pc.subtract(pc.binary_length(values), pc.cast(pc.starts_with(values, "-"), pa.int32()))
        point = pc.find_substring(values, ".")
        places = pc.if_else(pc.less(point, 0), 0, pc.subtract(pc.subtract(pc.binary_length(values), point), 1))
        whole = pc.subtract(length, pc.if_else(pc.less(point, 0), 0, pc.add(places, 1)))
        digits, scale = pc.max(whole).as_py(), pc.max(places).as_py()
        if digits >= 16:
            largest = values.filter(pc.greater_equal(whole, 16))
            self.alive = all(abs(int(v.split(".")[0])) <= EXACT for v in largest.to_pylist())
        self._digits, self._scale = max(self._digits, digits), max(self._scale, scale)

    def type(self) -> Found:
        if self._exponent or self._scale > MAX_SCALE or self._digits + self._scale > MAX_DIGITS:
            return Found("double", pa.float64())
        if self._scale:
            # Arrow counts the zero before the point, also where the file leaves it out.
            precision = max(self._digits, 1) + self._scale
            return Found("decimal", pa.decimal128(precision, self._scale), precision, self._scale)
        return Found("bigint", pa.int64())

    def convert(self, values: pa.Array) -> pa.Array:
        return pc.cast(self._pointed(pc.utf8_trim_whitespace(values)), self.type().arrow)

    def _pointed(self, values: pa.Array) -> pa.Array:
        if self.style is NumberStyle.GROUPED:
            return pc.replace_substring(values, ",", "")
        if self.style is NumberStyle.COMMA:
            return pc.replace_substring(pc.replace_substring(values, ".", ""), ",", ".")
        return values


def _converts(kind: Kind, values: pa.Array) -> bool:
    try:
        kind.convert(values)
    except pa.ArrowInvalid:
        return False
    return True


def _finite(values: pa.Array) -> bool:
    return bool(pc.all(pc.is_finite(pc.cast(values, pa.float64()))).as_py())
