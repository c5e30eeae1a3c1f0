"""The Postgres copies of tables: row-level and fresh questions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from foundation.types import Column, GuardedSql, QueryResult


class Relational(Protocol):
    dialect: str

    def query(self, sql: GuardedSql) -> QueryResult:
        """Run as the SELECT-only role with a statement time-out. QueryTimedOut, QueryFailed, Unavailable."""

    def copy_table(self, physical: str, columns: Sequence[Column], rows: Iterable[Sequence[Any]]) -> int:
        """Create or replace the physical table by COPY, whole or not at all; returns its row count."""

    def column_types(self, physical: str) -> dict[str, str]:
        """Our ColumnType names by column, read back from the server."""

    def row_count(self, physical: str) -> int: ...

    def publish(self, name: str, physical: str) -> None:
        """Make `data.<name>` show this physical table."""

    def unpublish(self, name: str) -> None: ...

    def drop_table(self, physical: str) -> bool:
        """Returns whether it was there."""
