"""What every Warehouse does. Inherit and give the fixtures `warehouse`, `impatient_warehouse` and `store`."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, cast

import pyarrow as pa
import pytest

from foundation.errors import QueryFailed, QueryTimedOut
from foundation.ports.warehouse import Warehouse
from foundation.sql_guard import guard
from foundation.types import QueryResult, TableInfo

Store = Callable[[str, pa.Table], TableInfo]
"""Puts a typed table where the warehouse finds it."""


def every_type() -> pa.Table:
    """One column of each ColumnType, a row of values, a row of extremes, a row of nulls.

    Time stamps to the millisecond: Athena reads no finer ones.
    """
    return pa.table(
        {
            "id": pa.array([1, 2, 3], pa.int64()),
            "big": pa.array([7, -(2**63), None], pa.int64()),
            "price": pa.array([Decimal("12.30"), Decimal("-99999999.99"), None], pa.decimal128(10, 2)),
            "ratio": pa.array([0.5, 1e300, None], pa.float64()),
            "flag": pa.array([True, False, None], pa.bool_()),
            "day": pa.array([date(2024, 2, 29), date(1, 1, 1), None], pa.date32()),
            "seen": pa.array(
                [datetime.fromisoformat("2024-02-29T23:59:59.123"), datetime.fromisoformat("1900-01-01"), None],
                pa.timestamp("us"),
            ),
            "name": pa.array(["Zoë \\ 'quoted' \"\n\t%_", "", None], pa.string()),
        }
    )


class WarehouseContract:
    @pytest.fixture
    def warehouse(self) -> Warehouse:
        raise NotImplementedError

    @pytest.fixture
    def impatient_warehouse(self) -> Warehouse:
        """One whose time-out is at most a second."""
        raise NotImplementedError

    @pytest.fixture
    def store(self) -> Store:
        raise NotImplementedError

    def ask(
        self,
        warehouse: Warehouse,
        statement: str,
        tables: Sequence[TableInfo],
        *,
        limit: int = 100,
        parameters: Sequence[Any] = (),
    ) -> QueryResult:
        names = {table.name: [column.name for column in table.columns] for table in tables}
        dialect = cast(Any, warehouse.dialect)
        sql = guard(statement, dialect=dialect, tables=names, limit=limit, parameters=parameters)
        return warehouse.query(sql, tables)

    def test_every_type_comes_back_as_a_plain_python_value(self, warehouse: Warehouse, store: Store) -> None:
        data = every_type()
        result = self.ask(warehouse, "SELECT * FROM every_type ORDER BY id", [store("every_type", data)])
        assert result.columns == tuple(data.column_names)
        assert result.rows == tuple(tuple(row.values()) for row in data.to_pylist())
        assert [type(value) for value in result.rows[0]] == [int, int, Decimal, float, bool, date, datetime, str]
        assert not result.truncated
        assert result.seconds > 0

    def test_joins_two_tables(self, warehouse: Warehouse, store: Store) -> None:
        people = store("people", pa.table({"person": [1, 2], "name": ["Ann", "Ben"]}))
        visits = store("visits", pa.table({"person": [1, 1, 2], "cost": [5, 6, 7]}))
        result = self.ask(
            warehouse,
            "SELECT p.name, sum(v.cost) AS total FROM people p JOIN visits v ON v.person = p.person "
            "GROUP BY p.name ORDER BY p.name",
            [people, visits],
        )
        assert result.rows == (("Ann", 11), ("Ben", 7))

    def test_parameters_are_bound_by_their_place_in_the_text(self, warehouse: Warehouse, store: Store) -> None:
        table = store("t", pa.table({"a": [1, 2, 3], "b": ["x", "y' OR '1'='1", "z"]}))
        statement = "WITH q AS (SELECT a, b FROM t WHERE b = ?) SELECT a FROM q WHERE a > ?"
        assert self.ask(warehouse, statement, [table], parameters=["y' OR '1'='1", 1]).rows == ((2,),)

    def test_more_rows_than_the_limit_are_cut_and_said_to_be(self, warehouse: Warehouse, store: Store) -> None:
        table = store("t", pa.table({"a": list(range(20))}))
        cut = self.ask(warehouse, "SELECT a FROM t ORDER BY a", [table], limit=5)
        assert [a for (a,) in cut.rows] == [0, 1, 2, 3, 4]
        assert cut.truncated
        whole = self.ask(warehouse, "SELECT a FROM t ORDER BY a", [table], limit=20)
        assert len(whole.rows) == 20
        assert not whole.truncated
        own = self.ask(warehouse, "SELECT a FROM t ORDER BY a LIMIT 3", [table], limit=5)
        assert len(own.rows) == 3
        assert not own.truncated

    def test_no_rows_still_have_columns(self, warehouse: Warehouse, store: Store) -> None:
        table = store("t", pa.table({"a": pa.array([], pa.int64())}))
        result = self.ask(warehouse, "SELECT a, a AS b FROM t", [table])
        assert result.columns == ("a", "b")
        assert result.rows == ()

    def test_a_query_that_takes_too_long_is_stopped_and_the_next_one_runs(
        self, impatient_warehouse: Warehouse, store: Store
    ) -> None:
        table = store("t", pa.table({"a": list(range(5000))}))
        started = time.monotonic()
        with pytest.raises(QueryTimedOut):
            self.ask(
                impatient_warehouse, "SELECT count(*) FROM t a, t b, t c, t d WHERE a.a + b.a < c.a * d.a", [table]
            )
        assert time.monotonic() - started < 10
        assert self.ask(impatient_warehouse, "SELECT count(*) AS n FROM t", [table]).rows == ((5000,),)

    def test_what_the_engine_refuses_is_a_failed_query(self, warehouse: Warehouse, store: Store) -> None:
        table = store("t", pa.table({"b": ["x"]}))
        with pytest.raises(QueryFailed) as caught:
            self.ask(warehouse, "SELECT CAST(b AS bigint) AS n FROM t", [table])
        assert not isinstance(caught.value, QueryTimedOut)
        assert "x" in caught.value.message

    def test_reads_no_table_that_was_not_handed_in(self, warehouse: Warehouse, store: Store) -> None:
        first, second = store("t", pa.table({"a": [1]})), store("u", pa.table({"a": [2]}))
        sql = guard(
            "SELECT a FROM u",
            dialect=cast(Any, warehouse.dialect),
            tables={"t": ["a"], "u": ["a"]},
            limit=5,
        )
        with pytest.raises(QueryFailed):
            warehouse.query(sql, [first])
        assert warehouse.query(sql, [first, second]).rows == ((2,),)

    def test_threads_may_share_it(self, warehouse: Warehouse, store: Store) -> None:
        tables = [store(f"t{n}", pa.table({"a": [n]})) for n in range(4)]
        found: dict[int, Any] = {}

        def work(number: int) -> None:
            found[number] = self.ask(warehouse, f"SELECT a FROM t{number}", [tables[number]]).rows

        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == {n: ((n,),) for n in range(4)}
