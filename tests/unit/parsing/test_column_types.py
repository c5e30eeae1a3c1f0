"""Types are inferred over all values of a column."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.parsing.column_types import ColumnEvidence, decide_all

at = datetime.fromisoformat


def read(*columns: list[str | None]) -> list[tuple[str, list[Any]]]:
    """(type, values) of each column of one table; two batches, so that evidence has to add up."""
    evidence = [ColumnEvidence() for _ in columns]
    for column, each in zip(columns, evidence, strict=True):
        middle = len(column) // 2
        each.observe(pa.array(column[:middle], pa.string()))
        each.observe(pa.array(column[middle:], pa.string()))
    types = decide_all(evidence)
    results = []
    for column, typed in zip(columns, types, strict=True):
        converted = typed.kind.convert(pa.array(column, pa.string()))
        assert converted.type == typed.arrow
        name = f"decimal({typed.precision},{typed.scale})" if typed.type == "decimal" else typed.type
        results.append((name, converted.to_pylist()))
    return results


@pytest.mark.parametrize(
    ("values", "expected", "first"),
    [
        (["1", "-20", None], "bigint", 1),
        (["9007199254740992", "1"], "bigint", 2**53),
        (["12.50", "3", ".5"], "decimal(4,2)", Decimal("12.50")),
        (["0.25", "0.1234"], "decimal(5,4)", Decimal("0.25")),
        (["0.12345", "1"], "double", 0.12345),
        (["12345678901234.5", "0.1234"], "decimal(18,4)", Decimal("12345678901234.5")),
        (["123456789012345.5", "0.1234"], "double", 123456789012345.5),
        (["1e-05", "2"], "double", 1e-05),
        (["true", "FALSE"], "boolean", True),
        (["2024-02-29", "1924-01-01"], "date", date(2024, 2, 29)),
        (
            ["2024-01-31T09:30:00Z", "2024-01-31 09:30:00.5+02:00"],
            "timestamp",
            at("2024-01-31 09:30:00"),
        ),
        (
            ["2024-01-31T23:30:00-05:00", "2024-01-31T00:00Z"],
            "timestamp",
            at("2024-02-01 04:30:00"),
        ),
        (["2024-01-31 09:30", "2024-02-01"], "timestamp", at("2024-01-31 09:30:00")),
        (
            ["2024-01-31T09:30:00.1234567Z", "2024-01-31T09:30:00Z"],
            "timestamp",
            at("2024-01-31 09:30:00.123456"),
        ),
        (["31/01/2024", "05/02/2024"], "date", date(2024, 1, 31)),
        (["1/31/2024", "2/5/2024"], "date", date(2024, 1, 31)),
        (["31.01.2024", "5.2.2024"], "date", date(2024, 1, 31)),
        (["31-Jan-2024", "05-May-2024"], "date", date(2024, 1, 31)),
        (["1/31/2024 2:05 PM", "2/5/2024 11:00 AM"], "timestamp", at("2024-01-31 14:05:00")),
        (["1,234,567", "12"], "bigint", 1_234_567),
        (["6,718", "776"], "bigint", 6718),
        (["1,5", "12,25"], "decimal(4,2)", Decimal("1.5")),
        (["1.234,56", "7"], "decimal(6,2)", Decimal("1234.56")),
    ],
)
def test_values_that_fit_one_type_get_it(values: list[str | None], expected: str, first: Any) -> None:
    [(name, converted)] = read(values)
    assert (name, converted[0]) == (expected, first)


@pytest.mark.parametrize(
    "values",
    [
        ["0010", "21"],  # leading zeros
        ["021000021"],  # a routing number
        ["9007199254740993", "1"],  # beyond 2^53
        ["99999999999999999999"],  # beyond 64 bits
        ["-9007199254740993.5", "1"],
        ["+4930123", "1"],
        ["1E90", "1E91"],  # ICD-11 codes, not exponents
        ["5 mg", "10"],
        ["$5.00"],
        ["yes", "no"],
        ["true", "1"],
        ["NA", "1"],
        ["2024-02-30"],
        ["2024-01-31T25:00:00"],
        ["2024-01-31T09:30:00Z", "2024-01-31T09:30:00"],  # an offset here, none there
        ["03/04/2024", "05/06/2024"],  # day first or month first
        ["31/01/2024", "01/31/2024"],
        ["31/01/24", "30/01/24"],
        ["6,718"],  # 6718 or 6.718
        ["200.000.000"],
        ["192.168.100.200", "192.168.100.201"],
        ["1,234,56", "1"],
        ["12:30", "13:00"],
        [None, None],
        [],
    ],
)
def test_values_that_fit_no_type_or_two_stay_text_as_written(values: list[str | None]) -> None:
    assert read(values) == [("text", values)]


def test_one_late_value_decides_over_thousands_before_it() -> None:
    assert read([*["1"] * 5_000, "1a"])[0][0] == "text"
    assert read([*["1"] * 5_000, "1.25"])[0][0] == "decimal(3,2)"
    assert read([*["01/02/2024"] * 5_000, "13/02/2024"])[0][0] == "date"


def test_a_column_with_a_decimal_comma_settles_ambiguous_numbers_in_the_other_columns() -> None:
    price, amount, plain = read(["1,5", "22,75"], ["1,250", "2,125"], ["1.250", "2.500"])
    assert price[0] == "decimal(4,2)"
    assert amount == ("decimal(4,3)", [Decimal("1.250"), Decimal("2.125")])
    assert plain == ("bigint", [1250, 2500])


def test_a_column_with_grouped_thousands_settles_ambiguous_numbers_in_the_other_columns() -> None:
    assert read(["1,234,567", "2"], ["6,718", "7,719"])[1] == ("bigint", [6718, 7719])


@given(st.lists(st.integers(-(2**53), 2**53), min_size=1))
def test_whole_numbers_survive_unchanged(numbers: list[int]) -> None:
    assert read([str(n) for n in numbers]) == [("bigint", numbers)]


@given(st.lists(st.decimals(min_value=-(10**12), max_value=10**12, places=3), min_size=1))
def test_decimals_survive_unchanged(numbers: list[Decimal]) -> None:
    [(name, values)] = read([f"{n:f}" for n in numbers])
    assert name.startswith("decimal") and values == numbers


@given(st.lists(st.text(min_size=1), min_size=1))
def test_any_text_is_converted_without_an_error(texts: list[str]) -> None:
    clean = [text.encode("utf-8", "ignore").decode() for text in texts]
    assert len(read(clean)[0][1]) == len(clean)
