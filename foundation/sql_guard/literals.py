"""Values as literals of Athena, whose parameters are texts that it reads as SQL."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from sqlglot import exp

_DIGITS = 38


def literal(value: Any) -> str:
    """A string, number, truth value, date, time stamp or None, with its type."""
    if isinstance(value, float):
        return exp.cast(exp.Literal.string(repr(value)), "double").sql("trino")
    if isinstance(value, Decimal):
        exponent = value.as_tuple().exponent
        scale = min(max(0, -exponent), _DIGITS) if isinstance(exponent, int) else 0
        return exp.cast(exp.Literal.string(format(value, "f")), f"decimal({_DIGITS}, {scale})").sql("trino")
    return exp.convert(value).sql("trino")
