"""What every Relational does.

Inherit and give the fixtures `relational` and `impatient_relational`, both set up, and `as_owner`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from foundation.errors import NotFound, QueryFailed, QueryTimedOut, StageFailed
from foundation.ports.relational import Relational
from foundation.sql_guard import guard
from foundation.types import Column, QueryResult

EVERY_TYPE = (
    Column("big", "Big", "bigint"),
    Column("price", "Price", "decimal", precision=10, scale=2),
    Column("ratio", "Ratio", "double"),
    Column("flag", "Flag", "boolean"),
    Column("day", "Day", "date"),
    Column("seen", "Seen", "timestamp"),
    Column("name", "Name", "text"),
)
ROWS: list[tuple[Any, ...]] = [
    (
        7,
        Decimal("12.30"),
        0.5,
        True,
        date(2024, 2, 29),
        datetime.fromisoformat("2024-02-29T23:59:59.123456"),
        "Zoë \\ 'q' \"\n\t\\N",
    ),
    (-(2**63), Decimal("-99999999.99"), 1e300, False, date(1, 1, 1), datetime.fromisoformat("1900-01-01"), ""),
    (None,) * 7,
]
AsOwner = Callable[[Sequence[str]], None]
"""Runs statements in one transaction of the role that owns the schemas."""

ONE = (Column("a", "A", "bigint"),)


class RelationalContract:
    @pytest.fixture
    def relational(self) -> Relational:
        raise NotImplementedError

    @pytest.fixture
    def impatient_relational(self) -> Relational:
        """One whose time-out is at most a second."""
        raise NotImplementedError

    @pytest.fixture
    def as_owner(self) -> AsOwner:
        raise NotImplementedError

    def ask(
        self,
        relational: Relational,
        statement: str,
        tables: Mapping[str, Sequence[str]],
        *,
        limit: int = 100,
        parameters: Sequence[Any] = (),
    ) -> QueryResult:
        dialect = cast(Any, relational.dialect)
        return relational.query(guard(statement, dialect=dialect, tables=tables, limit=limit, parameters=parameters))

    def test_every_type_goes_in_and_comes_back(self, relational: Relational, as_owner: AsOwner) -> None:
        assert relational.copy_table("phys_1", EVERY_TYPE, iter(ROWS)) == 3
        assert relational.row_count("phys_1") == 3
        assert relational.column_types("phys_1") == {column.name: column.type for column in EVERY_TYPE}
        as_owner(relational.publish_statements("every_type", "phys_1"))
        names = [column.name for column in EVERY_TYPE]
        result = self.ask(relational, "SELECT * FROM every_type ORDER BY big DESC NULLS LAST", {"every_type": names})
        assert result.columns == tuple(names)
        assert result.rows == tuple(ROWS)
        assert not result.truncated

    def test_a_parquet_file_goes_in_as_its_rows_would(
        self, relational: Relational, as_owner: AsOwner, tmp_path: Path
    ) -> None:
        kinds = (pa.int64(), pa.decimal128(10, 2), pa.float64(), pa.bool_(), pa.date32(), pa.timestamp("us"))
        fields = [(c.name, kind) for c, kind in zip(EVERY_TYPE, (*kinds, pa.string()), strict=True)]
        values = [dict(zip([name for name, _ in fields], row, strict=True)) for row in ROWS]
        pq.write_table(pa.Table.from_pylist(values, pa.schema(fields)), tmp_path / "t.parquet")
        assert relational.copy_parquet("phys_1", EVERY_TYPE, tmp_path / "t.parquet") == 3
        assert relational.column_types("phys_1") == {column.name: column.type for column in EVERY_TYPE}
        as_owner(relational.publish_statements("every_type", "phys_1"))
        known = {"every_type": [column.name for column in EVERY_TYPE]}
        result = self.ask(relational, "SELECT * FROM every_type ORDER BY big DESC NULLS LAST", known)
        assert result.rows == tuple(ROWS)

    def test_a_column_may_have_any_name_that_fits(self, relational: Relational, as_owner: AsOwner) -> None:
        columns = (Column('we"ird %s ü', "x", "bigint"), Column("select", "y", "text"))
        relational.copy_table("phys_1", columns, [(1, "a")])
        as_owner(relational.publish_statements("odd", "phys_1"))
        result = self.ask(relational, 'SELECT "we""ird %s ü", "select" FROM odd', {"odd": [c.name for c in columns]})
        assert result.rows == ((1, "a"),)

    def test_a_failed_copy_leaves_the_earlier_table_as_it_was(self, relational: Relational, as_owner: AsOwner) -> None:
        relational.copy_table("phys_1", ONE, [(1,), (2,)])
        as_owner(relational.publish_statements("t", "phys_1"))
        with pytest.raises(StageFailed) as caught:
            relational.copy_table("phys_1", ONE, [(3,), ("not a number",)])
        assert "phys_1" in caught.value.message

        def broken() -> Iterator[tuple[int]]:
            yield (3,)
            raise OSError("the file went away")

        with pytest.raises(OSError, match="went away"):
            relational.copy_table("phys_1", ONE, broken())
        assert self.ask(relational, "SELECT a FROM t ORDER BY a", {"t": ["a"]}).rows == ((1,), (2,))

    def test_copying_again_replaces_rows_and_columns_under_the_published_name(
        self, relational: Relational, as_owner: AsOwner
    ) -> None:
        relational.copy_table("phys_1", ONE, [(1,)])
        as_owner(relational.publish_statements("t", "phys_1"))
        relational.copy_table("phys_1", (Column("b", "B", "text"),), [("x",), ("y",)])
        assert relational.column_types("phys_1") == {"b": "text"}
        assert self.ask(relational, "SELECT b FROM t ORDER BY b", {"t": ["b"]}).rows == (("x",), ("y",))

    def test_an_empty_table_is_a_table(self, relational: Relational) -> None:
        assert relational.copy_table("phys_1", ONE, []) == 0
        assert relational.row_count("phys_1") == 0

    def test_publishing_moves_a_name_to_another_table(self, relational: Relational, as_owner: AsOwner) -> None:
        relational.copy_table("phys_1", ONE, [(1,)])
        relational.copy_table("phys_2", (Column("a", "A", "text"), Column("b", "B", "text")), [("x", "y")])
        as_owner(relational.publish_statements("t", "phys_1"))
        as_owner(relational.publish_statements("t", "phys_2"))
        as_owner(relational.publish_statements("t", "phys_2"))
        assert self.ask(relational, "SELECT a, b FROM t", {"t": ["a", "b"]}).rows == (("x", "y"),)

    def test_an_unpublished_name_is_gone(self, relational: Relational, as_owner: AsOwner) -> None:
        relational.copy_table("phys_1", ONE, [(1,)])
        as_owner(relational.publish_statements("t", "phys_1"))
        as_owner(relational.unpublish_statements("t"))
        as_owner(relational.unpublish_statements("t"))
        with pytest.raises(QueryFailed):
            self.ask(relational, "SELECT a FROM t", {"t": ["a"]})
        assert relational.row_count("phys_1") == 1

    def test_dropping_a_table_takes_its_name_with_it_and_tells_whether_it_was_there(
        self, relational: Relational, as_owner: AsOwner
    ) -> None:
        relational.copy_table("phys_1", ONE, [(1,)])
        as_owner(relational.publish_statements("t", "phys_1"))
        assert relational.has_table("phys_1")
        assert relational.drop_table("phys_1") is True
        assert not relational.has_table("phys_1")
        assert relational.drop_table("phys_1") is False
        with pytest.raises(QueryFailed):
            self.ask(relational, "SELECT a FROM t", {"t": ["a"]})
        with pytest.raises(NotFound):
            relational.row_count("phys_1")
        with pytest.raises(NotFound):
            relational.column_types("phys_1")

    def test_parameters_are_bound_by_their_place_in_the_text(self, relational: Relational, as_owner: AsOwner) -> None:
        columns = (*ONE, Column("b", "B", "text"))
        relational.copy_table("phys_1", columns, [(1, "x"), (2, "y' OR '1'='1"), (3, "z")])
        as_owner(relational.publish_statements("t", "phys_1"))
        statement = "WITH q AS (SELECT a, b FROM t WHERE b = ? AND b LIKE '%y%') SELECT a FROM q WHERE a > ?"
        result = self.ask(relational, statement, {"t": ["a", "b"]}, parameters=["y' OR '1'='1", 1])
        assert result.rows == ((2,),)

    def test_more_rows_than_the_limit_are_cut_and_said_to_be(self, relational: Relational, as_owner: AsOwner) -> None:
        relational.copy_table("phys_1", ONE, [(n,) for n in range(20)])
        as_owner(relational.publish_statements("t", "phys_1"))
        cut = self.ask(relational, "SELECT a FROM t ORDER BY a", {"t": ["a"]}, limit=5)
        assert [a for (a,) in cut.rows] == [0, 1, 2, 3, 4]
        assert cut.truncated
        assert not self.ask(relational, "SELECT a FROM t", {"t": ["a"]}, limit=20).truncated

    def test_a_query_that_takes_too_long_is_stopped_and_the_next_one_runs(
        self, impatient_relational: Relational, as_owner: AsOwner
    ) -> None:
        impatient_relational.copy_table("phys_1", ONE, [(n,) for n in range(3000)])
        as_owner(impatient_relational.publish_statements("t", "phys_1"))
        started = time.monotonic()
        with pytest.raises(QueryTimedOut):
            self.ask(
                impatient_relational, "SELECT count(*) FROM t a, t b, t c WHERE a.a + b.a < c.a * b.a", {"t": ["a"]}
            )
        assert time.monotonic() - started < 10
        assert self.ask(impatient_relational, "SELECT count(*) FROM t", {"t": ["a"]}).rows == ((3000,),)

    def test_what_the_server_refuses_is_a_failed_query(self, relational: Relational, as_owner: AsOwner) -> None:
        relational.copy_table("phys_1", ONE, [(0,)])
        as_owner(relational.publish_statements("t", "phys_1"))
        with pytest.raises(QueryFailed, match="zero") as caught:
            self.ask(relational, "SELECT 1 / a FROM t", {"t": ["a"]})
        assert not isinstance(caught.value, QueryTimedOut)
