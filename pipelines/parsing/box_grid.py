"""Text boxes that touch each other like the cells of a table are one: old slides keep tables as loose boxes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.parsing.table_lines import ABOVE, LEFT, Row

_TOLERANCE = 8
"""Drawing units of 1/576 inch; borders of cells lie so close to each other."""
_FEWEST = 4


@dataclass(frozen=True, slots=True)
class TextBox:
    left: int
    top: int
    width: int
    height: int
    text: str

    @property
    def right(self) -> int:
        return self.left + self.width

    @property
    def bottom(self) -> int:
        return self.top + self.height


def grids(boxes: Sequence[TextBox]) -> list[list[TextBox]]:
    """The boxes in groups that touch, in the order of each group's first box."""
    groups: list[list[TextBox]] = []
    for box in boxes:
        touched = [group for group in groups if any(_touch(box, other) for other in group)]
        merged = [other for group in touched for other in group] + [box]
        groups = [group for group in groups if group not in touched]
        groups.append(merged)
    for table in [group for group in groups if table_rows(group) is not None]:
        # Empty cells have no box, so a cell may touch no other; it lies within the table all the same.
        within = [group for group in groups if group is not table and all(_inside(box, table) for box in group)]
        groups = [group for group in groups if group not in within]
        table += [box for group in within for box in group]
    return sorted(groups, key=lambda group: min(map(boxes.index, group)))


def table_rows(group: Sequence[TextBox]) -> list[Row] | None:
    """Rows of cells; None when the boxes are too few, or in one row or column."""
    columns, lines = _edges([box.left for box in group]), _edges([box.top for box in group])
    if len(group) < _FEWEST or len(columns) < 2 or len(lines) < 2:
        return None
    cells = [[""] * len(columns) for _ in lines]
    for box in group:
        across = [i for i, edge in enumerate(columns) if box.left - _TOLERANCE <= edge < box.right - _TOLERANCE]
        down = [i for i, edge in enumerate(lines) if box.top - _TOLERANCE <= edge < box.bottom - _TOLERANCE]
        for row in down:
            for column in across:
                if not cells[row][column]:
                    cells[row][column] = LEFT if column != across[0] else ABOVE if row != down[0] else box.text
    return [list(row) for row in cells]


def _inside(box: TextBox, group: Sequence[TextBox]) -> bool:
    return (
        min(other.left for other in group) - _TOLERANCE <= box.left
        and box.right <= max(other.right for other in group) + _TOLERANCE
        and min(other.top for other in group) - _TOLERANCE <= box.top
        and box.bottom <= max(other.bottom for other in group) + _TOLERANCE
    )


def _edges(values: list[int]) -> list[int]:
    edges: list[int] = []
    for value in sorted(values):
        if not edges or value - edges[-1] > _TOLERANCE:
            edges.append(value)
    return edges


def _touch(one: TextBox, other: TextBox) -> bool:
    beside = min(abs(one.right - other.left), abs(other.right - one.left)) <= _TOLERANCE
    above = min(abs(one.bottom - other.top), abs(other.bottom - one.top)) <= _TOLERANCE
    same_line = min(one.bottom, other.bottom) - max(one.top, other.top) > _TOLERANCE
    same_column = min(one.right, other.right) - max(one.left, other.left) > _TOLERANCE
    return (beside and same_line) or (above and same_column)
