"""From lines to blocks: paragraphs, headings, list items, tables, running headers and footers."""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from pipelines.parsing.assembly import BULLET, Kind
from pipelines.parsing.pdf_page import Line, Page, Word
from pipelines.parsing.pdf_tables import Grid

_MARGIN = 0.1
"""Share of a page's height at its top and its bottom where running headers and footers stand."""
_LARGER = 1.15
"""A line this much larger than the body is a heading."""
_LONGEST_TITLE = 200
_DEEPEST_LEVEL = 6


@dataclass(slots=True)
class Block:
    kind: Kind
    page: int
    lines: list[Line] = field(default_factory=list)
    grid: Grid | None = None
    level: int | None = None
    continued: list[tuple[int, Grid]] = field(default_factory=list)
    """(page, grid) of a table's parts on the pages that follow."""

    @property
    def size(self) -> float:
        return self.lines[0].size

    @property
    def bold(self) -> bool:
        return all(line.bold for line in self.lines)


def blocks(pages: Sequence[Page], grids: Mapping[int, list[Grid]]) -> list[Block]:
    """Blocks in reading order: the order of each page's content stream, a table where its first word stands.

    `grids` by page number; the words that a grid's cells hold leave the running text.
    """
    running = _running_lines(pages)
    result: list[Block] = []
    for page in pages:
        result += _page_blocks(page, grids.get(page.number, []), running)
    result = _join_tables(result)
    _mark_titles(result)
    return result


def _join_tables(blocks: Sequence[Block]) -> list[Block]:
    """A table that ends a page and one of the same columns that begins the next are one; running headers and footers
    may stand between. A header that is repeated stands in the text once."""
    result: list[Block] = []
    for block in blocks:
        before = next((b for b in reversed(result) if b.kind not in ("header", "footer")), None)
        if before is not None and before.grid is not None and block.grid is not None:
            page, last = before.continued[-1] if before.continued else (before.page, before.grid)
            if block.page == page + 1 and last.goes_on_in(block.grid):
                block.grid.drop_header_of(before.grid)
                before.continued.append((block.page, block.grid))
                continue
        result.append(block)
    return result


def _running_key(page: Page, line: Line) -> tuple[str, str] | None:
    """(zone, text with its numbers hidden) of a line in the top or bottom margin."""
    middle = (line.box[1] + line.box[3]) / 2 / (page.size[1] or 1)
    zone = "header" if middle < _MARGIN else "footer" if middle > 1 - _MARGIN else None
    return (zone, re.sub(r"\d+", "#", line.text.casefold())) if zone else None


def _running_lines(pages: Sequence[Page]) -> set[tuple[str, str]]:
    """What stands in the margin of at least three pages (of both, where there are two)."""
    seen: Counter[tuple[str, str]] = Counter()
    for page in pages:
        seen.update({key for line in page.lines if (key := _running_key(page, line)) is not None})
    needed = max(2, min(3, len(pages)))
    return {key for key, count in seen.items() if count >= needed}


def _page_blocks(page: Page, grids: list[Grid], running: set[tuple[str, str]]) -> list[Block]:
    result: list[Block] = []
    plain: list[Line] = []
    placed: list[Grid] = []

    def flush() -> None:
        result.extend(_paragraphs(page.number, _join(plain)))
        plain.clear()

    for line in page.lines:
        key = _running_key(page, line)
        if key in running:
            flush()
            result.append(Block("header" if key[0] == "header" else "footer", page.number, [line]))
            continue
        for part, grid in _split(line, grids):
            if grid is None:
                plain.append(part)
            elif grid not in placed:
                flush()
                placed.append(grid)
                result.append(Block("table", page.number, grid=grid))
    flush()
    return result


def _split(line: Line, grids: list[Grid]) -> list[tuple[Line, Grid | None]]:
    """The line in pieces: words in a grid's cells, and the rest."""
    if not grids:
        return [(line, None)]
    pieces: list[tuple[list[Word], Grid | None]] = []
    for word in line.words:
        home = next((grid for grid in grids if grid.holds(word)), None)
        if pieces and pieces[-1][1] is home:
            pieces[-1][0].append(word)
        else:
            pieces.append(([word], home))
    return [(Line(words, line.size, line.bold), home) for words, home in pieces]


def _join(lines: list[Line]) -> list[Line]:
    """pdfium ends a line at a bullet and around superscripts; put together what stands on one line."""
    result: list[Line] = []
    for line in lines:
        previous = result[-1] if result else None
        if previous is not None and _continues_line(previous, line):
            larger = previous if previous.size >= line.size else line
            result[-1] = Line(previous.words + line.words, larger.size, previous.bold and line.bold)
        else:
            result.append(line)
    return result


