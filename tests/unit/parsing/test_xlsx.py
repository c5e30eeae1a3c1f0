"""Workbooks: sheets become typed tables, and what cannot be shown is told."""

from __future__ import annotations

import json
import random
import unicodedata
import zipfile
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from workbooks import Date, Raw, write_workbook

from foundation.errors import DamagedFile, EmptyFile, EncryptedFile, ProcessingFailed, ResourceLimit
from foundation.types import ParsedTable, ParsedWorkbook
from pipelines.parsing.tables import iter_rows
from pipelines.parsing.xlsx_cells import codes_by_sheet, sheet_parts
from pipelines.parsing.xlsx_file import parse_xlsx


@pytest.fixture
def parse(tmp_path: Path) -> Any:
    def run(sheets: dict[str, list[list[object]]], **options: Any) -> ParsedWorkbook:
        path = write_workbook(tmp_path / "landed", sheets, **options)
        return parse_xlsx(path, "prices.xlsx", tmp_path)

    return run


def rows(table: ParsedTable) -> list[tuple[Any, ...]]:
    found = list(iter_rows(table.parquet_path, table.columns))
    assert len(found) == table.row_count
    return found


def test_every_sheet_with_cells_is_a_table_and_cells_keep_their_types(parse: Any) -> None:
    workbook = parse(
        {
            "Prices": [
                ["Code", "Price", "Count", "Active", "Day", "Time", "Ratio"],
                ["0010", 12.5, 3.0, True, Date(45322), Date(45322.5), 0.123456],
                ["21", 7, 4, False, Date(45323), Date(45323), 1],
            ],
            "Empty": [],
            "Ж": [["a", "b"], [1, "x"]],
        }
    )
    prices, other = workbook.tables
    assert [(t.sheet, t.label, t.ordinal, t.row_count) for t in workbook.tables] == [
        ("Prices", "Prices", 0, 2),
        ("Ж", "Ж", 1, 1),
    ]
    types = ["text", "decimal", "bigint", "boolean", "date", "timestamp", "double"]
    assert [c.type for c in prices.columns] == types
    noon = datetime.fromisoformat("2024-01-31 12:00")
    assert rows(prices)[0] == ("0010", Decimal("12.5"), 3, True, date(2024, 1, 31), noon, 0.123456)
    assert rows(other) == [(1, "x")]
    assert workbook.warnings == []


def test_title_rows_blank_rows_and_blank_columns_around_a_table_are_left_out(parse: Any) -> None:
    workbook = parse(
        {
            "S": [
                [None, "Price list 2025", None, None],
                [],
                [None, "Code", None, "Price"],
                [None, "a", None, 1],
                [None, None, None, None],
                [None, "b", None, 2],
            ]
        }
    )
    [table] = workbook.tables
    assert (table.label, [c.label for c in table.columns]) == ("Price list 2025", ["Code", "Price"])
    assert rows(table) == [("a", 1), ("b", 2)]
    assert [(w.code, w.sheet, w.row) for w in workbook.warnings] == [("title_row", "S", 1)]


def test_formulas_give_their_stored_value_and_flawed_cells_are_null_and_named(parse: Any) -> None:
    workbook = parse(
        {
            "S": [
                ["a", "b"],
                [Raw("><f>1+1</f><v>2</v>"), Raw('t="e"><f>1/0</f><v>#DIV/0!</v>')],
                [Raw("><f>A1</f>"), 5],
                [4, Raw('t="e"><v>#N/A</v>')],
            ]
        }
    )
    assert rows(workbook.tables[0]) == [(2, None), (None, 5), (4, None)]
    told = [(w.code, w.row, w.message.split(";")[0]) for w in workbook.warnings]
    assert told == [
        ("error_cell", 2, "Cell B2 holds #DIV/0!"),
        ("formula_without_value", 3, "Cell A3 has a formula without a stored result"),
        ("error_cell", 4, "Cell B4 holds #N/A"),
    ]


