"""SQL names for tables and columns: lower snake case that needs no quotes in Postgres and DuckDB (Latin: Trino too)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence
from pathlib import PurePath

MAX_BYTES = 60
"""Postgres cuts identifiers at 63 bytes without an error; the rest is room for a caller's suffix."""

# Reserved in Postgres 18 (catcode R, T), DuckDB 2.0 (reserved, type_function) or Trino, and Postgres's system columns.
_RESERVED = """
all alter analyse analyze and anti any array as asc asof asymmetric at authorization between binary both by case cast
check collate collation column columns concurrently constraint create cross cube current_catalog current_date
current_path current_role current_schema current_time current_timestamp current_user deallocate default deferrable
delete desc describe distinct do drop else end escape except execute exists extract false fetch for foreign freeze
from full generated glob grant group grouping having ilike in initially inner insert intersect into is isnull join
json_array json_exists json_object json_query json_table json_value lambda lateral leading left like limit listagg
localtime localtimestamp map natural normalize not notnull null offset on only or order outer overlaps pivot
pivot_longer pivot_wider placing positional prepare primary qualify recursive references returning right rollup select
semi session_user show similar skip some struct summarize symmetric system_user table tablesample then to trailing
trim true try_cast tuple uescape union unique unnest unpack unpivot user using values variadic verbose when where
window with cmax cmin ctid oid tableoid xmax xmin
"""
RESERVED = frozenset(_RESERVED.split())

_LETTERS = str.maketrans(
    {"ß": "ss", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L"}
    | {"đ": "d", "Đ": "D", "ð": "d", "Ð": "D", "þ": "th", "Þ": "Th", "ı": "i"}
    | {"%": " percent ", "#": " number ", "&": " and "}
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z][a-z])|(?<=[a-z]{2})(?=[A-Z])")
_GAP = re.compile(r"[\W_]+")


def identifier(text: str, fallback: str) -> str:
    """`text` folded to an identifier of at most 60 bytes; `fallback` when no letter or digit is left.

    Latin letters lose their accents; letters of other scripts stay (both engines take them unquoted).
    """
    decomposed = unicodedata.normalize("NFKD", text).translate(_LETTERS)
    kept: list[str] = []
    for char in decomposed:
        if unicodedata.combining(char) and kept and kept[-1].isascii():
            continue
        kept.append(char)
    plain = unicodedata.normalize("NFC", "".join(kept))
    name = _GAP.sub("_", _CAMEL.sub("_", plain)).strip("_").lower()
    if not name:
        return fallback
    if name[0].isdigit():
        name = f"c_{name}"
    name = _cut(name, MAX_BYTES)
    return f"{name}_" if name in RESERVED else name


def column_names(labels: Sequence[str | None]) -> list[str]:
    """One distinct identifier a label, in order; an empty label becomes `column_N`, N its place from 1."""
    taken: set[str] = set()
    names: list[str] = []
    for place, label in enumerate(labels, start=1):
        name = _free(identifier(label or "", f"column_{place}"), taken)
        taken.add(name)
        names.append(name)
    return names


def table_name(
    file_name: str, sheet: str | None, sheets: int, taken: Collection[str] = (), part: str | None = None
) -> str:
    """The file's stem, then the sheet's name when the file has several, then `part`; not one of `taken`."""
    parts = [PurePath(file_name).stem, sheet if sheets > 1 else None, part]
    return _free(identifier("_".join(p for p in parts if p), "table_1"), taken)


def _free(name: str, taken: Collection[str]) -> str:
    candidate, number = name, 1
    while candidate in taken:
        number += 1
        suffix = f"_{number}"
        candidate = f"{_cut(name.rstrip('_'), MAX_BYTES - len(suffix))}{suffix}"
    return candidate


def _cut(name: str, size: int) -> str:
    return name.encode()[:size].decode(errors="ignore").rstrip("_")
