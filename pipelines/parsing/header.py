"""Which row of a sheet or CSV file is the header."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pipelines.parsing.warning_list import WarningList

HEAD_ROWS = 100
"""Rows that are looked at before the header is fixed."""

_VALUE = re.compile(r"^[-+]?[\d.,]+%?$|^\d{4}-\d{2}-\d{2}|^(true|false)$", re.IGNORECASE)
_YEAR = re.compile(r"(19|20)\d\d$")


def find_header(rows: Sequence[Sequence[str]]) -> int:
    """Index of the header among the file's first rows: the first that is not empty and not a title.

    A title row has one cell where the table has more. It is skipped only when the row below it looks like a header
    (distinct cells, none of them a number, date or boolean), so that a header with one label is not lost.
    ValueError when no row has a cell.
    """
    filled = [[cell.strip() for cell in row if cell.strip()] for row in rows]
    first = next((i for i, cells in enumerate(filled) if cells), None)
    if first is None:
        raise ValueError("no row has a cell")
    if max(map(len, filled)) > 1:
        for index in range(first, len(filled)):
            cells = filled[index]
            if len(cells) > 1:
                return index if index == first or looks_like_header(cells, years=True) else first
    return first


def looks_like_header(cells: Sequence[str], *, years: bool = False) -> bool:
    """Whether these (not blank) cells can be labels: distinct, none of them a value; `years` may stand among texts."""
    values = [cell for cell in cells if is_value(cell)]
    fits = not values or (years and len(values) < len(cells) and all(map(_YEAR.match, values)))
    return fits and len(set(cells)) == len(cells)


def is_value(text: str) -> bool:
    """Whether a cell is a number, a date or a boolean, as labels seldom are."""
    return bool(_VALUE.match(text))


def skipped_titles(rows: Sequence[tuple[int, Sequence[str]]], warnings: WarningList, sheet: str | None = None) -> str:
    """The text of the (numbered) rows above the header, which names the table; each is told in a warning."""
    titles = []
    for number, cells in rows:
        if text := " ".join(" ".join(cells).split()):
            titles.append(text)
            message = f"Row {number:,} was read as a title and not as data: {text[:200]}"
            warnings.add("title_row", message, sheet=sheet, row=number)
    return " – ".join(titles)[:200]