def test_flawed_cells_beyond_twenty_are_counted(parse: Any) -> None:
    broken = Raw('t="e"><v>#REF!</v>')
    workbook = parse({"S": [["a", "b"], *[[1, broken]] * 30]})
    assert len(workbook.warnings) == 21 and workbook.warnings[-1].message.startswith("10 more")


def test_a_number_beyond_excels_precision_stays_text_and_is_told(parse: Any) -> None:
    workbook = parse({"S": [["code"], [12345678901234567890], [1]]})
    assert workbook.tables[0].columns[0].type == "text"
    assert workbook.warnings[0].code == "inexact_number"


def test_a_hidden_sheet_is_read_and_told(parse: Any) -> None:
    workbook = parse({"Shown": [["a"], [1]], "Secret": [["b"], [2]]}, hidden=["Secret"])
    assert [t.sheet for t in workbook.tables] == ["Shown", "Secret"]
    assert [(w.code, w.sheet) for w in workbook.warnings] == [("hidden_sheet", "Secret")]


def test_a_workbook_without_cells_is_empty(parse: Any, tmp_path: Path) -> None:
    with pytest.raises(EmptyFile, match=r"prices\.xlsx"):
        parse({"S": []})
    (tmp_path / "nothing").touch()
    with pytest.raises(EmptyFile):
        parse_xlsx(tmp_path / "nothing", "nothing.xlsx", tmp_path)


