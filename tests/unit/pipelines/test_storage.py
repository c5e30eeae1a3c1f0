"""Dagster's tables in a new database, which the programs of a new stack all want to make."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import dagster as dg

from pipelines.storage import PooledPostgresStorage


def test_programs_that_start_at_once_over_a_new_database_all_find_its_tables(empty_database: str) -> None:
    def start(_: int) -> int:
        storage = PooledPostgresStorage.from_config_value(None, {"postgres_url": empty_database})
        return len(storage.run_storage.get_runs(dg.RunsFilter()))

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(start, range(6))) == [0] * 6
