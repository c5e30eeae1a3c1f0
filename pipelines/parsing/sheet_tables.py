"""The tables of one sheet of a workbook."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time, timedelta
from itertools import chain, islice
from pathlib import Path
from typing import Any

import python_calamine as calamine

from foundation.types import ParsedTable
from pipelines.parsing.header import HEAD_ROWS, find_header, skipped_titles
from pipelines.parsing.sheet_blocks import Block, find_blocks
from pipelines.parsing.sheet_header import Merge, Numbered, header_labels
from pipelines.parsing.tables import TableBuilder
from pipelines.parsing.value_kinds import EXACT
from pipelines.parsing.warning_list import WarningList
from pipelines.parsing.xlsx_cells import Codes

NOTES = "Notes"
_KEPT_CELLS = 500_000
"""A sheet of up to so many cells is turned into texts once; a larger one each time, since the texts take memory."""
_ERROR = re.compile(r"#(DIV/0!|N/A|NAME\?|NULL!|NUM!|REF!|VALUE!|GETTING_DATA|SPILL!|CALC!)|Err:\d{3}")


class Sheet:
    """Rows of texts as a CSV file would have them, so that both have one set of rules for types."""

    def __init__(self, cells: calamine.CalamineSheet, *, typed_errors: bool, codes: Codes | None = None) -> None:
        """`typed_errors`: the format keeps errors apart from texts, and who reads the cells has left them out. `codes`:
        the numbers that are read as the workbook shows them, with their leading zeros."""
        self._cells = cells
        self._typed_errors = typed_errors
        self._codes = codes
        self.name: str = cells.name
        self._left = cells.start[1] if cells.start else 0
        small = cells.total_height * cells.total_width <= _KEPT_CELLS
        self._kept = list(self._read()) if small else None

    def rows(self) -> Iterator[list[str]]:
        """From the sheet's first row, whatever is in it."""
        return self._read() if self._kept is None else iter(self._kept)

    def _read(self) -> Iterator[list[str]]:
        for number, row in enumerate(self._cells.iter_rows()):
            texts = [self._text(cell) for cell in row]
            if self._codes is not None:
                self._show_codes(self._codes, number, row, texts)
            yield texts

    def _show_codes(self, codes: Codes, number: int, row: Sequence[Any], texts: list[str]) -> None:
        for column in codes.columns:
            place = column - self._left
            if not 0 <= place < len(row) or not isinstance(row[place], float | int) or isinstance(row[place], bool):
                continue
            code = codes.format_of(number, column)
            texts[place] = (code and code.shown(row[place])) or texts[place]

    def merges(self) -> list[Merge] | None:
        """Merged cells, in the columns of `rows`; None where the format does not tell."""
        found = self._cells.merged_cell_ranges
        if found is None:
            return None
        return [((r0, c0 - self._left), (r1, c1 - self._left)) for (r0, c0), (r1, c1) in found]

    def check(self, warnings: WarningList) -> None:
        """Tell of cells whose value is not what the workbook showed."""
        for number, row in enumerate(self._cells.iter_rows(), start=1):
            for column, cell in enumerate(row):
                if isinstance(cell, float) and cell.is_integer() and abs(cell) >= EXACT:
                    message = (
                        f"Row {number:,} has a number of more than 15 digits; the file does not hold its last digits "
                        "exactly."
                    )
                    warnings.add("inexact_number", message, sheet=self.name, row=number)
                elif isinstance(cell, str) and self._is_error(cell):
                    where = f"{_letters(column + self._left)}{number}"
                    message = f"Cell {where} holds {cell}; it was read as empty."
                    warnings.add("error_cell", message, sheet=self.name, row=number)

    def _is_error(self, cell: str) -> bool:
        return not self._typed_errors and _ERROR.fullmatch(cell) is not None

    def _text(self, cell: Any) -> str:
        if isinstance(cell, str):
            return "" if self._is_error(cell) else cell
        if isinstance(cell, bool):
            return "true" if cell else "false"
        if isinstance(cell, float) and cell.is_integer():
            return str(int(cell))
        if isinstance(cell, datetime):
            return cell.isoformat(" ")
        if isinstance(cell, timedelta):
            return _duration(cell)
        return cell.isoformat() if isinstance(cell, date | time) else str(cell)


def read_sheet(sheet: Sheet, ordinal: int, source: str, out_folder: Path, warnings: WarningList) -> list[ParsedTable]:
    """Every block of cells as a table, numbered from `ordinal`. `source` names file and sheet in errors."""
    blocks = find_blocks(sheet.rows)
    if not blocks:
        return []
    if sum(not block.notes for block in blocks) > 1:
        message = f"Sheet '{sheet.name}' holds several tables; each is kept as a table of its own."
        warnings.add("several_tables", message, sheet=sheet.name)
    sheet.check(warnings)
    merges = sheet.merges()
    return [
        _read(sheet, block, merges, (out_folder, ordinal + place, source), warnings)
        for place, block in enumerate(blocks)
    ]


def _read(
    sheet: Sheet, block: Block, merges: Sequence[Merge] | None, target: tuple[Path, int, str], warnings: WarningList
) -> ParsedTable:
    folder, ordinal, source = target
    rows = _rows(sheet, block)
    if block.notes:
        notes = TableBuilder([NOTES], folder, ordinal, source)
        for _, texts in rows:
            notes.add([next(text for text in texts if text.strip())])
        return notes.finish(sheet=sheet.name, label=NOTES)
    head = list(islice(rows, HEAD_ROWS))
    index = find_header([texts for _, texts in head])
    title = skipped_titles([(number + 1, texts) for number, texts in head[:index]], warnings, sheet.name)
    labels, taken = header_labels(head[index:], _within(block, merges))
    table = TableBuilder(labels, folder, ordinal, source)
    for _, texts in chain(head[index + taken :], rows):
        table.add(texts)
    return table.finish(sheet=sheet.name, label=title or sheet.name)


def _rows(sheet: Sheet, block: Block) -> Iterator[Numbered]:
    """(row from 0, its texts in the block's columns) of rows that have a value there."""
    for number, texts in enumerate(islice(sheet.rows(), block.bottom + 1)):
        if number >= block.top:
            inside = texts[block.left : block.right + 1]
            if any(text and not text.isspace() for text in inside):
                yield number, inside


def _within(block: Block, merges: Sequence[Merge] | None) -> list[Merge] | None:
    if merges is None:
        return None
    return [((r0, c0 - block.left), (r1, c1 - block.left)) for (r0, c0), (r1, c1) in merges]


def _duration(value: timedelta) -> str:
    """Hours beyond a day as Excel's [h]:mm:ss shows them."""
    sign, seconds = ("-", -value.total_seconds()) if value < timedelta() else ("", value.total_seconds())
    return f"{sign}{int(seconds // 3600):02d}:{int(seconds // 60) % 60:02d}:{int(seconds) % 60:02d}"


def _letters(column: int) -> str:
    letters = ""
    while column >= 0:
        letters = chr(ord("A") + column % 26) + letters
        column = column // 26 - 1
    return letters
