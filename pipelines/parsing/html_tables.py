"""A table of a web page: is it one of data or of layout, and what are its rows?"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from selectolax.lexbor import LexborNode

from pipelines.parsing.html_text import children, inline_text
from pipelines.parsing.table_lines import ABOVE, LEFT, Row, table_text

_WIDEST = 100
_LONGEST_REACH = 1000
_DEEPEST = 8
_PROSE = 500
"""Characters; a cell with more is a column of a page's layout."""
_SECTIONS = ("thead", "tbody", "tfoot")


class HtmlTable:
    def __init__(self, node: LexborNode, depth: int = 0) -> None:
        self._node = node
        self._depth = depth
        self._rows = [(row, section) for row, section in _rows(node)]
        self._cells = [[cell for cell in children(row) if cell.tag in ("td", "th")] for row, _ in self._rows]

    def is_data(self) -> bool:
        """Header cells and captions are only put on data; prose and single columns, nested ones too, are layout."""
        if (self._node.attributes.get("role") or "") in ("presentation", "none"):
            return False
        if self._caption() is not None or any(cell.tag == "th" for row in self._cells for cell in row):
            return True
        if max((len(row) for row in self._cells), default=0) < 2:
            return False
        for text, tables in (inline_text(cell) for row in self._cells for cell in row):
            if len(text) > _PROSE or (tables and self._depth >= _DEEPEST):
                return False
            if not all(HtmlTable(table, self._depth + 1).is_data() for table in tables):
                return False
        return True

    def caption(self) -> str:
        caption = self._caption()
        return inline_text(caption)[0] if caption is not None else ""

    def text(self) -> str:
        return table_text(self._grid(), self._header(), bold=self._first_is_bold())

    def _caption(self) -> LexborNode | None:
        return next((child for child in children(self._node) if child.tag == "caption"), None)

    def _header(self) -> int:
        count = 0
        for (_, section), cells in zip(self._rows, self._cells, strict=True):
            if section != "thead" and not (cells and all(cell.tag == "th" for cell in cells)):
                break
            count += 1
        return count

    def _first_is_bold(self) -> bool:
        first = [cell for cell in (self._cells[0] if self._cells else []) if inline_text(cell)[0]]
        return bool(first) and all(cell.css_first("b, strong") is not None for cell in first)

    def _grid(self) -> list[Row]:
        """Cells by row, with marks where a cell of above or of the left reaches in."""
        result: list[Row] = []
        reaching: dict[int, tuple[int, str]] = {}
        for cells in self._cells:
            row: list[str] = []
            nested: list[str] = []
            waiting = iter(cells)
            cell = next(waiting, None)
            while cell is not None or len(row) in reaching:
                if len(row) in reaching:
                    left, mark = reaching.pop(len(row))
                    if left > 1:
                        reaching[len(row)] = (left - 1, mark)
                    row.append(mark)
                elif cell is not None:
                    text, tables = inline_text(cell)
                    nested += self._nested(tables)
                    width, height = _span(cell, "colspan", _WIDEST), _span(cell, "rowspan", _LONGEST_REACH)
                    if height > 1:
                        for i in range(width):
                            reaching[len(row) + i] = (height - 1, LEFT if i else ABOVE)
                    row += [text, *[LEFT] * (width - 1)]
                    cell = next(waiting, None)
            result += [row, *nested]
        return result

    def _nested(self, tables: list[LexborNode]) -> list[str]:
        if self._depth >= _DEEPEST:
            return _flattened(tables)
        return [HtmlTable(table, self._depth + 1).text() for table in tables]


def _flattened(tables: list[LexborNode]) -> list[str]:
    lines = []
    waiting = deque(tables)
    while waiting:
        text, inner = inline_text(waiting.popleft())
        lines.append(text)
        waiting.extend(inner)
    return [line for line in lines if line]


def _rows(table: LexborNode) -> Iterator[tuple[LexborNode, str]]:
    for child in children(table):
        if child.tag == "tr":
            yield child, "tbody"
        elif child.tag in _SECTIONS:
            for row in children(child):
                if row.tag == "tr":
                    yield row, child.tag or ""


def _span(cell: LexborNode, name: str, most: int) -> int:
    value = (cell.attributes.get(name) or "1").strip()
    return min(max(int(value), 1), most) if value.isascii() and value.isdigit() and len(value) < 9 else 1
