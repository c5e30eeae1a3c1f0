"""CSV and TSV files: one typed table, and beside it a table of the records that do not fit. No row is lost."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

from foundation.errors import EmptyFile
from foundation.types import ParsedTable, ParsedWorkbook
from pipelines.parsing.csv_arrow import NotRegular, arrow_columns, can_read
from pipelines.parsing.csv_dialect import SAMPLE, CsvDialect, detect_dialect
from pipelines.parsing.csv_encoding import CsvEncoding, csv_encoding
from pipelines.parsing.csv_records import Record, records
from pipelines.parsing.header import HEAD_ROWS, find_header, skipped_titles
from pipelines.parsing.rejects import Rejects
from pipelines.parsing.tables import TableBuilder
from pipelines.parsing.warning_list import WarningList

PARSER = "csv/2"


def parse_csv(
    path: str | Path, file_name: str, out_folder: str | Path, *, max_cell_chars: int = 1_000_000
) -> ParsedWorkbook:
    """Write the file's table to `out_folder`. Streams: memory does not grow with the number of rows.

    A record that is too short is padded with nulls; one with more fields than the header, or with broken quotes, is
    left out or kept as far as it fits. All of these stand, with their line, in a second table and in warnings.
    EmptyFile when there is no row at all; DamagedFile for binary data; ResourceLimit for a cell above
    `max_cell_chars` or too many columns.
    """
    path = Path(path)
    if path.stat().st_size == 0:
        raise EmptyFile(f"{file_name} is empty (0 bytes).")
    encoding = csv_encoding(path, file_name)
    warnings = WarningList()
    if encoding.guessed:
        message = f"{file_name} does not say its encoding; it was read as {encoding.name}."
        warnings.add("encoding_guessed", message)
    csv.field_size_limit(max_cell_chars)
    tables = _CsvFile(path, file_name, Path(out_folder), encoding, warnings, max_cell_chars).tables()
    return ParsedWorkbook(tables, PARSER, warnings.all())


class _CsvFile:
    def __init__(
        self,
        path: Path,
        file_name: str,
        out_folder: Path,
        encoding: CsvEncoding,
        warnings: WarningList,
        max_cell_chars: int,
    ) -> None:
        self._path, self._file_name, self._folder = path, file_name, out_folder
        self._encoding, self._warnings, self._max_cell_chars = encoding, warnings, max_cell_chars

    def tables(self) -> list[ParsedTable]:
        errors = "replace" if self._encoding.replace else "strict"
        with self._path.open(encoding=self._encoding.name, errors=errors, newline="") as text:
            sample = text.read(SAMPLE)
            dialect = detect_dialect(sample, whole=len(sample) < SAMPLE)
            text.seek(0)
            dirty = self._encoding.replace or self._encoding.has_nul
            lines = _cleaned(text, self._warnings) if dirty else text
            return self._read(records(lines, dialect, self._file_name, self._max_cell_chars), dialect)

    def _read(self, found: Iterator[Record], dialect: CsvDialect) -> list[ParsedTable]:
        head = list(islice(found, HEAD_ROWS))
        try:
            index = find_header([record.fields for record in head])
        except ValueError:
            raise EmptyFile(f"{self._file_name} has no row with a value.") from None
        title = skipped_titles([(record.line, record.fields) for record in head[:index]], self._warnings)
        rows = head[index + 1 :]
        labels = _full_header(head[index], [record.fields for record in rows], self._warnings)
        if rows and can_read(self._path, self._encoding, dialect, len(labels)):
            try:
                return [self._regular(labels, rows[0].line - 1, dialect, title)]
            except NotRegular:
                pass  # read again by the reader that says where
        table = TableBuilder(labels, self._folder, 0, self._file_name)
        rejects = Rejects(self._folder, 1)
        for record in chain(rows, found):
            fields = _fitted(record, len(labels), rejects, self._warnings)
            if fields is not None:
                table.add(fields)
        return [table.finish(sheet=None, label=title), *rejects.finish()]

    def _regular(self, labels: Sequence[str], skip_lines: int, dialect: CsvDialect, title: str) -> ParsedTable:
        table = TableBuilder(labels, self._folder, 0, self._file_name)
        for columns in arrow_columns(self._path, dialect, len(labels), skip_lines):
            table.add_columns(columns)
        return table.finish(sheet=None, label=title)


def _cleaned(lines: Iterable[str], warnings: WarningList) -> Iterator[str]:
    for number, line in enumerate(lines, start=1):
        if "\ufffd" in line:
            warnings.add(
                "encoding_damaged", f"Line {number:,} has bytes that are no text; they show as \ufffd.", row=number
            )
        if "\0" in line:
            warnings.add("control_characters", f"Line {number:,} has NUL characters; they are left out.", row=number)
            line = line.replace("\0", "")
        yield line


def _full_header(header: Record, rows: list[list[str]], warnings: WarningList) -> list[str]:
    """The header, with empty labels behind it when most of the first rows agree that it is too short."""
    labels = header.fields
    widths = Counter(len(fields) for fields in rows)
    width, count = max(widths.items(), key=lambda item: item[1], default=(0, 0))
    if width <= len(labels) or count < 2 or 2 * count <= len(rows):
        return labels
    if not any(cell.strip() for fields in rows for cell in fields[len(labels) : width]):
        return labels
    message = f"The header on line {header.line:,} has {len(labels)} labels for {width} columns."
    warnings.add("short_header", message, row=header.line)
    return [*labels, *[""] * (width - len(labels))]


def _fitted(record: Record, width: int, rejects: Rejects, warnings: WarningList) -> list[str] | None:
    """The record's fields at the table's width; None when it has values for which there is no column."""
    fields, line = record.fields, f"Line {record.line:,}"
    if any(cell.strip() for cell in fields[width:]):
        reason = f"{len(fields)} fields where the header has {width}"
        message = f"{line} has {reason}, so it is only in the table of irregular rows."
        warnings.add("long_row", message, row=record.line)
        rejects.add(record, reason, kept=False)
        return None
    if record.damaged:
        reason = "a quote is not closed, or closed inside a cell"
        warnings.add("quote_damaged", f"{line}: {reason}; it was read to its end.", row=record.line)
        rejects.add(record, reason, kept=True)
    elif len(fields) < width:
        reason = f"{len(fields)} of {width} fields; the missing ones are empty"
        warnings.add("short_row", f"{line} has {reason}.", row=record.line)
        rejects.add(record, reason, kept=True)
    return fields[:width] + [""] * (width - len(fields))
