"""Pieces of text on a page in the order in which a person reads them: columns one after the other, rows across.

A gap of white that runs down between at least three rows parts two columns if both sides look like running text;
otherwise (a table, a form) what stands on one height is one line.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from foundation.types import Box
from pipelines.parsing.ocr_types import Row

_SAME_ROW = 0.5
"""Share of the lower one's height by which two pieces of a row overlap."""
_GAP = 0.9
"""White between columns is wider than this share of a line's height."""
_FEWEST_ROWS = 3
_RUNNING_TEXT = 18
"""Characters. Lines of a column are longer; cells of a table mostly shorter."""
_DEEPEST = 4

Gap = tuple[float, float]


@dataclass(slots=True)
class Piece:
    """Words that were found as one line; `box` is the line's."""

    words: Row
    box: Box

    @property
    def length(self) -> int:
        return sum(len(word.text) + 1 for word in self.words) - 1


@dataclass(slots=True)
class _Band:
    """Pieces on one height, left to right."""

    pieces: list[Piece] = field(default_factory=list)

    def gaps(self, height: float) -> list[Gap]:
        """White on this height, with what lies left and right of all pieces."""
        edges = [(float("-inf"), self.pieces[0].box[0])]
        right = self.pieces[0].box[2]
        for piece in self.pieces[1:]:
            edges.append((right, piece.box[0]))
            right = max(right, piece.box[2])
        edges.append((right, float("inf")))
        return [(a, b) for a, b in edges if b - a > _GAP * height]


def in_order(pieces: Sequence[Piece], depth: int = 0) -> list[list[Piece]]:
    """Lines in reading order, each a list of pieces from left to right."""
    if not pieces:
        return []
    height = statistics.median(piece.box[3] - piece.box[1] for piece in pieces)
    bands = _bands(pieces)
    result: list[list[Piece]] = []
    start = 0
    while start < len(bands):
        gap, end = _columns(bands, start, height) if depth < _DEEPEST else (None, start + 1)
        if gap is None:
            result.append(bands[start].pieces)
            start += 1
            continue
        middle = (gap[0] + gap[1]) / 2
        block = [piece for band in bands[start:end] for piece in band.pieces]
        for side in ([p for p in block if p.box[2] <= middle], [p for p in block if p.box[2] > middle]):
            result += in_order(side, depth + 1)
        start = end
    return result


def _bands(pieces: Sequence[Piece]) -> list[_Band]:
    bands: list[_Band] = []
    for piece in sorted(pieces, key=lambda p: (p.box[1] + p.box[3]) / 2):
        # Only the last bands can reach down to this piece.
        home = next((band for band in reversed(bands[-3:]) if _on_one_height(band.pieces[0].box, piece.box)), None)
        if home is None:
            bands.append(_Band([piece]))
        else:
            home.pieces.append(piece)
    for band in bands:
        band.pieces.sort(key=lambda p: p.box[0])
    return bands


def _on_one_height(a: Box, b: Box) -> bool:
    overlap = min(a[3], b[3]) - max(a[1], b[1])
    return overlap > _SAME_ROW * min(a[3] - a[1], b[3] - b[1])


def _columns(bands: Sequence[_Band], start: int, height: float) -> tuple[Gap | None, int]:
    """A gap that runs down from band `start` between two columns, and the band at which it ends."""
    open_gaps = bands[start].gaps(height)
    best: tuple[Gap | None, int] = (None, start + 1)
    for end in range(start + 1, len(bands) + 1):
        inner = [gap for gap in open_gaps if _parts_columns(gap, bands[start:end])]
        if inner:
            best = max(inner, key=lambda gap: gap[1] - gap[0]), end
        if end == len(bands):
            break
        open_gaps = _common(open_gaps, bands[end].gaps(height), height)
        if not open_gaps:
            break
    return best


def _common(left: Sequence[Gap], right: Sequence[Gap], height: float) -> list[Gap]:
    both = ((max(a[0], b[0]), min(a[1], b[1])) for a in left for b in right)
    return [gap for gap in both if gap[1] - gap[0] > _GAP * height]


def _parts_columns(gap: Gap, bands: Sequence[_Band]) -> bool:
    middle = (gap[0] + gap[1]) / 2
    pieces = [piece for band in bands for piece in band.pieces]
    left = [piece for piece in pieces if piece.box[2] <= middle]
    right = [piece for piece in pieces if piece.box[2] > middle]
    if min(len(left), len(right)) < _FEWEST_ROWS or len(bands) < _FEWEST_ROWS:
        return False
    both = sum(any(p.box[2] <= middle for p in b.pieces) and any(p.box[2] > middle for p in b.pieces) for b in bands)
    if both < 2:
        return False
    return all(statistics.median(p.length for p in side) >= _RUNNING_TEXT for side in (left, right))


def is_dense(pieces: Sequence[Piece]) -> bool:
    """Whether the pieces of a line follow each other as words do."""
    return all(b.box[0] - a.box[2] < b.box[3] - b.box[1] for a, b in pairwise(pieces))
