"""Where the tables of a sheet are: blocks of cells that blank rows and columns keep apart.

A blank row inside a table and a blank row between two tables look alike; what follows decides. Behind it a new table
begins when its rows stand in other columns, or begin with a title or a header of their own. Else the table goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from pipelines.parsing.header import is_value, looks_like_header

_HEAD = 4
"""First rows of a band whose cells are looked at."""
_BANDS = 2_000
"""A sheet with more runs of rows than this has blank rows as a habit, not between tables."""

Row = Sequence[str]
ReadRows = Callable[[], Iterator[Row]]


@dataclass(frozen=True, slots=True)
class Block:
    """Rows and columns from 0, ends included. `notes`: text beside the tables, one cell a row."""

    top: int
    bottom: int
    left: int
    right: int
    notes: bool = False


@dataclass(slots=True)
class _Band:
    """Rows without a blank one between them; `mask` has a bit for each column that holds something."""

    top: int
    bottom: int
    mask: int
    head: list[list[str]] = field(default_factory=list)
    single: bool = True
    """No row has more than one cell, and that cell is text."""


def find_blocks(read_rows: ReadRows) -> list[Block]:
    """The blocks of a sheet in order. `read_rows` gives its rows of texts from the top, as often as it is called."""
    masks, bands = _survey(read_rows())
    if len(bands) > _BANDS:
        whole = _Band(bands[0].top, bands[-1].bottom, _union(bands), bands[0].head, single=False)
        return _side_by_side(whole, masks, read_rows)
    blocks: list[Block] = []
    for region in _regions(bands):
        blocks += [_block(region, notes=True)] if region.single else _side_by_side(region, masks, read_rows)
    # Text that is all there is on the sheet is its table.
    return [replace(block, notes=False) for block in blocks] if all(block.notes for block in blocks) else blocks


def _survey(rows: Iterable[Row]) -> tuple[list[int], list[_Band]]:
    masks: list[int] = []
    bands: list[_Band] = []
    for number, row in enumerate(rows):
        filled = [i for i, text in enumerate(row) if text and not text.isspace()]
        mask = sum(1 << i for i in filled)
        masks.append(mask)
        if not mask:
            continue
        if not bands or bands[-1].bottom < number - 1:
            bands.append(_Band(number, number, 0))
        band = bands[-1]
        band.bottom, band.mask = number, band.mask | mask
        band.single = band.single and len(filled) == 1 and not is_value(row[filled[0]])
        if len(band.head) < _HEAD and len(bands) <= _BANDS:
            band.head.append([text.strip() for text in row])
    return masks, bands


def _regions(bands: Sequence[_Band]) -> Iterator[_Band]:
    """Bands that belong to one table, put together; text rows before a table are its title."""
    current: _Band | None = None
    for band in bands:
        if current is None:
            current = band
        elif current.single or _goes_on(current, band):
            current = _joined(current, band)
        else:
            yield current
            current = band
    if current is not None:
        yield current


def _joined(first: _Band, second: _Band) -> _Band:
    single = first.single and second.single
    head = [*first.head, *second.head][:_HEAD] if first.single else first.head
    return _Band(first.top, second.bottom, first.mask | second.mask, head, single)


def _goes_on(table: _Band, band: _Band) -> bool:
    """Whether the band behind a blank row is more of the table."""
    if band.mask & ~table.mask:
        return False  # in columns that the table does not have
    if table.mask.bit_count() == 1:
        return True
    if band.single:
        return False  # a note, or the title of what follows
    rows = [[text for text in row if text] for row in band.head]
    first = next((i for i, cells in enumerate(rows) if len(cells) > 1), None)
    if first is None or not looks_like_header(rows[first]):
        return True
    if first > 0 or rows[first] in [[text for text in row if text] for row in table.head]:
        return False  # a title above a header, or the table's own header once more
    # In a table of texts only, a row of texts can be anything; a value below it tells a header from rows.
    behind = rows[first + 1 : first + 2]
    headed = any(is_value(text) for cells in behind for text in cells)
    return not headed and (not behind or band.top - table.bottom < 3)


def _side_by_side(region: _Band, masks: Sequence[int], read_rows: ReadRows) -> list[Block]:
    """The region, or its parts where blank columns keep apart what can stand alone."""
    runs = list(_runs(region.mask))
    if len(runs) == 1:
        return [_block(region)]
    extents = [_extent(run, region, masks) for run in runs]
    heads = _texts(read_rows, {row for top, _ in extents for row in range(top, top + _HEAD)})
    parts = [Block(*extents[0], *runs[0])]
    for run, extent in zip(runs[1:], extents[1:], strict=True):
        part, before = Block(*extent, *run), parts[-1]
        if _apart(before, part, heads):
            parts.append(part)
        else:
            parts[-1] = Block(min(before.top, part.top), max(before.bottom, part.bottom), before.left, part.right)
    return parts if len(parts) > 1 else [_block(region)]


def _apart(left: Block, right: Block, heads: dict[int, Row]) -> bool:
    """Two tables, not one with a blank column.

    Each has a header of its own over all its columns, and they begin or end on other rows, or share a label, or are two
    columns wide and either stand two columns apart or the right one has texts of its own to name its rows.
    """
    headers = [_headers(part, heads) for part in (left, right)]
    if not all(headers):
        return False
    level = headers[0].keys() & headers[1].keys()
    if not level or left.bottom != right.bottom:
        return True
    wide = min(part.right - part.left for part in (left, right)) > 0
    shared = any(not set(headers[0][row]).isdisjoint(headers[1][row]) for row in level)
    row = heads.get(max(level) + 1, ())
    named = right.left < len(row) and bool(row[right.left].strip()) and not is_value(row[right.left].strip())
    return shared or (wide and (named or right.left - left.right > 2))


def _headers(part: Block, heads: dict[int, Row]) -> dict[int, list[str]]:
    """Row → labels, of those of the part's first rows that can be a header over all its columns."""
    found = {}
    for row in range(part.top, part.top + _HEAD):
        cells = [text.strip() for text in heads.get(row, ())[part.left : part.right + 1]]
        if row < part.bottom and all(cells) and cells and looks_like_header(cells):
            found[row] = cells
    return found


def _texts(read_rows: ReadRows, wanted: set[int]) -> dict[int, Row]:
    last = max(wanted)
    found = {}
    for number, row in enumerate(read_rows()):
        if number in wanted:
            found[number] = row
        if number >= last:
            break
    return found


def _runs(mask: int) -> Iterator[tuple[int, int]]:
    """(first, last) of each run of columns."""
    start: int | None = None
    for column in range(mask.bit_length() + 1):
        if mask >> column & 1:
            start = column if start is None else start
        elif start is not None:
            yield start, column - 1
            start = None


def _extent(run: tuple[int, int], region: _Band, masks: Sequence[int]) -> tuple[int, int]:
    bits = (1 << run[1] + 1) - (1 << run[0])
    rows = [row for row in range(region.top, region.bottom + 1) if masks[row] & bits]
    return rows[0], rows[-1]


def _block(band: _Band, *, notes: bool = False) -> Block:
    left = (band.mask & -band.mask).bit_length() - 1
    return Block(band.top, band.bottom, left, band.mask.bit_length() - 1, notes)


def _union(bands: Sequence[_Band]) -> int:
    mask = 0
    for band in bands:
        mask |= band.mask
    return mask
