"""Blocks to text: joins lines, mends broken words, and keeps for every word where it stands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from foundation.types import WordBox
from pipelines.parsing.assembly import Assembly
from pipelines.parsing.pdf_layout import Block, is_row
from pipelines.parsing.pdf_page import Line, Page, Word

_SHORT_LINE = 30
"""Characters."""
_PUNCTUATION = re.compile(r"^\W+|\W+$")


def vocabulary(pages: Iterable[Page]) -> set[str]:
    """The unbroken words of a document, to tell `long-term` from `exam-ple` at a line's end."""
    return {
        _PUNCTUATION.sub("", word.text).casefold()
        for page in pages
        for line in page.lines
        for word in line.words
        if not word.broken
    }


@dataclass(slots=True)
class _Run:
    """A block's text as it grows; spans are (start, end, word, page) from the block's start."""

    page: int

    parts: list[str] = field(default_factory=list)
    length: int = 0
    spans: list[tuple[int, int, Word, int]] = field(default_factory=list)

    def put(self, text: str) -> None:
        self.parts.append(text)
        self.length += len(text)

    def word(self, word: Word, text: str) -> None:
        self.spans.append((self.length, self.length + len(text), word, self.page))
        self.put(text)


def write(blocks: Sequence[Block], words: set[str]) -> tuple[Assembly, list[WordBox]]:
    """Assemble the text. Every word has a box and stands in the text exactly once."""
    assembly, boxes = Assembly(), []
    edges = _right_edges(blocks)
    for block in blocks:
        if block.grid is not None:
            run = _table(block)
        else:
            # A paragraph of some length shows its own edge; a short one may only use part of its column.
            right = max(line.box[2] if len(block.lines) > 3 else edges[_column(block, line)] for line in block.lines)
            run = _lines(block.lines, block.page, right, words)
        if run.length == 0:
            continue
        start = assembly.add(block.kind, "".join(run.parts), page=block.page, level=block.level)
        boxes += [WordBox(start + a, start + b, page, word.box) for a, b, word, page in run.spans]
    return assembly, boxes


def _column(block: Block, line: Line) -> tuple[int, int]:
    """Lines of a page that begin at the same place are of one column."""
    return block.page, round(line.box[0] / 6)


def _right_edges(blocks: Sequence[Block]) -> dict[tuple[int, int], float]:
    edges: dict[tuple[int, int], float] = {}
    for block in blocks:
        for line in block.lines:
            key = _column(block, line)
            edges[key] = max(edges.get(key, 0.0), line.box[2])
    return edges


def _table(block: Block) -> _Run:
    run = _Run(block.page)
    parts = [(block.page, block.grid), *block.continued]
    for page, row in ((page, row) for page, grid in parts if grid is not None for row in grid.lines()):
        run.page = page
        if not any(row):
            continue
        run.put("\n" if run.length else "")
        for number, cell in enumerate(row):
            # A row neither begins nor ends with white space, whatever cells are empty.
            is_last = not any(row[number:])
            if is_last:
                break
            if number:
                separator = " | " if cell else " |"
                run.put(separator if any(row[:number]) or number > 1 else separator.lstrip())
            for position, word in enumerate(cell):
                run.put(" " if position else "")
                run.word(word, word.text + ("-" if word.broken else ""))
    return run


def _lines(lines: Sequence[Line], page: int, right: float, words: set[str]) -> _Run:
    run = _Run(page)
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else None
        for position, word in enumerate(line.words):
            run.put(" " if position else "")
            if word.broken and following is not None and position == len(line.words) - 1:
                run.word(word, word.text + _hyphen(word.text, following.words[0].text, words))
            else:
                run.word(word, word.text + ("-" if word.broken else ""))
        if following is not None and not line.words[-1].broken:
            run.put(" " if _was_wrapped(line, following, right) else "\n")
    return run


def _was_wrapped(line: Line, following: Line, right: float) -> bool:
    """A line was wrapped if the next one begins in lower case, or with a word that would not have fitted on it.

    `right` is the column's right edge. Short lines are an address or a form more often than a very narrow column.
    """
    if is_row(line) or is_row(following):
        return False
    first = following.words[0]
    if first.text[0].islower() or following.box[1] < line.box[1]:
        return True
    overfull = line.box[2] + (first.box[2] - first.box[0]) + 0.2 * line.size > right
    return overfull and len(line.text) >= _SHORT_LINE


def _hyphen(left: str, right: str, words: set[str]) -> str:
    """The hyphen between the halves of a word that a line's end broke: '' if it only marked the break.

    Kept before a capital or a digit, where the document has the word with it, or where both halves are words of the
    document and the whole is not.
    """
    head, tail = (_PUNCTUATION.sub("", half).casefold() for half in (left, right))
    if not (left[-1:].isalpha() and right[:1].isalpha() and right[:1].islower()) or f"{head}-{tail}" in words:
        return "-"
    if head + tail in words:
        return ""
    return "-" if len(head) > 2 and len(tail) > 2 and head in words and tail in words else ""
