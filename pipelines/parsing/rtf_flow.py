"""One flow of text of an RTF file (its body, a note, a text box): its paragraphs and tables."""

from __future__ import annotations

from dataclasses import dataclass, field

from pipelines.parsing.assembly import Kind, clean
from pipelines.parsing.table_lines import ABOVE, LEFT, Row, table_text

Piece = tuple[Kind, str, int | None]
_MOST_COLUMNS = 200


@dataclass(slots=True)
class _Table:
    rows: list[Row] = field(default_factory=list)
    cells: list[str] = field(default_factory=list)
    nested: list[str] = field(default_factory=list)
    """Lines of the tables inside the row that is being read."""
    header: int = 0

    def text(self) -> str:
        return table_text(self.rows, self.header)


@dataclass(slots=True)
class Flow:
    """Collects pieces; `in_table`, `level` and `is_item` describe the paragraph that is being read."""

    pieces: list[Piece] = field(default_factory=list)
    in_table: bool = False
    level: int | None = None
    is_item: bool = False
    header_row: bool = False
    merges: list[str] = field(default_factory=list)
    """A mark for each cell of the row's definition: ABOVE, LEFT or nothing."""
    _mark: str = ""
    _buffer: list[str] = field(default_factory=list)
    _boxes: list[Piece] = field(default_factory=list)
    _cell: list[str] = field(default_factory=list)
    _table: _Table = field(default_factory=_Table)
    _inner: _Table = field(default_factory=_Table)

    def write(self, text: str) -> None:
        self._buffer.append(text)

    def add_box(self, pieces: list[Piece]) -> None:
        """A text box stands after the paragraph that it is anchored in."""
        self._boxes += pieces

    def end_paragraph(self) -> None:
        text = self._take()
        if self.in_table:
            self._cell.append(text)
            return
        self._end_table()
        if text:
            kind: Kind = "list_item" if self.is_item else "paragraph"
            text = _labelled(text) if self.is_item else text
            self.pieces.append(("title", " ".join(text.split()), self.level) if self.level else (kind, text, None))
        self.pieces += self._boxes
        self._boxes = []
        self.is_item = False

    def end_cell(self, *, inner: bool = False) -> None:
        table = self._inner if inner else self._table
        self._cell.append(self._take())
        if len(table.cells) < _MOST_COLUMNS:
            table.cells.append(" ".join(part for part in self._cell if part))
        self._cell = []
        if not inner and self._inner.rows:
            self._table.nested.append(self._inner.text())
            self._inner = _Table()

    def end_row(self, *, inner: bool = False) -> None:
        table = self._inner if inner else self._table
        marks = self.merges if len(self.merges) == len(table.cells) else []
        row = (
            [mark if mark and not cell else cell for cell, mark in zip(table.cells, marks, strict=True)]
            if marks
            else table.cells
        )
        if self.header_row and table.header == len(table.rows):
            table.header += 1
        table.rows += [row, *table.nested]
        table.cells, table.nested = [], []

    def merge(self, mark: str) -> None:
        """The cell that is being defined belongs to the one above or left of it."""
        self._mark = mark

    def end_definition(self) -> None:
        self.merges.append(self._mark)
        self._mark = ""

    def start_row(self) -> None:
        self.merges, self.header_row = [], False

    def finish(self) -> list[Piece]:
        """All that was read; a paragraph or a row without its end is ended."""
        if self._table.cells:
            self.end_cell()
            self.end_row()
        self.in_table = False
        self.end_paragraph()
        self._end_table()
        return self.pieces

    def _end_table(self) -> None:
        if self._table.rows:
            text = self._table.text()
            if text:
                self.pieces.append(("table", text, None))
            self._table = _Table()

    def _take(self) -> str:
        text = clean("".join(self._buffer)).strip()
        self._buffer = []
        return text


def _labelled(text: str) -> str:
    """An item with its number before it, or without its bullet; a tab stands between the two."""
    label, _, item = text.partition("\t")
    return f"{label.strip()} {item.strip()}" if any(c.isalnum() for c in label) and item else item or label


MERGES = {"clvmrg": ABOVE, "clmrg": LEFT}
