"""Names of tables and columns, held against what the engines take without quotes."""

from __future__ import annotations

import duckdb
import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.parsing.table_names import MAX_BYTES, RESERVED, column_names, table_name


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("TOTAL_CLAIM_COST", "total_claim_cost"),
        ("patientId", "patient_id"),
        ("Größe (cm)", "grosse_cm"),
        ("Año", "ano"),
        ("Имя", "имя"),
        ("Rate %", "rate_percent"),
        ("#", "number"),
        ("2019", "c_2019"),
        ("  two\nlines ", "two_lines"),
        ("end", "end_"),
        ("ctid", "ctid_"),
        ("", "column_1"),
        ("---", "column_1"),
    ],
)
def test_a_label_is_folded_to_an_identifier(label: str, name: str) -> None:
    assert column_names([label]) == [name]


def test_equal_labels_are_numbered_and_never_clash_with_a_label_that_looks_numbered() -> None:
    assert column_names(["a", "A", "a 2", "a", ""]) == ["a", "a_2", "a_2_2", "a_3", "column_5"]


def test_a_long_label_is_cut_between_characters_and_stays_distinct() -> None:
    names = column_names(["ж" * 200, "ж" * 200])
    assert len(set(names)) == 2
    assert all(len(name.encode()) <= MAX_BYTES for name in names)


@given(st.lists(st.text(max_size=80), max_size=12))
def test_names_of_any_labels_are_distinct_short_and_one_word(labels: list[str]) -> None:
    names = column_names(labels)
    assert len(set(names)) == len(names) == len(labels)
    for name in names:
        assert name.isidentifier() or all(c == "_" or c.isalnum() for c in name)
        assert not name[0].isdigit() and len(name.encode()) <= MAX_BYTES + 1
        assert name == name.lower() and name not in RESERVED


def test_both_engines_take_the_names_of_reserved_words_and_foreign_letters_without_quotes(empty_database: str) -> None:
    labels = [*sorted(RESERVED), "Имя", "名前", "ʤ", "größe", "2019", "Rate %", "date", "value", "year", "timestamp"]
    statement = f"create table t ({', '.join(f'{name} int' for name in column_names(labels))})"
    duckdb.connect().execute(statement)
    with psycopg.connect(empty_database) as connection:
        connection.execute(statement.encode())


def test_a_table_is_named_after_its_file_and_after_its_sheet_only_where_there_are_several() -> None:
    assert table_name("Price List 2025.xlsx", "Fees", 1) == "price_list_2025"
    assert table_name("Price List 2025.xlsx", "Fees", 2) == "price_list_2025_fees"
    assert table_name("encounters.csv", None, 1, taken={"encounters", "encounters_2"}) == "encounters_3"
    assert table_name("???.csv", None, 1) == "table_1"
