"""Ruled tables of a PDF page: pdfium gives the lines that are drawn, pdfplumber's table geometry the cells.

pdfplumber's own reading of a page (pdfminer, pure Python) takes a hundred times as long and finds the same lines.
"""

from __future__ import annotations

import ctypes
import statistics
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium
from pdfplumber import table as plumber

from foundation.types import Box
from pipelines.parsing.pdf_page import IDENTITY, Transform, Word, apply, chain, union

_SNAP = 3.0
"""Lines nearer than this, in points, are one: pdfplumber's default."""
_MOST_PATHS = 5_000
_MOST_POINTS = 400
_MOST_EDGES = 1_500
"""A drawing or a map has more; cell finding is quadratic, and it is no table."""
_LONGEST_CELL = 600
"""Characters. A frame around running text is layout, not a table."""

Edge = dict[str, Any]


@dataclass(slots=True)
class Grid:
    """A table's cells by row, as boxes from the page's top left; None where a merged cell reaches in."""

    box: Box
    rows: list[list[Box | None]]
    words: dict[Box, list[Word]] = field(default_factory=dict)

    def cell_of(self, word: Word) -> Box | None:
        """The cell that the word's middle lies in."""
        x, y = (word.box[0] + word.box[2]) / 2, (word.box[1] + word.box[3]) / 2
        if not (self.box[0] <= x <= self.box[2] and self.box[1] <= y <= self.box[3]):
            return None
        return next((c for c in self.words if c[0] <= x <= c[2] and c[1] <= y <= c[3]), None)

    def holds(self, word: Word) -> bool:
        return self.cell_of(word) is not None

    def fill(self, words: Iterable[Word]) -> None:
        for word in words:
            if (cell := self.cell_of(word)) is not None:
                self.words[cell].append(word)

    def columns(self) -> list[float]:
        """Where its columns begin and the last one ends."""
        sides = sorted({side for row in self.rows for cell in row if cell is not None for side in (cell[0], cell[2])})
        return [side for i, side in enumerate(sides) if i == 0 or side - sides[i - 1] > _SNAP]

    def goes_on_in(self, other: Grid) -> bool:
        """Whether `other`, on the next page, has the same columns."""
        mine, theirs = self.columns(), other.columns()
        return len(mine) == len(theirs) and all(abs(a - b) <= 2 * _SNAP for a, b in zip(mine, theirs, strict=True))

    def drop_header_of(self, first: Grid) -> None:
        """Leave out a first row that says the same as the first row of `first`."""
        mine, theirs = self._texts(self), self._texts(first)
        if len(self.rows) > 1 and mine == theirs and any(mine):
            self.rows = self.rows[1:]

    @staticmethod
    def _texts(grid: Grid) -> list[str]:
        return [" ".join(w.text for w in grid.words[cell]) if cell is not None else "" for cell in grid.rows[0]]

    def lines(self) -> list[list[list[Word]]]:
        """Words by row and column. A ruled row that holds several lines of a table (lines drawn only here and there)
        comes apart where nearly every column has a word on each of them."""
        result = []
        for row in self.rows:
            cells = [self.words[cell] if cell is not None else [] for cell in row]
            result += _split_row(cells)
        return result

    def is_table(self) -> bool:
        """At least two rows and two columns with content in most cells, none of which is a page's running text."""
        filled = [[bool(cell) for cell in row] for row in self.lines()]
        rows = sum(any(row) for row in filled)
        columns = sum(any(column) for column in zip(*filled, strict=True))
        lengths = [sum(len(word.text) + 1 for word in cell) for row in self.lines() for cell in row]
        share = sum(length > 0 for length in lengths) / len(lengths)
        return rows >= 2 and columns >= 2 and share >= 0.4 and max(lengths) <= _LONGEST_CELL


def _split_row(cells: list[list[Word]]) -> list[list[list[Word]]]:
    filled = [cell for cell in cells if cell]
    if len(filled) < 4 or len(filled) == sum(len(cell) for cell in filled):
        return [cells]
    height = statistics.median(word.box[3] - word.box[1] for cell in filled for word in cell) or 1
    middles = sorted((word.box[1] + word.box[3]) / 2 for cell in filled for word in cell)
    cuts = [(a + b) / 2 for a, b in pairwise(middles) if b - a > height / 2]
    if not cuts:
        return [cells]
    rows: list[list[list[Word]]] = [[[] for _ in cells] for _ in range(len(cuts) + 1)]
    for column, cell in enumerate(cells):
        for word in cell:
            rows[bisect_left(cuts, (word.box[1] + word.box[3]) / 2)][column].append(word)
    in_most = all(sum(bool(cell) for cell in row) >= 0.8 * len(filled) for row in rows)
    return rows if in_most else [cells]


