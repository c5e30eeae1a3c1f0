"""The type of a column, by the evidence of all its values.

Every kind of value (a number, an ISO date, …) stays a candidate while each value seen so far fits it. Nothing is
guessed: where two readings are left (03/04/2024; 1,234), the column stays text, unless the file's other columns settle
it.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from foundation.types import ColumnType
from pipelines.parsing.date_formats import FormattedDates
from pipelines.parsing.value_kinds import (
    INTEGER,
    Booleans,
    IsoDates,
    IsoTimestamps,
    Kind,
    Numbers,
    NumberStyle,
    Texts,
    all_match,
)

_FIRST_LOOK = 64
"""Values on which most candidates fail, so that a text column costs next to nothing."""


@dataclass(frozen=True, slots=True)
class Typed:
    """A column's type and the way from its text to it: `kind.convert` maps a string array to an array of `arrow`."""

    type: ColumnType
    kind: Kind
    arrow: pa.DataType
    precision: int | None = None
    scale: int | None = None


class ColumnEvidence:
    """Feed every batch of one column to `observe`, as an array of strings; nulls and empty text count as no value."""

    def __init__(self) -> None:
        self.values = 0
        self.numbers = {style: Numbers(style) for style in NumberStyle}
        self._days, self._moments = IsoDates(), IsoTimestamps(False)
        self._others: list[Kind] = [Booleans(), self._days, self._moments, IsoTimestamps(True), FormattedDates()]

    def observe(self, values: pa.Array) -> None:
        values = values.drop_null()
        self.values += len(values)
        alive = [kind for kind in (*self.numbers.values(), *self._others) if kind.alive]
        if not alive or not len(values):
            return
        values = pc.utf8_trim_whitespace(values)
        self._observe_part(values[:_FIRST_LOOK], alive)
        alive = [kind for kind in alive if kind.alive]
        if alive and len(values) > _FIRST_LOOK:
            # What a kind makes of a value does not depend on how often it comes.
            self._observe_part(pc.unique(values[_FIRST_LOOK:]), alive)

    def _observe_part(self, values: pa.Array, kinds: list[Kind]) -> None:
        integers = any(n.alive for n in self.numbers.values()) and all_match(values, INTEGER)
        for kind in kinds:
            if not kind.alive or (kind is self._moments and self._days.alive):
                continue  # a day is a moment too, so there is nothing to look at
            if not isinstance(kind, Numbers):
                kind.observe(values)
            elif integers:
                kind.observe_integers(values)
            elif kind.style is NumberStyle.GROUPED and self.numbers[NumberStyle.PLAIN].reads_alone(values):
                kind.observe_ungrouped(values, self.numbers[NumberStyle.PLAIN])
            else:
                kind.observe(values)

    def decide(self, *, decimal_comma: bool, comma_groups: bool) -> Typed:
        """The column's type. The two flags say what other columns of the same file have proved about its commas."""
        if self.values:
            for kind in (*self._others, self._number(decimal_comma, comma_groups)):
                if kind is not None and kind.alive and (found := kind.type()) is not None:
                    return Typed(found.name, kind, found.arrow, found.precision, found.scale)
        return Typed("text", Texts(), pa.string())

    def _number(self, decimal_comma: bool, comma_groups: bool) -> Kind | None:
        point, comma, groups = (self.numbers[s] for s in (NumberStyle.PLAIN, NumberStyle.COMMA, NumberStyle.GROUPED))
        if comma.alive and (comma.proved or (decimal_comma and not comma_groups and comma.has_marks)):
            return comma
        if point.alive:
            return point
        return groups if groups.alive and (groups.proved or (comma_groups and not decimal_comma)) else None


def decide_all(columns: list[ColumnEvidence]) -> list[Typed]:
    """Types of all columns of one table, which share what is known about its decimal mark."""
    decimal_comma = any(c.numbers[NumberStyle.COMMA].alive and c.numbers[NumberStyle.COMMA].proved for c in columns)
    comma_groups = any(c.numbers[NumberStyle.GROUPED].alive and c.numbers[NumberStyle.GROUPED].proved for c in columns)
    return [column.decide(decimal_comma=decimal_comma, comma_groups=comma_groups) for column in columns]
