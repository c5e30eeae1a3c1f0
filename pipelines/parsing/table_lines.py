"""A table as lines of text in which each cell stands with its column's header, so that a row can be understood alone.

Drug | Form | Dose                                   the header, as it is
Drug: Metformin | Form: tablet | Dose: 500 mg        a row
"""

from __future__ import annotations

import re
from collections.abc import Sequence

ABOVE = "\0above"
"""A cell that a cell above it reaches down into (a merged cell, rowspan)."""
LEFT = "\0left"
"""A cell that the cell left of it reaches over (a merged cell, colspan)."""

Row = list[str] | str
"""Cells, or lines of text that stand between two rows (a table inside a cell)."""

_LONGEST_NAME = 60
_DIGITS = re.compile(r"\d")
_VALUE = re.compile(r"[\W\d_]*\d[\W\d_]*|\W+")
"""A number, a date, a percentage, or marks alone: no name of a column."""


def table_text(rows: Sequence[Row], header: int = 0, *, bold: bool = False) -> str:
    """Lines of the table; empty rows and white space inside cells go.

    header: how many rows at the top the file marks as header; with 0 the content is judged. bold: the first row is set
    apart by its looks, which counts as evidence. Without a header, cells are separated by ' | ' and nothing is added.
    """
    tidy = [row if isinstance(row, str) else [_flat(cell) for cell in row] for row in rows]
    tidy = [row for row in tidy if (row.strip() if isinstance(row, str) else any(_shown(cell) for cell in row))]
    cells = [row for row in tidy if not isinstance(row, str)]
    count = header if 0 < header < len(cells) else int(_first_is_header(cells, bold=bold))
    if header >= len(cells) or any(isinstance(row, str) for row in tidy[:count]):
        count = 0
    names = _names(cells[:count])
    lines, last = [], list[str]()
    for index, row in enumerate(tidy):
        if isinstance(row, str):
            lines.append(row)
            continue
        if index < count or not names:
            lines.append(" | ".join(_shown(cell) for cell in row).strip())
            continue
        last = _filled(row, last)
        lines.append(_named(last, names))
    return "\n".join(line for line in lines if line)


def _flat(cell: str) -> str:
    return cell if cell in (ABOVE, LEFT) else " ".join(cell.split())


def _shown(cell: str) -> str:
    return "" if cell in (ABOVE, LEFT) else cell


def _filled(row: list[str], last: list[str]) -> list[str]:
    """A merged cell belongs to each row that it reaches into."""
    return [(last[i] if i < len(last) else "") if cell == ABOVE else _shown(cell) for i, cell in enumerate(row)]


def _named(cells: list[str], names: list[str]) -> str:
    parts = []
    for i, cell in enumerate(cells):
        name = names[i] if i < len(names) else ""
        if cell:
            parts.append(f"{name}: {cell}" if name and name.rstrip(":") != cell else cell)
    return " | ".join(parts)


def _names(header: list[list[str]]) -> list[str]:
    """The name of each column: of several header rows what stands above it, a group's name before its columns'."""
    width = max((len(row) for row in header), default=0)
    columns: list[list[str]] = [[] for _ in range(width)]
    for row in header:
        group = ""
        for i, cell in enumerate(row):
            if cell not in (LEFT, ABOVE):
                group = cell
            elif cell == ABOVE:
                continue
            if group and group not in columns[i]:
                columns[i].append(group)
    return [" ".join(parts).rstrip(" :") for parts in columns]


def _first_is_header(rows: list[list[str]], *, bold: bool) -> bool:
    """Whether the first row names the columns: short, distinct names over something that looks different.

    Forms put names and values side by side, so two columns are only believed where looks or values say so.
    """
    if len(rows) < 2 or len(rows[0]) < 2:
        return False
    first = [cell for cell in rows[0] if cell != LEFT]
    names = [cell for cell in first if cell]
    if len(names) < 2 or len(names) < len(first) - 1 or (not first[0] and len(first) == 2):
        return False
    if len(set(names)) < len(names) or any(not _is_name(name) for name in names):
        return False
    if bold:
        return True
    below = [row for row in rows[1:] if len(row) >= len(rows[0]) - 1]
    columns = [[row[i] for row in below if i < len(row)] for i in range(len(first))]
    if len(first) == 2:
        return len(below) >= 3 and all(value[:1].isdigit() for value in columns[1]) and not _DIGITS.search(first[1])
    if any(name.endswith(":") for name in names):
        return False
    return len(below) >= 2 or any(map(_differs, first[1:], columns[1:]))


def _is_name(cell: str) -> bool:
    return len(cell) <= _LONGEST_NAME and not _VALUE.fullmatch(cell) and not cell.endswith((".", "!", "?", ";"))


def _differs(name: str, values: list[str]) -> bool:
    """Digits in most of the values, and none in the name."""
    shown = [value for value in map(_shown, values) if value]
    with_digits = sum(bool(_DIGITS.search(value)) for value in shown)
    return bool(shown) and not _DIGITS.search(name) and with_digits * 2 > len(shown)
