"""What a column holds: nulls, distinct values, range, frequent values; gathered batch by batch in bounded memory."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from foundation.types import Column

MAX_DISTINCT = 1_000
MAX_SAMPLES = 50
EXAMPLES = 5
"""Samples of a column with more than MAX_DISTINCT distinct values."""
MAX_TEXT = 200
"""Characters of a value that a profile shows; longer values are no samples, and a longer minimum or maximum is cut."""


class ColumnProfile:
    def __init__(self) -> None:
        self.nulls = 0
        self._counts: Counter[Any] | None = Counter()
        self._examples: list[Any] = []
        self._minimum: Any = None
        self._maximum: Any = None

    def observe(self, values: pa.Array) -> None:
        self.nulls += values.null_count
        values = values.drop_null()
        if not len(values):
            return
        ends = pc.min_max(values).as_py()
        self._minimum = ends["min"] if self._minimum is None else min(self._minimum, ends["min"])
        self._maximum = ends["max"] if self._maximum is None else max(self._maximum, ends["max"])
        if self._counts is not None:
            self._count(self._counts, values)

    def _count(self, counts: Counter[Any], values: pa.Array) -> None:
        found = pc.value_counts(values)
        if not self._examples:
            self._examples = [value for value in found.field("values")[: 4 * EXAMPLES].to_pylist() if _short(value)]
        if len(found) <= MAX_DISTINCT:
            counts.update(dict(zip(found.field("values").to_pylist(), found.field("counts").to_pylist(), strict=True)))
        if len(found) > MAX_DISTINCT or len(counts) > MAX_DISTINCT:
            self._counts = None

    @property
    def distinct(self) -> int | None:
        return None if self._counts is None else len(self._counts)

    @property
    def range(self) -> tuple[str | None, str | None]:
        return (
            None if self._minimum is None else as_text(self._minimum)[:MAX_TEXT],
            None if self._maximum is None else as_text(self._maximum)[:MAX_TEXT],
        )

    @property
    def samples(self) -> tuple[str, ...]:
        if self._counts is None:
            return tuple(as_text(value) for value in self._examples[:EXAMPLES])
        # Ties by text, so that the same file gives the same profile.
        frequent = sorted(self._counts.items(), key=lambda item: (-item[1], as_text(item[0])))
        return tuple(as_text(value) for value, _ in frequent if _short(value))[:MAX_SAMPLES]


def as_text(value: Any) -> str:
    """A value as SQL prints it: `true`, `2024-01-31 09:30:00`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat(" ") if isinstance(value, datetime) else str(value)


def profile_line(column: Column) -> str:
    """What the profile says, for a person: nulls, distinct values, range, the most frequent values."""
    distinct = f"over {MAX_DISTINCT:,}" if column.distinct is None else f"{column.distinct:,}"
    parts = [f"{column.nulls:,} nulls", f"{distinct} distinct"]
    if column.minimum is not None:
        parts.append(f"from {column.minimum[:40]} to {(column.maximum or '')[:40]}")
    if column.samples:
        parts.append("such as " + ", ".join(sample[:40] for sample in column.samples[:EXAMPLES]))
    return "; ".join(parts)


def _short(value: Any) -> bool:
    return not isinstance(value, str) or len(value) <= MAX_TEXT
