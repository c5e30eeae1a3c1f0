"""The embedded server: started once, found again, stopped, started again."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg

from foundation.adapters.embedded import postgres


def test_the_server_starts_again_in_the_process_that_stopped_it(postgres_home: Path) -> None:
    folder = postgres_home / "pg"
    url = postgres.start(folder)
    try:
        assert postgres.start(folder) == url == postgres.running_url(folder)
        postgres.stop(folder)
        assert postgres.running_url(folder) is None
        assert postgres.running_pid(folder) is None
        with psycopg.connect(postgres.start(folder)) as connection:
            assert connection.execute("select 1").fetchone() == (1,)
    finally:
        postgres.stop(folder)


def test_many_may_start_it_at_once(postgres_home: Path) -> None:
    folder = postgres_home / "pg"
    url = postgres.start(folder)
    try:
        with ThreadPoolExecutor(8) as pool:
            assert set(pool.map(postgres.start, [folder] * 64)) == {url}
    finally:
        postgres.stop(folder)
