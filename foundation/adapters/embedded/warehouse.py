"""DuckDB over Parquet: each query in a database of its own, locked before the statement runs.

A fresh in-memory database costs 10 ms, nearly all of it in registering built-in functions, so one is made ahead in the
background; what a query then pays is its views, the lock and itself.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path

import duckdb

from foundation.errors import QueryFailed, QueryTimedOut, Unavailable
from foundation.types import GuardedSql, QueryResult, TableInfo

Locate = Callable[[str], AbstractContextManager[Path]]
"""From TableInfo.parquet_path to a local file, as ObjectStore.local_path does."""


class DuckDbWarehouse:
    """A Warehouse. `locate` maps a table's parquet_path to a local file; without it the path is one.

    `memory_mb` and `threads` bound one query; `concurrency` queries run at a time, the others wait their turn within
    their own time-out. Nothing spills to disk.
    """

    dialect = "duckdb"

    def __init__(
        self,
        *,
        locate: Locate | None = None,
        timeout_seconds: float = 10.0,
        memory_mb: int = 512,
        threads: int = 2,
        concurrency: int = 4,
    ) -> None:
        self._locate = locate or (lambda path: nullcontext(Path(path)))
        self._timeout = timeout_seconds
        self._config: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": f"{memory_mb}MiB",
            "threads": threads,
            "temp_directory": "",
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "allow_community_extensions": False,
            "python_enable_replacements": False,
        }
        self._slots = threading.BoundedSemaphore(concurrency)
        self._maker = ThreadPoolExecutor(1, thread_name_prefix="duckdb-spare")
        self._guard = threading.Lock()
        self._spare: Future[duckdb.DuckDBPyConnection] | None = None

    def query(self, sql: GuardedSql, tables: Sequence[TableInfo]) -> QueryResult:
        """Run over the tables that the statement names, which must be among `tables`.

        QueryTimedOut, QueryFailed with the engine's message, Unavailable when a table's file is gone.
        """
        if sql.dialect != self.dialect:
            raise ValueError(f"a {sql.dialect} statement was handed to {self.dialect}")
        started = time.monotonic()
        if not self._slots.acquire(timeout=self._timeout):
            raise Unavailable(f"All query slots stayed busy for {self._timeout:g} s.")
        try:
            with ExitStack() as files:
                paths = self._paths(sql, tables, files)
                with self._database(paths) as connection, self._deadline(connection, started):
                    connection.execute(sql.statement, list(sql.parameters) or None)
                    columns = tuple(column[0] for column in connection.description or ())
                    rows = connection.fetchmany(sql.limit + 1)
        finally:
            self._slots.release()
        seconds = time.monotonic() - started
        return QueryResult(columns, tuple(map(tuple, rows[: sql.limit])), len(rows) > sql.limit, seconds)

    def close(self) -> None:
        """Let go of the database that was made ahead."""
        with self._guard:
            spare, self._spare = self._spare, None
        self._maker.shutdown(wait=True)
        if spare is not None and spare.exception() is None:
            spare.result().close()

    def _paths(self, sql: GuardedSql, tables: Sequence[TableInfo], files: ExitStack) -> dict[str, str]:
        by_name = {table.name: table for table in tables}
        missing = [name for name in sql.tables if name not in by_name]
        if missing:
            raise QueryFailed(f"The statement reads {missing[0]}, which was not handed to the warehouse.")
        paths = {}
        for name in sql.tables:
            path = files.enter_context(self._locate(by_name[name].parquet_path)).resolve()
            if not path.is_file():
                raise Unavailable(f"The data of table {name} is not there; it may just have been replaced.")
            paths[name] = str(path)
        return paths

    @contextmanager
    def _database(self, paths: dict[str, str]) -> Iterator[duckdb.DuckDBPyConnection]:
        connection = self._take()
        try:
            # Order matters: paths before access is cut off, views before the lock; nothing can be loosened after it.
            connection.execute(f"set allowed_paths = [{', '.join(map(_text, paths.values()))}]")
            connection.execute("set enable_external_access = false")
            for name, path in paths.items():
                connection.execute(f"create view main.{_name(name)} as from read_parquet({_text(path)})")
            connection.execute("set lock_configuration = true")
            yield connection
        finally:
            connection.close()

    def _take(self) -> duckdb.DuckDBPyConnection:
        with self._guard:
            spare, self._spare = self._spare, self._maker.submit(self._connect)
        return spare.result() if spare is not None else self._connect()

    def _connect(self) -> duckdb.DuckDBPyConnection:
        connection = duckdb.connect(":memory:", config=self._config)
        connection.execute("set TimeZone = 'UTC'")
        return connection

    @contextmanager
    def _deadline(self, connection: duckdb.DuckDBPyConnection, started: float) -> Iterator[None]:
        """DuckDB has no statement time-out: interrupt from a thread, repeatedly, for one interrupt may come early."""
        done = threading.Event()

        def watch() -> None:
            wait = started + self._timeout - time.monotonic()
            while not done.wait(max(wait, 0.05)):
                connection.interrupt()
                wait = 0.05

        watcher = threading.Thread(target=watch, name="duckdb-deadline", daemon=True)
        watcher.start()
        try:
            yield
        except duckdb.InterruptException as error:
            raise QueryTimedOut(f"The query ran longer than {self._timeout:g} s and was stopped.") from error
        except duckdb.OutOfMemoryException as error:
            raise QueryFailed(
                "The query needs more memory than one query may take.",
                fix="Aggregate or filter earlier, or raise ASKLINE_QUERY__MEMORY_MB.",
            ) from error
        except duckdb.Error as error:
            raise QueryFailed(str(error).splitlines()[0]) from error
        finally:
            done.set()
            watcher.join()


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _name(value: str) -> str:
    return '"' + value.replace('"', '""') + '"'
