"""CSV and TSV files: one typed table, no row lost."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path

from foundation.errors import DamagedFile, EmptyFile, ResourceLimit
from foundation.types import ParsedTable, ParsedWorkbook
from pipelines.parsing.csv_dialect import SAMPLE, CsvDialect, detect_dialect
from pipelines.parsing.csv_encoding import csv_encoding
from pipelines.parsing.header import HEAD_ROWS, find_header, skipped_titles
from pipelines.parsing.tables import TableBuilder
from pipelines.parsing.warning_list import WarningList

PARSER = "csv/1"

Row = tuple[int, list[str]]
"""The line on which a record starts, from 1, and its fields."""


def parse_csv(
    path: str | Path, file_name: str, out_folder: str | Path, *, max_cell_chars: int = 1_000_000
) -> ParsedWorkbook:
    """Write the file's table to `out_folder`. Streams: memory does not grow with the number of rows.

    Rows that are too short are padded with nulls and named in a warning. EmptyFile when there is no row at all;
    DamagedFile, with the line, for a row with more fields than the header, a quote that is never closed, or binary
    data; ResourceLimit for a cell above `max_cell_chars` or too many columns.
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
    errors = "replace" if encoding.replace else "strict"
    with path.open(encoding=encoding.name, errors=errors, newline="") as text:
        sample = text.read(SAMPLE)
        dialect = detect_dialect(sample, whole=len(sample) < SAMPLE)
        text.seek(0)
        lines = _cleaned(text, warnings) if encoding.replace or encoding.has_nul else text
        records = _records(lines, dialect, file_name, max_cell_chars)
        table = _read(records, dialect, file_name, Path(out_folder), warnings)
    return ParsedWorkbook([table], PARSER, warnings.all())


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


def _records(lines: Iterable[str], dialect: CsvDialect, file_name: str, max_cell_chars: int) -> Iterator[Row]:
    """Records that are not blank lines, each with the line on which it starts."""
    above = 1 if dialect.sep_line else 0
    reader = csv.reader(islice(lines, above, None), **dialect.reader_options)
    start = above + 1
    try:
        for fields in reader:
            if fields and (len(fields) > 1 or fields[0].strip()):
                yield start, fields
            start = above + reader.line_num + 1
    except csv.Error as error:
        long_cell = "limit" in str(error)
        if long_cell and reader.line_num + above <= start:
            raise ResourceLimit(
                f"{file_name}, line {start:,}: a cell has more than {max_cell_chars:,} characters",
                fix="Shorten the cell, or upload the long text as a document of its own.",
            ) from error
        what = "a quote is opened and never closed" if long_cell or "end of data" in str(error) else str(error)
        raise DamagedFile(
            f"{file_name}, line {start:,}: {what}",
            fix="Put quotes around the whole cell, write a quote inside it twice, and upload the file again.",
        ) from error


def _read(
    records: Iterator[Row], dialect: CsvDialect, file_name: str, out_folder: Path, warnings: WarningList
) -> ParsedTable:
    head = list(islice(records, HEAD_ROWS))
    try:
        index = find_header([fields for _, fields in head])
    except ValueError:
        raise EmptyFile(f"{file_name} has no row with a value.") from None
    title = skipped_titles(head[:index], warnings)
    header_line, header = head[index]
    labels = _full_header(header, [fields for _, fields in head[index + 1 :]], header_line, warnings)
    table = TableBuilder(labels, out_folder, 0, file_name)
    for line, fields in chain(head[index + 1 :], records):
        if len(fields) != len(labels):
            fields = _fitted(fields, line, len(labels), dialect, file_name, warnings)
        table.add(fields)
    return table.finish(sheet=None, label=title)


def _full_header(header: list[str], rows: list[list[str]], line: int, warnings: WarningList) -> list[str]:
    """The header, with empty labels behind it when all of the first rows agree that it is too short."""
    widths = {len(fields) for fields in rows}
    missing = widths.pop() - len(header) if len(rows) > 1 and len(widths) == 1 else 0
    if missing <= 0 or not any(cell.strip() for fields in rows for cell in fields[len(header) :]):
        return header
    message = f"The header on line {line:,} has {len(header)} labels for {len(header) + missing} columns."
    warnings.add("short_header", message, row=line)
    return [*header, *[""] * missing]


def _fitted(
    fields: list[str], line: int, width: int, dialect: CsvDialect, file_name: str, warnings: WarningList
) -> list[str]:
    if len(fields) < width:
        message = f"Line {line:,} has {len(fields)} of {width} fields; the missing ones are empty."
        warnings.add("short_row", message, row=line)
        return fields + [""] * (width - len(fields))
    if any(cell.strip() for cell in fields[width:]):
        mark = "tab" if dialect.delimiter == "\t" else f"'{dialect.delimiter}'"
        raise DamagedFile(
            f"{file_name}, line {line:,}: {len(fields)} fields where the header has {width}",
            fix=f"Put quotes around a cell that holds a {mark}, or add the missing columns to the header, "
            "and upload the file again.",
        )
    return fields[:width]
