"""Connections of the role that may only read: guarded statements run here and nowhere else."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress

import psycopg
from psycopg import errors
from psycopg.conninfo import make_conninfo

from foundation.errors import QueryFailed, QueryTimedOut, Unavailable
from foundation.types import GuardedSql, QueryResult

_GONE = (errors.AdminShutdown, errors.CrashShutdown, errors.CannotConnectNow, errors.TooManyConnections)


class ReaderPool:
    """A few connections to one server, opened when needed; one that breaks is thrown away.

    A statement goes by the extended protocol, by which the server takes one and no more, in a read-only transaction
    that is always rolled back; then everything that it may have left in the session is discarded.
    """

    def __init__(
        self,
        conninfo: str,
        *,
        size: int = 8,
        timeout_seconds: float = 10.0,
        password: Callable[[], str] | None = None,
    ) -> None:
        """`password` makes that of each new connection."""
        self._password = password
        self._conninfo = conninfo
        self._timeout = timeout_seconds
        self._slots = threading.BoundedSemaphore(size)
        self._idle: list[psycopg.Connection[tuple[object, ...]]] = []
        self._lock = threading.Lock()

    def run(self, sql: GuardedSql) -> QueryResult:
        """QueryTimedOut, QueryFailed with the server's message, Unavailable."""
        started = time.monotonic()
        if not self._slots.acquire(timeout=self._timeout):
            raise Unavailable(f"All connections to Postgres stayed busy for {self._timeout:g} s.")
        try:
            connection = self._take()
            if connection is not None:
                try:
                    return self._run(connection, sql, started)
                except Unavailable:
                    # The server may have restarted since; one fresh connection tells.
                    self.close()
            return self._run(self._connect(), sql, started)
        finally:
            self._slots.release()

    def close(self) -> None:
        """Close what is idle; the pool stays usable."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _take(self) -> psycopg.Connection[tuple[object, ...]] | None:
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _connect(self) -> psycopg.Connection[tuple[object, ...]]:
        try:
            return psycopg.connect(
                self._conninfo if self._password is None else make_conninfo(self._conninfo, password=self._password()),
                autocommit=True,
                prepare_threshold=None,
                cursor_factory=psycopg.RawCursor,
            )
        except psycopg.OperationalError as error:
            raise Unavailable(f"Postgres does not answer: {_first_line(error)}") from error

    def _run(self, connection: psycopg.Connection[tuple[object, ...]], sql: GuardedSql, started: float) -> QueryResult:
        try:
            connection.execute("begin read only", prepare=False)
            # Binary results mean the extended protocol, which takes one statement and no more. Named prepared
            # statements would do too, but psycopg's cache of them loses track when the session is discarded.
            cursor = connection.execute(
                sql.statement.encode(), list(sql.parameters) or None, prepare=False, binary=True
            )
            rows = cursor.fetchmany(sql.limit + 1)
            columns = tuple(column.name for column in cursor.description or ())
        except errors.QueryCanceled as error:
            raise QueryTimedOut(f"The query ran longer than {self._timeout:g} s and was stopped.") from error
        except errors.LockNotAvailable as error:
            raise Unavailable("The table is being replaced just now.") from error
        except psycopg.Error as error:
            if connection.broken or isinstance(error, _GONE):
                raise Unavailable(f"Postgres went away: {_first_line(error)}") from error
            raise QueryFailed(_first_line(error)) from error
        finally:
            self._give_back(connection)
        return QueryResult(columns, tuple(rows[: sql.limit]), len(rows) > sql.limit, time.monotonic() - started)

    def _give_back(self, connection: psycopg.Connection[tuple[object, ...]]) -> None:
        with suppress(psycopg.Error):
            connection.execute("rollback", prepare=False)
            connection.execute("discard all", prepare=False)
            with self._lock:
                self._idle.append(connection)
            return
        connection.close()


def _first_line(error: psycopg.Error) -> str:
    return error.diag.message_primary or next(iter(str(error).splitlines()), type(error).__name__)
