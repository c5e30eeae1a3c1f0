"""Rows of tables inside documents: which header a row stands under, and the cells that a question asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from query_service.reasoning.answer_kinds import Asked, cell_fits, is_strict

_BAR = "|"
_LONGEST_NAME = 60  # characters of a column's name
_RULE = frozenset("|:-+= \t")


@dataclass(frozen=True, slots=True)
class Row:
    """A row, the header that names its columns, and all rows of the passage under that header."""

    header: tuple[str, ...]
    cells: tuple[str, ...]
    rows: list[tuple[str, ...]]

    def named(self, columns: Iterable[int]) -> str:
        """`Crew: 14`, for each of the columns."""
        return "; ".join(f"{self.header[i]}: {self.cells[i]}" for i in columns)

    def columns_of(self, kind: Asked | None) -> list[int]:
        """The columns behind the first whose cell here, or a third of whose cells, hold that kind of answer."""
        every = list(range(1, len(self.header)))
        held = {i: [cell_fits(kind, self.header[i], row[i]) for row in self.rows if row[i]] for i in every}
        own = {i for i in every if cell_fits(kind, self.header[i], self.cells[i])}
        found = [i for i in every if i in own or (held[i] and 3 * sum(held[i]) >= len(held[i]))]
        return found if found or is_strict(kind) else every

    def asked(self, kind: Asked | None, match: Callable[[str], float]) -> tuple[tuple[int, ...], bool]:
        """The filled columns that the question asks for, and whether their header says so.

        match(text): how well words of the question that the row does not hold fit these words of a header.
        """
        columns = self.columns_of(kind)
        scores = {i: match(self.header[i]) for i in columns}
        best = max(scores.values(), default=0.0)
        chosen = [i for i in columns if self._answers(i, kind, scores[i], best)]
        return tuple(chosen), best > 0

    def _answers(self, column: int, kind: Asked | None, score: float, best: float) -> bool:
        cell = self.cells[column]
        return bool(cell) and (score == best if best > 0 else cell_fits(kind, self.header[column], cell))


def cells_of(line: str) -> tuple[str, ...]:
    """The cells of a row as the parsers write it, ` | ` between them, or as Markdown has it; () for other text."""
    first = next((part for part in line.split("\n") if set(part) - _RULE), "").strip()
    if f" {_BAR} " not in f" {first} ":
        return ()
    outer = first.startswith(_BAR) and first.endswith(_BAR) and len(first) > 1
    return tuple(" ".join(cell.split()) for cell in (first[1:-1] if outer else first).split(_BAR))


class Table:
    """Reads the lines of one chunk in order; a row adjoins its header or another row, with as many cells."""

    def __init__(self, section: str | None) -> None:
        # The section of a chunk that starts inside a table ends with the table's header.
        self._header = cells_of((section or "").rpartition(" > ")[2])
        self._rows: list[tuple[str, ...]] = []

    def read(self, line: str, *, adjoins: bool) -> Row | None:
        """The row that the line is. adjoins: nothing but a line's end parts it from the line before."""
        cells = cells_of(line)
        if (named := _named_cells(cells)) is not None:
            return self._named_row(named)
        if adjoins and self._header and not set(line) - _RULE:
            return None  # the line under a header
        if not adjoins or len(cells) < 2 or len(cells) != len(self._header):
            self._header, self._rows = cells, []
            return None
        self._rows.append(cells)
        return Row(self._header, cells, self._rows)

    def _named_row(self, named: dict[str, str]) -> Row:
        """A row that says its columns itself; those of the header that it leaves out are empty."""
        if not named.keys() <= set(self._header):
            self._header, self._rows = tuple(named), []
        cells = tuple(named.get(name, "") for name in self._header)
        self._rows.append(cells)
        return Row(self._header, cells, self._rows)


def _named_cells(cells: tuple[str, ...]) -> dict[str, str] | None:
    """`Vessel: Gannet | Crew: 9` as column → cell; None for other rows."""
    parts = [cell.partition(": ") for cell in cells]
    if len(parts) < 2 or not all(name and value and len(name) <= _LONGEST_NAME for name, _, value in parts):
        return None
    return {name: value for name, _, value in parts}
