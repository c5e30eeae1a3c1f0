"""Athena's texts as Python values."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo


def reader(kind: str) -> Callable[[str], Any]:
    """How a column of this type (ColumnInfo.Type) is read; what Python has no type for stays text."""
    return _READERS.get(kind, str)


def _or_text(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """A date before year 1 or after 9999 is none in Python."""

    def value(text: str) -> Any:
        try:
            return read(text)
        except ValueError:
            return text

    return value


def _zoned(text: str) -> datetime:
    """`2026-01-01 00:00:00.000 Europe/Prague`, or with an offset such as +02:00 for the zone."""
    moment, _, zone = text.rpartition(" ")
    if zone[:1] in "+-":
        return datetime.fromisoformat(f"{moment}{zone}")
    return datetime.fromisoformat(moment).replace(tzinfo=UTC if zone == "UTC" else ZoneInfo(zone))


_READERS: dict[str, Callable[[str], Any]] = {
    "boolean": lambda text: text == "true",
    "tinyint": int,
    "smallint": int,
    "integer": int,
    "bigint": int,
    "float": float,
    "real": float,
    "double": float,
    "decimal": Decimal,
    "date": _or_text(date.fromisoformat),
    "time": _or_text(time.fromisoformat),
    "timestamp": _or_text(datetime.fromisoformat),
    "timestamp with time zone": _or_text(_zoned),
    "varbinary": bytes.fromhex,
}
