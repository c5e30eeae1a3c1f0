"""DuckDB over Parquet: a database in memory that knows the query's tables and nothing else, locked before it runs.

A fresh database costs 10 to 15 ms, nearly all of it in registering built-in functions. So the few last used stay open,
one for each set of files; a query gets a connection of its own in a read-only transaction, and leaves nothing behind.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path

import duckdb

from foundation.errors import QueryFailed, QueryTimedOut, Unavailable
from foundation.types import GuardedSql, QueryResult, TableInfo

Locate = Callable[[str], AbstractContextManager[Path]]
"""From TableInfo.parquet_path to a local file, as ObjectStore.local_path does."""

_KEPT = 8
_File = tuple[str, str, int, int]
"""Table name, path, time of change in ns, size: a file that was replaced is another one."""


class DuckDbWarehouse:
    """A Warehouse. `locate` maps a table's parquet_path to a local file; without it the path is one.

    `memory_mb` and `threads` bound one query (and its neighbours over the same tables); `concurrency` queries run at a
    time, the others wait their turn within their own time-out. Nothing spills to disk.
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
        self._memory_mb = memory_mb
        self._threads = threads
        self._slots = threading.BoundedSemaphore(concurrency)
        self._lock = threading.Lock()
        self._open: OrderedDict[tuple[_File, ...], duckdb.DuckDBPyConnection] = OrderedDict()

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
            with ExitStack() as held:
                files = self._files(sql, tables, held)
                connection = held.enter_context(self._connection(files))
                held.enter_context(self._deadline(connection, started))
                statements = connection.extract_statements(sql.statement)
                if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
                    raise QueryFailed("DuckDB does not read this as one SELECT.")
                connection.execute("begin transaction read only")
                connection.execute(statements[0], list(sql.parameters) or None)
                columns = tuple(column[0] for column in connection.description or ())
                rows = connection.fetchmany(sql.limit + 1)
        finally:
            self._slots.release()
        seconds = time.monotonic() - started
        return QueryResult(columns, tuple(map(tuple, rows[: sql.limit])), len(rows) > sql.limit, seconds)

    def close(self) -> None:
        """Let go of the databases that stayed open."""
        with self._lock:
            for database in self._open.values():
                database.close()
            self._open.clear()

    def _files(self, sql: GuardedSql, tables: Sequence[TableInfo], held: ExitStack) -> tuple[_File, ...]:
        by_name = {table.name: table for table in tables}
        missing = [name for name in sql.tables if name not in by_name]
        if missing:
            raise QueryFailed(f"The statement reads {missing[0]}, which was not handed to the warehouse.")
        files = []
        for name in sorted(sql.tables):
            path = held.enter_context(self._locate(by_name[name].parquet_path)).resolve()
            try:
                found = path.stat()
            except OSError as error:
                raise Unavailable(f"The data of table {name} is not there; it may just have been replaced.") from error
            files.append((name, str(path), found.st_mtime_ns, found.st_size))
        return tuple(files)

    @contextmanager
    def _connection(self, files: tuple[_File, ...]) -> Iterator[duckdb.DuckDBPyConnection]:
        with self._lock:
            database = self._open.get(files)
            if database is None:
                paths = {name: path for name, path, *_ in files}
                try:
                    database = locked_database(paths, memory_mb=self._memory_mb, threads=self._threads)
                except duckdb.Error as error:
                    raise Unavailable(f"The data of {', '.join(paths)} cannot be opened.") from error
                self._open[files] = database
            self._open.move_to_end(files)
            connection = database.cursor()
            while len(self._open) > _KEPT:
                # Connections that still run keep their database alive.
                self._open.popitem(last=False)[1].close()
        try:
            yield connection
        finally:
            connection.close()

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


def locked_database(paths: Mapping[str, str], *, memory_mb: int, threads: int) -> duckdb.DuckDBPyConnection:
    """A database in memory with a view main.<name> over each Parquet file; it opens no other file from then on.

    Order matters: paths before access is cut off, views before the lock; nothing can be loosened after it.
    """
    database = duckdb.connect(
        ":memory:",
        config={
            "memory_limit": f"{memory_mb}MiB",
            "threads": threads,
            "temp_directory": "",
            "enable_external_file_cache": False,  # an erased file must not live on in memory
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "allow_community_extensions": False,
            "python_enable_replacements": False,
        },
    )
    try:
        database.execute("set TimeZone = 'UTC'")
        database.execute(f"set allowed_paths = [{', '.join(map(_text, paths.values()))}]")
        database.execute("set enable_external_access = false")
        for name, path in paths.items():
            database.execute(f"create view main.{_name(name)} as from read_parquet({_text(path)})")
        database.execute("set lock_configuration = true")
    except duckdb.Error:
        database.close()
        raise
    return database


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _name(value: str) -> str:
    return '"' + value.replace('"', '""') + '"'
