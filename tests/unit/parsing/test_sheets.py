"""Sheets as people make them: several tables, merged headers, notes, gaps; each kind of workbook gives the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from workbooks import Date, write_ods, write_workbook

from foundation.media_type import detect_file
from foundation.types import ParsedWorkbook
from pipelines.parsing.tables import iter_rows
from pipelines.parsing.xlsx_file import parse_xlsx

Parse = Callable[..., ParsedWorkbook]
Row = Sequence[object]


@pytest.fixture
def parse(tmp_path: Path) -> Parse:
    def run(rows: Sequence[Row], **more: Any) -> ParsedWorkbook:
        return parse_xlsx(write_workbook(tmp_path / "book.xlsx", {"S": rows}, **more), "book.xlsx", tmp_path)

    return run


def shown(workbook: ParsedWorkbook) -> list[tuple[str, list[str], list[tuple[Any, ...]]]]:
    """(label, column labels, rows) of each table."""
    return [
        (t.label, [c.label for c in t.columns], list(iter_rows(t.parquet_path, t.columns))) for t in workbook.tables
    ]


def test_tables_below_each_other_are_kept_apart_with_the_title_that_each_has(parse: Parse) -> None:
    workbook = parse(
        [
            ["Fees 2024"],
            ["Code", "Fee"],
            ["A1", 10],
            ["A2", 20],
            [],
            ["Staff"],
            [],
            ["Name", "Role", "Since"],
            ["Ann", "Nurse", Date(45000)],
            ["Bo", "Clerk", Date(45001)],
            [],
            ["Source: the clinic's own books"],
        ]
    )
    fees, staff, notes = shown(workbook)
    assert fees == ("Fees 2024", ["Code", "Fee"], [("A1", 10), ("A2", 20)])
    assert staff[:2] == ("Staff", ["Name", "Role", "Since"])
    assert [row[2] for row in staff[2]] == [date(2023, 3, 15), date(2023, 3, 16)]
    assert notes == ("Notes", ["Notes"], [("Source: the clinic's own books",)])
    assert "several_tables" in {w.code for w in workbook.warnings}


def test_tables_beside_each_other_are_kept_apart(parse: Parse) -> None:
    left, right = shown(
        parse([["Ward", "Beds", None, "Drug", "Units"], ["A", 1, None, "x", 5], ["B", 2, None, "y", 6], ["C", 3]])
    )
    assert left[1:] == (["Ward", "Beds"], [("A", 1), ("B", 2), ("C", 3)])
    assert right[1:] == (["Drug", "Units"], [("x", 5), ("y", 6)])
    level = shown(parse([["Ward", "Beds", None, "Drug", "Units"], ["A", 1, None, "x", 5], ["B", 2, None, "y", 6]]))
    assert [table[1] for table in level] == [["Ward", "Beds"], ["Drug", "Units"]]
    spaced = shown(
        parse([["Item", "FY22", None, "FY23", "Change"], ["Sales", 1, None, 2, 1], ["Costs", 2, None, 3, 1]])
    )
    assert [table[1] for table in spaced] == [["Item", "FY22", "FY23", "Change"]]
    again = shown(parse([["Ward", "Beds", None, "Ward", "Beds"], ["A", 1, None, "B", 2]]))
    assert [table[2] for table in again] == [[("A", 1)], [("B", 2)]]


def test_a_header_that_comes_again_begins_another_table(parse: Parse) -> None:
    tables = shown(parse([["Ward", "Lead"], ["A", "Ann"], [], ["Ward", "Lead"], ["B", "Bo"]]))
    assert [table[2] for table in tables] == [[("A", "Ann")], [("B", "Bo")]]


@pytest.mark.parametrize(
    "rows",
    [
        [["Code", "Fee"], ["A1", 10], [], ["A2", 20], [], [], ["A3", 30]],
        [["Code", None, "Fee"], ["A1", None, 10], [], ["A2", None, 20], ["A3", None, 30]],
        [["Code", "Fee"], [], ["A1", 10], ["A2", 20], [], ["A3", 30]],
    ],
)
def test_gaps_inside_a_table_do_not_part_it(parse: Parse, rows: list[Row]) -> None:
    [table] = shown(parse(rows))
    assert table[1:] == (["Code", "Fee"], [("A1", 10), ("A2", 20), ("A3", 30)])


def test_texts_behind_a_blank_row_stay_rows_of_a_table_of_texts(parse: Parse) -> None:
    [table] = shown(parse([["Name", "Role"], ["Ann", "Nurse"], [], ["Bo", "Clerk"], ["Cy", "Cook"]]))
    assert table[2] == [("Ann", "Nurse"), ("Bo", "Clerk"), ("Cy", "Cook")]


def test_a_merged_header_goes_before_the_labels_under_it(parse: Parse) -> None:
    rows = [["Region", 2023, None, 2024, None], [None, "Q1", "Q2", "Q1", "Q2"], ["North", 1, 2, 3, 4]]
    [table] = shown(parse(rows, merged=["A1:A2", "B1:C1", "D1:E1"]))
    assert table[1:] == (["Region", "2023 Q1", "2023 Q2", "2024 Q1", "2024 Q2"], [("North", 1, 2, 3, 4)])
    deeper = [
        ["Costs", None, None, None],
        ["Ward", "Drugs", None, "Staff"],
        [None, "Own", "Bought", "All"],
        ["A", 1, 2, 3],
    ]
    [table] = shown(parse(deeper, merged=["A1:D1", "A2:A3", "B2:C2"]))
    assert table[:2] == ("Costs", ["Ward", "Drugs Own", "Drugs Bought", "Staff All"])


def test_a_label_merged_over_columns_of_its_own_names_them_all(parse: Parse) -> None:
    workbook = parse(
        [["Topic", "Period", None], ["Costs", "FY 22", "FY 23"], ["Staff", "FY 21", None]], merged=["B1:C1"]
    )
    [table] = workbook.tables
    assert [(c.name, c.label) for c in table.columns] == [
        ("topic", "Topic"),
        ("period", "Period"),
        ("period_2", "Period"),
    ]
    assert table.row_count == 2


def test_years_are_labels_below_a_title(parse: Parse) -> None:
    [table] = shown(parse([["Births by ward"], ["Ward", "2022", "2023"], ["A", 5, 6]]))
    assert table == ("Births by ward", ["Ward", "2022", "2023"], [("A", 5, 6)])


def test_a_workbook_of_9000_rows_has_9000_rows(parse: Parse) -> None:
    workbook = parse([["Id", "Code", "Fee"], *([n, f"{n:04d}", n / 4] for n in range(9_000))])
    [(_, _, rows)] = shown(workbook)
    assert workbook.tables[0].row_count == len(rows) == 9_000
    assert rows[0] == (0, "0000", 0) and rows[-1][:2] == (8_999, "8999")


def test_an_open_document_sheet_gives_values_dates_errors_and_hidden_sheets(tmp_path: Path) -> None:
    def text(value: str) -> str:
        return f'office:value-type="string"><text:p>{value}</text:p>'

    path = write_ods(
        tmp_path / "book.ods",
        {
            "Open": [
                [text("Code"), text("Seen"), text("Fee")],
                [
                    text("0010"),
                    'office:value-type="date" office:date-value="2024-02-29"><text:p>29.2.24</text:p>',
                    text("#DIV/0!"),
                ],
                [
                    text("021000021"),
                    'office:value-type="date" office:date-value="2024-03-01"><text:p>1.3.24</text:p>',
                    'table:formula="of:=1+1" office:value-type="float" office:value="2"><text:p>2</text:p>',
                ],
            ],
            "Off": [[text("a")], [text("b")]],
        },
        hidden=["Off"],
    )
    assert detect_file(path, "book.ods").kind == "xlsx"
    workbook = parse_xlsx(path, "book.ods", tmp_path)
    first, second = shown(workbook)
    assert first[2] == [("0010", date(2024, 2, 29), None), ("021000021", date(2024, 3, 1), 2)]
    assert second[1:] == (["a"], [("b",)])
    told = {(w.code, w.sheet, w.row) for w in workbook.warnings}
    assert {("error_cell", "Open", 2), ("hidden_sheet", "Off", None)} <= told


def test_an_old_workbook_keeps_its_codes(shared_data: Path, tmp_path: Path) -> None:
    path = shared_data / "documents" / "spreadsheets" / "fric__cast-int-to-string-issue-1251.xls"
    assert detect_file(path, path.name).kind == "xlsx"
    [table] = shown(parse_xlsx(path, path.name, tmp_path))
    assert [row[0] for row in table[2]] == ["001", "002"]
