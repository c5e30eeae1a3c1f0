from __future__ import annotations

from pipelines.parsing.table_lines import ABOVE, LEFT, table_text


def test_each_cell_stands_with_its_columns_header() -> None:
    rows = [["Drug", "Form", "Dose"], ["Metformin", "tablet", "500 mg"], ["Insulin", "", "10 units"]]
    assert table_text([*rows], header=1) == (
        "Drug | Form | Dose\nDrug: Metformin | Form: tablet | Dose: 500 mg\nDrug: Insulin | Dose: 10 units"
    )


def test_a_merged_cell_belongs_to_each_row_that_it_reaches_into() -> None:
    rows = [["Drug", "Form"], ["Metformin", "tablet"], [ABOVE, "solution"]]
    assert table_text([*rows], header=1).splitlines()[1:] == [
        "Drug: Metformin | Form: tablet",
        "Drug: Metformin | Form: solution",
    ]


def test_two_header_rows_give_the_group_and_the_column() -> None:
    rows = [["Test", "Normal", LEFT], [ABOVE, "low", "high"], ["Sodium", "135", "145"]]
    assert table_text([*rows], header=2).splitlines()[-1] == "Test: Sodium | Normal low: 135 | Normal high: 145"


def test_a_header_that_nobody_marked_is_seen_by_looks_or_values() -> None:
    rows = [["Ward", "Head"], ["A", "Lee"], ["B", "Kim"]]
    assert table_text([*rows]) == "Ward | Head\nA | Lee\nB | Kim"
    assert table_text([*rows], bold=True).splitlines()[1] == "Ward: A | Head: Lee"
    prices = [["Item", "Price"], ["tea", "2"], ["cake", "3.50"], ["water", "1"]]
    assert table_text([*prices]).splitlines()[2] == "Item: cake | Price: 3.50"
    staff = [["Name", "Role", "Phone"], ["Lee", "nurse", "12"], ["Kim", "clerk", "13"]]
    assert table_text([*staff]).splitlines()[1] == "Name: Lee | Role: nurse | Phone: 12"


def test_a_form_is_no_table_with_a_header() -> None:
    form = [["Name", "John Smith"], ["Phone", "555-1234"], ["Zip", "75001"]]
    assert table_text([*form]) == "Name | John Smith\nPhone | 555-1234\nZip | 75001"
    wide = [["Name:", "John Smith", "Born:", "1980"], ["City:", "Paris", "Zip:", "75001"]]
    assert table_text([*wide]).splitlines()[1] == "City: | Paris | Zip: | 75001"


def test_lines_of_a_nested_table_follow_their_row_and_empty_rows_go() -> None:
    rows = [["a", "b"], "x | y", ["", ""], ["c", "d"]]
    assert table_text([*rows]) == "a | b\nx | y\nc | d"