def _continues_line(left: Line, right: Line) -> bool:
    a, b = left.box, right.box
    overlap = min(a[3], b[3]) - max(a[1], b[1])
    gap = b[0] - a[2]
    is_bullet = len(left.words) == 1 and BULLET.match(left.text + " ") is not None
    reach = 4.0 if is_bullet else 0.5
    return (
        overlap > 0.6 * min(a[3] - a[1], b[3] - b[1])
        and -1 <= gap < reach * max(left.size, right.size)
        and not left.words[-1].broken
    )


def is_row(line: Line) -> bool:
    """A row of an unruled table or form: cells far apart, or mostly numbers."""
    if any(b.box[0] - a.box[2] > 2 * line.size for a, b in pairwise(line.words)):
        return True
    numbers = sum(word.text[-1].isdigit() and not any(c.isalpha() for c in word.text) for word in line.words)
    return len(line.words) >= 4 and numbers > len(line.words) / 2


def _paragraphs(page: int, lines: list[Line]) -> list[Block]:
    leading = _usual_gap(lines)
    result: list[Block] = []
    for line in lines:
        is_item = BULLET.match(line.text) is not None
        if not result or is_item or _begins_block(result[-1], line, leading):
            result.append(Block("list_item" if is_item else "paragraph", page, [line]))
        else:
            result[-1].lines.append(line)
    return result


def _usual_gap(lines: list[Line]) -> float:
    """The median distance between lines that follow each other down the page, as a share of the line's height."""
    gaps = [
        (b.box[1] - a.box[3]) / (a.box[3] - a.box[1] or 1)
        for a, b in pairwise(lines)
        if b.box[1] > a.box[1] and b.box[0] < a.box[2] and a.box[0] < b.box[2]
    ]
    return min(max(statistics.median(gaps), -0.3), 1.2) if gaps else 0.2


def _begins_block(block: Block, line: Line, leading: float) -> bool:
    last, first = block.lines[-1], block.lines[0]
    height = last.box[3] - last.box[1] or 1
    if not 0.88 < line.size / (last.size or 1) < 1.14 or line.bold != last.bold:
        return True
    moved_up = line.box[1] < last.box[1] - height / 2
    beside = line.box[0] >= last.box[2] or line.box[2] <= last.box[0]
    if moved_up or beside:
        # The next column goes on with the sentence, or something else begins.
        unfinished = last.words[-1].broken or last.text[-1].isalnum() or last.text[-1] == ","
        return not (unfinished and (line.text[0].islower() or _is_full(last, block)))
    if (line.box[1] - last.box[3]) / height > leading + 0.35:
        return True
    indent = line.box[0] - first.box[0]
    if block.kind == "list_item":
        return indent < -0.5 * line.size
    return indent > line.size and len(block.lines) > 1 and abs(last.box[0] - first.box[0]) < line.size / 2


def _is_full(line: Line, block: Block) -> bool:
    width = max(other.box[2] for other in block.lines) - min(other.box[0] for other in block.lines)
    return len(block.lines) > 1 and line.box[2] - line.box[0] > 0.8 * width


def _mark_titles(result: list[Block]) -> None:
    """Headings: larger than the body, or bold where the body is not; levels by size, the largest is 1."""
    weights: Counter[tuple[float, bool]] = Counter()
    for block in result:
        for line in block.lines:
            weights[(_size(line.size), line.bold)] += len(line.text)
    if not weights:
        return
    body_size, body_bold = weights.most_common(1)[0][0]
    titles = [b for b in result if b.kind in ("paragraph", "list_item") and _is_title(b, body_size, body_bold)]
    sizes = sorted({_size(block.size) for block in titles}, reverse=True)
    for block in titles:
        block.kind = "title"
        block.level = min(sizes.index(_size(block.size)) + 1, _DEEPEST_LEVEL)


def _size(points: float) -> float:
    return round(points * 2) / 2


def _is_title(block: Block, body_size: float, body_bold: bool) -> bool:
    text = " ".join(line.text for line in block.lines)
    letters = sum(c.isalpha() for c in text)
    if letters < 2 or letters < len(text) / 3 or len(text) > _LONGEST_TITLE or len(block.lines) > 4:
        return False
    x0, y0, x1, y1 = block.lines[0].box
    sideways = y1 - y0 > x1 - x0 and len(text) > 3
    if sideways or not (text[0].isalnum() or text[0] in "([“\"'¿¡§") or any(is_row(line) for line in block.lines):
        return False
    if _size(block.size) > body_size * _LARGER:
        return True
    stands_out = block.bold and not body_bold and _size(block.size) >= body_size
    return stands_out and len(block.lines) <= 2 and not text.endswith((".", ",", ";"))
