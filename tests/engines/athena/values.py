"""Trino's values as Athena prints them, and its columns as Athena describes them."""

from __future__ import annotations

import base64
from decimal import Decimal
from typing import Any

_PRECISION = {
    "bigint": 19,
    "integer": 10,
    "smallint": 5,
    "tinyint": 3,
    "double": 17,
    "real": 17,
    "timestamp": 3,
    "timestamp with time zone": 3,
    "time": 3,
    "varbinary": 1_073_741_824,
}
_UNBOUNDED = 2_147_483_647


def texts(columns: list[dict[str, Any]], rows: list[list[Any]]) -> list[list[str | None]]:
    signatures = [column["typeSignature"] for column in columns]
    return [[text(value, kind) for value, kind in zip(row, signatures, strict=True)] for row in rows]


def text(value: Any, signature: dict[str, Any]) -> str | None:
    """None for null."""
    if value is None:
        return None
    kind, arguments = signature["rawType"], [argument["value"] for argument in signature.get("arguments", [])]
    if kind == "boolean":
        return "true" if value else "false"
    if kind in ("double", "real"):
        return _double(value)
    if kind == "varbinary":
        return base64.b64decode(value).hex(" ")
    if kind == "array":
        return f"[{', '.join(_inner(item, arguments[0]) for item in value)}]"
    if kind == "map":
        return "{" + ", ".join(f"{key}={_inner(item, arguments[1])}" for key, item in value.items()) + "}"
    if kind == "row":
        fields = [
            f"{(about.get('fieldName') or {}).get('name') or f'field{place}'}={_inner(item, about['typeSignature'])}"
            for place, (item, about) in enumerate(zip(value, arguments, strict=True))
        ]
        return "{" + ", ".join(fields) + "}"
    return str(value)


def _inner(value: Any, signature: dict[str, Any]) -> str:
    found = text(value, signature)
    return "null" if found is None else found


def _double(value: Any) -> str:
    """As Java writes it: 1.0E7."""
    if isinstance(value, str):
        return value  # NaN, Infinity, -Infinity
    number = Decimal(repr(float(value)))
    if number == 0 or Decimal("1e-3") <= abs(number) < Decimal("1e7"):
        plain = format(number, "f")
        return plain if "." in plain else f"{plain}.0"
    sign, digits, exponent = number.normalize().as_tuple()
    assert isinstance(exponent, int)
    rest = "".join(map(str, digits[1:])) or "0"
    return f"{'-' if sign else ''}{digits[0]}.{rest}E{len(digits) - 1 + exponent}"


def column_info(column: dict[str, Any]) -> dict[str, Any]:
    """A ColumnInfo of GetQueryResults."""
    signature = column["typeSignature"]
    kind = signature["rawType"]
    numbers = [argument["value"] for argument in signature.get("arguments", []) if argument["kind"] == "LONG"]
    precision, scale = _PRECISION.get(kind, 0), 0
    if kind in ("varchar", "char"):
        precision = numbers[0] if numbers else _UNBOUNDED
    elif kind == "decimal":
        precision, scale = numbers
    return {
        "CatalogName": "hive",
        "SchemaName": "",
        "TableName": "",
        "Name": column["name"],
        "Label": column["name"],
        "Type": "float" if kind == "real" else kind,
        "Precision": precision,
        "Scale": scale,
        "Nullable": "UNKNOWN",
        "CaseSensitive": kind in ("varchar", "char"),
    }
