"""Headers of several rows: what is merged over some columns goes before what stands under it."""

from __future__ import annotations

from collections.abc import Sequence

from pipelines.parsing.header import is_value

Merge = tuple[tuple[int, int], tuple[int, int]]
"""((first row, first column), (last row, last column)), from 0."""
Numbered = tuple[int, Sequence[str]]
"""A row's number from 0, and its texts."""
_LEVELS = 4


def header_labels(rows: Sequence[Numbered], merges: Sequence[Merge] | None) -> tuple[list[str], int]:
    """The labels of a header that begins with rows[0], and how many rows it takes.

    `merges` is None where the format does not tell; then a label goes on over the blank cells behind it, if the row
    below has a label for each of them.
    """
    number, labels, taken = rows[0][0], [text.strip() for text in rows[0][1]], 1
    for below, texts in rows[1:_LEVELS]:
        children = [text.strip() for text in texts]
        over = _over_merged(labels, number, merges) if merges is not None else _over_blank(labels, children)
        behind = rows[taken + 1 : taken + 2]
        if over == labels or not behind or not _is_header(children, number, below, merges, behind[0][1]):
            break
        labels = [" ".join(dict.fromkeys(part for part in pair if part)) for pair in zip(over, children, strict=True)]
        number, taken = below, taken + 1
    return _over_merged(labels, number, merges or ()), taken


def _over_merged(labels: Sequence[str], row: int, merges: Sequence[Merge]) -> list[str]:
    """Each label over all the columns that its cell is merged over."""
    over = list(labels)
    for (top, left), (bottom, right) in merges:
        if top <= row <= bottom and 0 <= left < right < len(over):
            over[left : right + 1] = [labels[left]] * (right + 1 - left)
    return over


def _over_blank(labels: Sequence[str], children: Sequence[str]) -> list[str]:
    over = list(labels)
    for column in range(1, len(over)):
        if not over[column] and children[column] and children[column - 1]:
            over[column] = over[column - 1]
    return over


def _is_header(
    cells: Sequence[str], above: int, row: int, merges: Sequence[Merge] | None, behind: Sequence[str]
) -> bool:
    """Whether a row below a merged label is part of the header, and not the first row of texts."""
    filled = [text for text in cells if text]
    if not filled or any(map(is_value, filled)):
        return False
    if any(top <= above and bottom >= row and left == right for (top, left), (bottom, right) in merges or ()):
        return True  # a label beside it is merged over both rows
    return len(set(filled)) < len(filled) or any(is_value(text.strip()) for text in behind)
