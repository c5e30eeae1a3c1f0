"""Dagster's storage: the tables of a new database, which the programs of a new stack all want to make, and the pool."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import dagster as dg
import psycopg
import pytest
from dagster._core.storage.event_log.schema import AssetKeyTable
from sqlalchemy import Engine, event

from pipelines import storage
from pipelines.storage import PooledPostgresStorage


def _storage(url: str) -> PooledPostgresStorage:
    return PooledPostgresStorage.from_config_value(None, {"postgres_url": url})


def _runs(made: PooledPostgresStorage) -> int:
    return len(made.run_storage.get_runs(dg.RunsFilter()))


@pytest.fixture(autouse=True)
def _no_pool_is_left() -> Iterator[None]:
    before = set(storage._engines)
    yield
    for place in set(storage._engines) - before:
        storage._engines.pop(place).dispose()


def test_programs_that_start_at_once_over_a_new_database_all_find_its_tables(empty_database: str) -> None:
    def start(_: int) -> int:
        storage._make_tables(empty_database.replace("postgresql://", "postgresql+psycopg2://"), None)
        return _runs(_storage(empty_database))

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(start, range(6))) == [0] * 6


def test_every_storage_of_a_process_has_the_same_pool_and_asks_the_catalog_once(empty_database: str) -> None:
    """A sensor's tick makes a storage of its own; so does a run."""
    first = _storage(empty_database)
    engine: Engine = first.run_storage._engine  # type: ignore[attr-defined]
    statements: list[str] = []
    event.listen(engine, "before_cursor_execute", lambda *arguments: statements.append(arguments[2]))

    def use(made: PooledPostgresStorage) -> None:
        assert _runs(made) == 0
        assert made.event_log_storage.has_table(AssetKeyTable.name)  # type: ignore[attr-defined]
        assert not made.event_log_storage.has_table("no_such_table")  # type: ignore[attr-defined]
        assert made.event_log_storage.has_secondary_index("asset_key_table")  # type: ignore[attr-defined]
        assert made.schedule_storage.all_instigator_state() == []

    use(first)
    learnt = len(statements)
    for _ in range(3):
        use(_storage(empty_database))
    again = statements[learnt:]
    assert sum("pg_catalog" in statement for statement in again) == 3  # no_such_table: only what is there stays so
    with psycopg.connect(empty_database) as connection:
        found = connection.execute("select count(*) from pg_stat_activity where datname = current_database()")
        assert found.fetchone() == (2,)  # this one, and the pool's


def test_a_connection_that_the_server_has_closed_meanwhile_is_replaced(
    empty_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "_IDLE_S", 0)
    made = _storage(empty_database)
    assert _runs(made) == 0
    with psycopg.connect(empty_database, autocommit=True) as connection:
        ended = connection.execute(
            "select count(pg_terminate_backend(pid)) from pg_stat_activity"
            " where datname = current_database() and pid <> pg_backend_pid()"
        )
        assert ended.fetchone() == (1,)
    assert _runs(made) == 0


def test_a_fork_makes_a_pool_of_its_own(empty_database: str) -> None:
    made = _storage(empty_database)
    assert _runs(made) == 0
    child = os.fork()
    if child == 0:
        theirs = _storage(empty_database)
        other = theirs.run_storage._engine is not made.run_storage._engine  # type: ignore[attr-defined]
        os._exit(0 if other and _runs(theirs) == 0 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert _runs(made) == 0


def test_what_the_address_asks_of_a_connection_stays(empty_database: str) -> None:
    made = _storage(f"{empty_database}&options=-c%20application_name%3Dours")
    with made.run_storage._engine.connect() as connection:  # type: ignore[attr-defined]
        shown = [
            connection.exec_driver_sql(f"show {name}").scalar() for name in ("application_name", "statement_timeout")
        ]
    assert shown == ["ours", "1min"]
