"""The semantic query: what is asked of tables, without SQL.

Rules fill it offline (planner.py); a language model fills the same JSON Schema (`SemanticQuery.model_json_schema()`).
compiler.py turns it into SQL for each dialect. A column reference is `table.column`, or the name of a `computed`
column.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Scalar = str | int | float | bool
Function = Literal["count", "count_distinct", "sum", "avg", "min", "max", "median", "share", "per_distinct", "ratio"]
Grain = Literal["day", "month", "quarter", "year"]
Operator = Literal[
    "=", "!=", "<", "<=", ">", ">=", "in", "not_in", "contains", "starts_with", "is_null", "not_null", "between"
]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Filter(_Part):
    """One condition. All filters of a list hold together; text is compared without regard to case."""

    column: str = Field(description="table.column, or the name of a computed column")
    operator: Operator
    values: tuple[Scalar, ...] = Field(
        default=(),
        description="none for is_null and not_null; one for comparisons; any number for in, not_in; pairs (low, high, "
        "both inclusive) for between, where several pairs mean any of them. Dates and times as ISO 8601.",
    )


class Computed(_Part):
    """A column worked out from others. `years_between` counts completed years, as an age does."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    function: Literal["years_between", "days_between", "hours_between", "minutes_between"]
    start: str = Field(description="table.column (a date, a timestamp, or a whole number that is a year)")
    end: str = Field(description="table.column, or an ISO date")


class CountCondition(_Part):
    operator: Literal["=", "<", "<=", ">", ">="]
    value: int


class Related(_Part):
    """Keeps rows for which the related table has (or, negated, has no) row that satisfies the filters.

    This is how "patients who have A and B, but not C" is said: one entry for each of A, B and C.
    """

    table: str
    filters: tuple[Filter, ...] = ()
    computed: tuple[Computed, ...] = ()
    negated: bool = False
    on: tuple[str, str] | None = Field(
        default=None,
        description="(table.column outside, column of the related table); absent: derived from key columns",
    )
    rows: CountCondition | None = Field(
        default=None, description="how many such rows there must be; absent: one or more"
    )


class Measure(_Part):
    function: Function = Field(
        description="share: percent of rows (or of distinct values of `column`) that satisfy where and where_related; "
        "per_distinct: rows per distinct value of `column`; ratio: sum of `column` by sum of `per`"
    )
    column: str | None = Field(default=None, description="absent for count of rows")
    per: str | None = Field(default=None, description="ratio only: the column of numbers to divide by")
    alias: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    where: tuple[Filter, ...] = Field(default=(), description="share only")
    where_related: tuple[Related, ...] = Field(default=(), description="share only")


class Dimension(_Part):
    column: str
    grain: Grain | None = Field(default=None, description="dates and timestamps only; year gives a whole number")
    alias: str | None = Field(default=None, pattern=r"^[a-z][a-z0-9_]*$")


class Join(_Part):
    left: str = Field(description="table.column")
    right: str = Field(description="table.column of the table that is added")


class Having(_Part):
    measure: str = Field(description="alias of a measure")
    operator: Literal["=", "!=", "<", "<=", ">", ">="]
    value: float | int


class Order(_Part):
    by: str = Field(description="alias of a measure or a dimension, or table.column")
    descending: bool = False


class SemanticQuery(_Part):
    """Rows of the first table, with others joined to it; grouped when there are measures, plain rows otherwise."""

    tables: tuple[str, ...] = Field(min_length=1, description="the table whose rows are counted or shown comes first")
    select: tuple[str, ...] = Field(default=(), description="columns of a row-level question; absent with measures")
    measures: tuple[Measure, ...] = ()
    dimensions: tuple[Dimension, ...] = ()
    computed: tuple[Computed, ...] = ()
    filters: tuple[Filter, ...] = ()
    related: tuple[Related, ...] = ()
    having: tuple[Having, ...] = ()
    joins: tuple[Join, ...] = Field(default=(), description="absent: derived from key columns")
    order_by: tuple[Order, ...] = ()
    limit: int | None = Field(default=None, ge=1, le=10_000)
    distinct: bool = False