def find_grids(page: pypdfium2.PdfPage, transform: Transform) -> list[Grid]:
    """Grids of crossing lines with two rows and columns or more, top to bottom; often none, and then cheap."""
    edges = _edges(page, transform)
    if sum(e["orientation"] == "h" for e in edges) < 3 or sum(e["orientation"] == "v" for e in edges) < 3:
        return []
    edges = [e for e in plumber.merge_edges(edges, _SNAP, _SNAP, _SNAP, _SNAP) if max(e["width"], e["height"]) >= 3]
    if len(edges) > _MOST_EDGES:
        return []
    cells = plumber.intersections_to_cells(plumber.edges_to_intersections(edges, _SNAP, _SNAP))
    grids: list[Grid] = []
    for group in plumber.cells_to_tables(cells):
        table = plumber.Table(None, group)  # type: ignore[arg-type]  # only for extracting text, which we do ourselves
        rows = _without_banners([list(row.cells) for row in table.rows])
        cells = [cell for row in rows for cell in row if cell is not None]
        if len(rows) < 2 or len(rows[0]) < 2 or any(_overlap(union(cells), grid.box) for grid in grids):
            continue
        grids.append(Grid(union(cells), rows, {cell: [] for cell in cells}))
    return grids


def _without_banners(rows: list[list[Box | None]]) -> list[list[Box | None]]:
    """Without first and last rows that are one cell: the table's title above it and the notes below it are text."""
    banner = [sum(cell is not None for cell in row) <= 1 for row in rows]
    if all(banner):
        return []
    return rows[banner.index(False) : len(rows) - banner[::-1].index(False)]


def _overlap(a: Box, b: Box) -> bool:
    return min(a[2], b[2]) - max(a[0], b[0]) > 1 and min(a[3], b[3]) - max(a[1], b[1]) > 1


def _edges(page: pypdfium2.PdfPage, transform: Transform) -> list[Edge]:
    edges: list[Edge] = []
    paths = 0
    for shape in page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_PATH], max_depth=5):
        paths += 1
        if paths > _MOST_PATHS or len(edges) > 20 * _MOST_EDGES:
            return []
        if not _is_drawn(shape):
            continue
        points = _points(shape)
        place = _placement(shape, transform)
        seen = [(move, *apply(place, x, y)) for move, x, y in points]
        for (_, x0, y0), (move, x1, y1) in pairwise(seen):
            if not move and (edge := _edge(x0, y0, x1, y1)) is not None:
                edges.append(edge)
    return edges


def _is_drawn(shape: pypdfium2.PdfObject) -> bool:
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    pdfium.FPDFPath_GetDrawMode(shape.raw, fill, stroke)
    return bool(fill.value or stroke.value)


def _points(shape: pypdfium2.PdfObject) -> list[tuple[bool, float, float]]:
    """(starts a new subpath, x, y) in the object's space; a closed subpath returns to its first point."""
    count = pdfium.FPDFPath_CountSegments(shape.raw)
    if not 2 <= count <= _MOST_POINTS:
        return []
    points: list[tuple[bool, float, float]] = []
    first = (0.0, 0.0)
    x, y = ctypes.c_float(), ctypes.c_float()
    for i in range(count):
        segment = pdfium.FPDFPath_GetPathSegment(shape.raw, i)
        kind = pdfium.FPDFPathSegment_GetType(segment)
        if kind == pdfium.FPDF_SEGMENT_BEZIERTO:
            return []
        pdfium.FPDFPathSegment_GetPoint(segment, x, y)
        if kind == pdfium.FPDF_SEGMENT_MOVETO:
            first = (x.value, y.value)
        points.append((kind == pdfium.FPDF_SEGMENT_MOVETO, x.value, y.value))
        if pdfium.FPDFPathSegment_GetClose(segment):
            points.append((False, *first))
    return points


def _placement(shape: pypdfium2.PdfObject, transform: Transform) -> Transform:
    """The object's matrix, then those of the forms that it stands in, then the page's."""
    chained = IDENTITY
    link: pypdfium2.PdfObject | None = shape
    while link is not None:
        chained = chain(chained, link.get_matrix().get())
        link = link.container
    return chain(chained, transform)


def _edge(x0: float, y0: float, x1: float, y1: float) -> Edge | None:
    """An edge as pdfplumber's functions take it, of a straight piece along one axis."""
    width, height = abs(x1 - x0), abs(y1 - y0)
    if min(width, height) > 0.5 or max(width, height) < 1:
        return None
    x0, x1, top, bottom = min(x0, x1), max(x0, x1), min(y0, y1), max(y0, y1)
    orientation = "h" if width > height else "v"
    return {
        "x0": x0, "x1": x1, "top": top, "bottom": bottom, "width": width, "height": height, "orientation": orientation
    }  # fmt: skip
