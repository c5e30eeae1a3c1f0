from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from foundation.adapters.embedded.warehouse import DuckDbWarehouse, locked_database
from foundation.contracts.warehouse import Store, WarehouseContract
from foundation.errors import QueryFailed, Unavailable
from foundation.ports.warehouse import Warehouse
from foundation.types import Column, GuardedSql, TableInfo


@pytest.fixture
def store(tmp_path: Path) -> Store:
    def put(name: str, table: pa.Table) -> TableInfo:
        path = tmp_path / f"{name} o'clock.parquet"
        pq.write_table(table, path)
        columns = tuple(Column(column, column, "text") for column in table.column_names)
        return TableInfo(name, name, columns, table.num_rows, "upload", str(path), False, f"ds_{name}")

    return put


@pytest.fixture
def warehouse() -> Iterator[DuckDbWarehouse]:
    warehouse = DuckDbWarehouse()
    yield warehouse
    warehouse.close()


class TestDuckDb(WarehouseContract):
    @pytest.fixture
    def warehouse(self, warehouse: DuckDbWarehouse) -> Warehouse:
        return warehouse

    @pytest.fixture
    def impatient_warehouse(self) -> Iterator[Warehouse]:
        warehouse = DuckDbWarehouse(timeout_seconds=0.5)
        yield warehouse
        warehouse.close()

    @pytest.fixture
    def store(self, store: Store) -> Store:
        return store


def unguarded(statement: str, *tables: str) -> GuardedSql:
    """What the engine must stop on its own, should the guard ever miss it."""
    return GuardedSql(statement, "duckdb", tables, 10)


FORBIDDEN = [
    "SELECT * FROM read_text('{other}')",
    "SELECT * FROM read_parquet('{other}')",
    "SELECT * FROM '{other}'",
    "SELECT * FROM glob('{folder}/*')",
    "COPY main.t TO '{folder}/stolen.csv'",
    "ATTACH '{folder}/x.db' AS x",
    "EXPORT DATABASE '{folder}/dump'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET enable_external_access = true",
    "SET allowed_paths = ['/etc/passwd']",
    "SET memory_limit = '100GB'",
    "SET threads = 64",
    "SET temp_directory = '{folder}'",
    "RESET lock_configuration",
    "SELECT * FROM leaked",
]


@pytest.mark.parametrize("statement", FORBIDDEN)
def test_the_lock_holds_without_the_guard(statement: str, store: Store, tmp_path: Path) -> None:
    leaked = pa.table({"a": [1]})  # a Python variable of this name must not become a table
    path = store("t", leaked).parquet_path
    other = store("other", pa.table({"a": [2]})).parquet_path
    files = set(tmp_path.rglob("*"))
    database = locked_database({"t": path}, memory_mb=128, threads=1)
    assert database.execute("SELECT a FROM main.t").fetchall() == [(1,)]
    with pytest.raises(duckdb.Error):
        database.execute(statement.format(other=other.replace("'", "''"), folder=tmp_path)).fetchall()
    database.close()
    assert set(tmp_path.rglob("*")) == files


@pytest.mark.parametrize(
    "statement",
    [
        *FORBIDDEN,
        "CREATE TABLE main.left_behind AS SELECT 1 AS a",
        "CREATE OR REPLACE VIEW main.t AS SELECT 5 AS a",
        "SELECT 1; SELECT 2",
        "COMMIT; CREATE TABLE main.left_behind (a int)",
        "SET VARIABLE x = 1",
        "PREPARE p AS SELECT 1",
        "EXPLAIN SELECT 1",
    ],
)
def test_the_adapter_runs_one_select_and_nothing_else(
    statement: str, warehouse: DuckDbWarehouse, store: Store, tmp_path: Path
) -> None:
    table, other = store("t", pa.table({"a": [1]})), store("other", pa.table({"a": [2]}))
    text = statement.format(other=other.parquet_path.replace("'", "''"), folder=tmp_path)
    with pytest.raises(QueryFailed):
        warehouse.query(unguarded(text, "t"), [table, other])
    assert warehouse.query(unguarded("SELECT a FROM main.t", "t"), [table, other]).rows == ((1,),)


def test_a_replaced_file_is_read_anew(warehouse: DuckDbWarehouse, store: Store) -> None:
    sql = unguarded("SELECT * FROM main.t", "t")
    assert warehouse.query(sql, [store("t", pa.table({"a": [1]}))]).rows == ((1,),)
    assert warehouse.query(sql, [store("t", pa.table({"b": ["x", "y"]}))]).rows == (("x",), ("y",))


def test_more_sets_of_tables_than_stay_open_still_answer(warehouse: DuckDbWarehouse, store: Store) -> None:
    tables = [store(f"t{n}", pa.table({"a": [n]})) for n in range(12)]
    for _ in range(2):
        for n, table in enumerate(tables):
            assert warehouse.query(unguarded(f"SELECT a FROM main.t{n}", f"t{n}"), [table]).rows == ((n,),)


def test_a_query_that_needs_too_much_memory_fails_and_leaves_the_process_alive(store: Store) -> None:
    warehouse = DuckDbWarehouse(memory_mb=64)
    table = store("t", pa.table({"a": list(range(3000)), "b": ["x" * 200] * 3000}))
    with pytest.raises(QueryFailed, match="memory"):
        warehouse.query(unguarded("SELECT DISTINCT x.a, y.a, x.b || y.a FROM main.t x, main.t y", "t"), [table])
    assert warehouse.query(unguarded("SELECT count(*) FROM main.t", "t"), [table]).rows == ((3000,),)
    warehouse.close()


def test_a_table_whose_file_is_gone_is_unavailable(warehouse: DuckDbWarehouse, store: Store) -> None:
    table = store("t", pa.table({"a": [1]}))
    Path(table.parquet_path).unlink()
    with pytest.raises(Unavailable, match="table t"):
        warehouse.query(unguarded("SELECT a FROM main.t", "t"), [table])


def test_files_come_through_the_locator_and_are_let_go_after_the_query(store: Store, tmp_path: Path) -> None:
    table = store("t", pa.table({"a": [1]}))
    held: list[str] = []

    @contextmanager
    def locate(key: str) -> Iterator[Path]:
        held.append(key)
        yield Path(key)
        held.remove(key)

    warehouse = DuckDbWarehouse(locate=locate)
    assert warehouse.query(unguarded("SELECT a FROM main.t", "t"), [table]).rows == ((1,),)
    assert held == []
    warehouse.close()


def test_a_query_that_gets_no_turn_within_its_time_out_is_unavailable(store: Store, tmp_path: Path) -> None:
    table = store("t", pa.table({"a": [1]}))
    inside, leave = threading.Event(), threading.Event()

    @contextmanager
    def locate(key: str) -> Iterator[Path]:
        inside.set()
        leave.wait(10)
        yield Path(key)

    warehouse = DuckDbWarehouse(concurrency=1, timeout_seconds=0.2, locate=locate)
    thread = threading.Thread(target=quietly, args=(warehouse, unguarded("SELECT a FROM main.t", "t"), table))
    thread.start()
    inside.wait(10)
    with pytest.raises(Unavailable, match="busy"):
        warehouse.query(unguarded("SELECT 1"), [])
    leave.set()
    thread.join()
    assert warehouse.query(unguarded("SELECT 1"), []).rows == ((1,),)
    warehouse.close()


def quietly(warehouse: DuckDbWarehouse, sql: GuardedSql, table: TableInfo) -> None:
    with suppress(QueryFailed):
        warehouse.query(sql, [table])
