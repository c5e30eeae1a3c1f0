"""The Postgres copies of tables: row-level and fresh questions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

from foundation.types import Column, GuardedSql, QueryResult


class Relational(Protocol):
    dialect: str

    def query(self, sql: GuardedSql) -> QueryResult:
        """Run as the SELECT-only role with a statement time-out. QueryTimedOut, QueryFailed, Unavailable."""

    def copy_table(self, physical: str, columns: Sequence[Column], rows: Iterable[Sequence[Any]]) -> int:
        """Create or replace the physical table by COPY, whole or not at all; returns its row count."""

    def copy_parquet(self, physical: str, columns: Sequence[Column], parquet: Path) -> int:
        """The same of a Parquet file's columns of these names, in a stream: memory does not grow with the rows."""

    def column_types(self, physical: str) -> dict[str, str]:
        """Our ColumnType names by column, read back from the server."""

    def row_count(self, physical: str) -> int: ...

    def publish_statements(self, name: str, physical: str) -> list[str]:
        """SQL that makes `data.<name>` show this physical table, for the caller's own transaction."""

    def unpublish_statements(self, name: str) -> list[str]:
        """SQL that takes `data.<name>` away; no error when it is not there."""

    def has_table(self, physical: str) -> bool: ...

    def drop_table(self, physical: str) -> bool:
        """Returns whether it was there."""
