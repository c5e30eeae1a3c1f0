"""CSV files and workbooks come out as EXPECTED says; the figure is printed. What is looked at are the typed tables."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
from expected import Expected, Reading, folded, judge, load, show

from foundation.errors import AsklineError
from foundation.media_type import HEAD, check_upload, detect_file
from foundation.types import ParsedTable, ParsedWorkbook
from pipelines.parsing.dispatch import parse_tables
from pipelines.parsing.tables import iter_rows
from pipelines.parsing.workers import ParserPool

pytestmark = pytest.mark.slow

_HOSTILE = (".csv", ".tsv", ".xlsx", ".xls", ".ods")


def chosen(one: Expected) -> bool:
    return one.kind in ("csv", "spreadsheets") or (one.kind == "hostile" and Path(one.file).suffix in _HOSTILE)


def read_tables(pool: ParserPool, path: Path, folder: Path) -> ParsedWorkbook:
    with path.open("rb") as file:
        check_upload(file.read(HEAD), path.stat().st_size, path.name)
    workbook: ParsedWorkbook = pool.parse(parse_tables, path, path.name, detect_file(path, path.name).kind, folder)
    return workbook


def as_written(cell: Any) -> str:
    """A cell as the expectations have it: they were taken from a reader that gives every day its midnight."""
    if isinstance(cell, date) and not isinstance(cell, datetime):
        return f"{cell} 00:00:00"
    return "" if cell is None else str(cell)


def cells(table: ParsedTable) -> Iterator[str]:
    yield from (table.sheet or "", table.label, *(column.label for column in table.columns))
    for row in iter_rows(table.parquet_path, table.columns):
        yield from map(as_written, row)


def test_every_line_comes_out_as_it_says(
    documents: Path, parser_pool: ParserPool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def read(path: Path) -> Reading:
        try:
            workbook = read_tables(parser_pool, path, tmp_path / path.name)
        except AsklineError as error:
            assert error.message, path.name
            assert error.fix, path.name
            return Reading(refused=error.code)
        text = "\n".join(cell for table in workbook.tables for cell in cells(table))
        return Reading(text, tuple(warning.code for warning in workbook.warnings))

    figure = judge(documents, load(documents, chosen), read)
    show(capsys, "tables", figure)
    assert figure.files >= 25
    assert figure.outcomes == figure.files, str(figure)
    assert figure.share >= 0.99, str(figure)
    assert not figure.forbidden, str(figure)


def rows_of(documents: Path) -> list[dict[str, Any]]:
    lines = (documents / "EXPECTED_dev.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def test_every_sheet_that_holds_something_is_there(documents: Path, parser_pool: ParserPool, tmp_path: Path) -> None:
    named = {
        row["file"]: row["sheets"]
        for row in rows_of(documents)
        if row["file"].startswith("spreadsheets/") and row.get("sheets")
    }
    assert named
    for file, sheets in named.items():
        found = {table.sheet for table in read_tables(parser_pool, documents / file, tmp_path / Path(file).name).tables}
        filled = {name for name, extent in sheets.items() if extent != "A1:A1"}
        assert filled <= found, file


def test_every_value_of_a_file_whose_text_is_told_is_in_its_tables(
    documents: Path, parser_pool: ParserPool, tmp_path: Path
) -> None:
    told = {row["file"]: row["raw_text"] for row in rows_of(documents) if row.get("raw_text") and chosen(_line(row))}
    assert len(told) >= 10
    for file, text in told.items():
        tables = read_tables(parser_pool, documents / file, tmp_path / Path(file).name).tables
        found = {folded(cell) for table in tables for cell in cells(table)}
        delimiter = next((mark for mark in (";", "|") if mark in text), ",")
        for row in csv.reader(io.StringIO(text.replace("\0", ""), newline=""), delimiter=delimiter):
            for cell in map(folded, row):
                number = cell.replace(".", "").replace(",", ".")  # 1,7 and 200.000.000 are numbers of that file
                assert not cell or cell in found or number in found, (file, cell)


def _line(row: dict[str, Any]) -> Expected:
    return Expected(row["file"], row["outcome"], (), (), "")
