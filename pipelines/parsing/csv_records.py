"""Records of a CSV file with their lines. A record whose quotes are broken costs its own line only, never the rest."""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from foundation.errors import ResourceLimit
from pipelines.parsing.csv_dialect import CsvDialect


@dataclass(frozen=True, slots=True)
class Record:
    line: int
    """On which it starts, from 1."""
    fields: list[str]
    damaged: bool = False
    """A quote in it is opened and not closed, or closed in mid-field; it was read as far as its line goes."""


def records(lines: Iterable[str], dialect: CsvDialect, file_name: str, max_cell_chars: int) -> Iterator[Record]:
    """Every record that is not a blank line. ResourceLimit, with the line, for a cell above `max_cell_chars`."""
    source = _Source(lines)
    if dialect.sep_line:
        next(source, None)
    reader = csv.reader(source, **dialect.reader_options)
    while True:
        source.begin()
        start, damaged = source.number + 1, False
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            if "limit" in str(error) and len(source.taken) == 1:
                raise ResourceLimit(
                    f"{file_name}, line {start:,}: a cell has more than {max_cell_chars:,} characters",
                    fix="Shorten the cell, or upload the long text as a document of its own.",
                ) from error
            first = source.rewind_to_first()
            fields, damaged = _one_line(first, dialect), True
            reader = csv.reader(source, **dialect.reader_options)
        if len(fields) > 1 or (fields and fields[0].strip()):
            yield Record(start, fields, damaged)


class _Source:
    """Lines with their number, of which those of the current record can be given back."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = iter(lines)
        self._again: deque[str] = deque()
        self.taken: list[str] = []
        self.number = 0

    def __iter__(self) -> _Source:
        return self

    def __next__(self) -> str:
        line = self._again.popleft() if self._again else next(self._lines)
        self.taken.append(line)
        self.number += 1
        return line

    def begin(self) -> None:
        self.taken.clear()

    def rewind_to_first(self) -> str:
        """The current record's first line; the lines behind it will come again."""
        first, *rest = self.taken
        self._again.extendleft(reversed(rest))
        self.number -= len(rest)
        return first


def _one_line(line: str, dialect: CsvDialect) -> list[str]:
    """Fields of a line that is no sound record: with its quotes as marks where they pair up, else as letters."""
    options = {**dialect.reader_options, "strict": False}
    if line.count('"') % 2:
        options |= {"quoting": csv.QUOTE_NONE}
    return next(csv.reader([line], **options), [])