def test_a_file_that_is_cut_off_or_no_workbook_is_damaged(tmp_path: Path) -> None:
    whole = write_workbook(tmp_path / "whole", {"S": [["a"], *[[i] for i in range(500)]]}).read_bytes()
    (tmp_path / "cut").write_bytes(whole[: len(whole) // 2])
    with zipfile.ZipFile(tmp_path / "zip", "w") as archive:
        archive.writestr("readme.txt", "no workbook")
    for name in ("cut", "zip"):
        with pytest.raises(DamagedFile, match=rf"{name}\.xlsx"):
            parse_xlsx(tmp_path / name, f"{name}.xlsx", tmp_path)


@pytest.mark.parametrize("name", ["fric__skip-rows.xlsx", "fric__cast-int-to-string-issue-1251.xls"])
def test_broken_bytes_anywhere_end_in_an_error_of_ours(shared_data: Path, tmp_path: Path, name: str) -> None:
    whole = (shared_data / "documents" / "spreadsheets" / name).read_bytes()
    chance = random.Random(0)
    refused = 0
    for _ in range(60):
        place = chance.randrange(len(whole))
        (tmp_path / "landed").write_bytes(whole[:place] + chance.randbytes(8) + whole[place + chance.randrange(40) :])
        try:
            parse_xlsx(tmp_path / "landed", "broken.xlsx", tmp_path)
        except ProcessingFailed:
            refused += 1
    assert refused > 0


def test_an_encrypted_workbook_asks_for_the_file_without_a_password(shared_data: Path, tmp_path: Path) -> None:
    source = shared_data / "documents" / "hostile" / "unst__password_protected.xlsx"
    landed = tmp_path / "landed"
    landed.write_bytes(source.read_bytes())
    with pytest.raises(EncryptedFile, match=r"secret\.xlsx"):
        parse_xlsx(landed, "secret.xlsx", tmp_path)


def test_an_archive_that_unpacks_to_far_more_than_its_size_is_refused_unopened(tmp_path: Path) -> None:
    bomb = write_workbook(tmp_path / "bomb", {"S": [["a"], [1]]})
    with zipfile.ZipFile(bomb, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/media/padding.bin", b"\0" * 20_000_000)
    with pytest.raises(ResourceLimit, match="times its size"):
        parse_xlsx(bomb, "bomb.xlsx", tmp_path)
    with pytest.raises(ResourceLimit, match=r"unpacks to 20,0.* bytes; at most 1,000,000 are"):
        parse_xlsx(bomb, "bomb.xlsx", tmp_path, max_bytes=1_000_000)
    assert parse_xlsx(bomb, "bomb.xlsx", tmp_path, max_ratio=10_000).tables[0].row_count == 1


def test_xml_entities_in_a_workbook_are_never_expanded(tmp_path: Path) -> None:
    path = write_workbook(tmp_path / "landed", {"S": [["a"], [1]]})
    entities = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>'
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    parts["xl/workbook.xml"] = entities + parts["xl/workbook.xml"].replace('name="S"', 'name="&b;"')
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    with pytest.raises(DamagedFile):
        parse_xlsx(path, "entities.xlsx", tmp_path)


def test_real_workbooks_keep_what_their_expectations_name(shared_data: Path, tmp_path: Path) -> None:
    lines = (shared_data / "documents" / "EXPECTED_dev.jsonl").read_text().splitlines()
    cases = [case for case in map(json.loads, lines) if case["file"].startswith("spreadsheets/")]
    assert cases
    for case in cases:
        path = shared_data / "documents" / case["file"]
        tables = parse_xlsx(path, path.name, tmp_path).tables
        shown = [cell for t in tables for row in rows(t) for cell in row]
        shown += [text for t in tables for text in (t.label, *(c.label for c in t.columns))]
        text = unicodedata.normalize("NFKC", "\n".join(str(value) for value in shown))
        # A midnight is a date in our types; the expectations write it with its time.
        needles = [needle.removesuffix(" 00:00:00") for needle in case["must_contain"]]
        missing = [needle for needle in needles if unicodedata.normalize("NFKC", needle) not in text]
        assert not missing, case["file"]


def styled(number: object, style: int) -> Raw:
    return Raw(f's="{style}"><v>{number}</v>')


def test_codes_that_were_typed_as_numbers_keep_the_zeros_that_the_workbook_shows(parse: Any) -> None:
    formats = ["00000", r"000\-00\-0000", '0000" "0000;-0', "0.00", "#,##0", r"\00", "General", "0", "yyyy"]
    head = ["ZIP", "SSN", "Account", "Price", "Count", "Literal", "Plain", "One", "Year"]
    lines = [[styled(number, 2 + place) for place, number in enumerate(numbers)] for numbers in (
        [501, 78051120, 42, 7, 12, 3, 5, 6, 45322],
        [10001, 123456789, 123456789, 8, 1200, 4, 5, 6, 45322],
    )]  # fmt: skip
    (table,) = parse({"S": [head, *lines]}, formats=formats).tables
    types = [column.type for column in table.columns]
    assert types[:3] == ["text", "text", "text"]
    assert [row[:3] for row in rows(table)] == [
        ("00501", "078-05-1120", "0000 0042"),
        ("10001", "123-45-6789", "12345 6789"),
    ]
    assert [row[3:8] for row in rows(table)] == [(7, 12, 3, 5, 6), (8, 1200, 4, 5, 6)]
    assert "text" not in types[3:8]


def test_only_the_cells_with_the_format_are_codes(parse: Any) -> None:
    zeros = [styled(7, 2), 7, "7a", styled(7.5, 2), styled(-7, 2), None, styled(1234567, 2)]
    workbook = parse({"S": [[None, "Code", "n"], *([None, cell, 1] for cell in zeros)]}, formats=["00000"])
    assert [row[0] for row in rows(workbook.tables[0])] == ["00007", "7", "7a", "7.5", "-7", None, "1234567"]


def test_a_column_of_a_million_codes_is_one_run(tmp_path: Path) -> None:
    lines = [["Code", "Other"], *([styled(n, 2), n] for n in range(3000)), ["end", 1], [styled(1, 2), 2]]
    path = write_workbook(tmp_path / "landed", {"S": lines}, formats=["00000"])
    codes = codes_by_sheet(path, sheet_parts(path))["S"]
    assert list(codes.columns) == [0]
    assert [codes.format_of(row, 0) is not None for row in (0, 1, 3000, 3001, 3002, 3003)] == [
        False, True, True, False, True, False,
    ]  # fmt: skip
    assert len(codes._runs[0]) == 2
