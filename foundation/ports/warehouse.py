"""Analytical SQL over the catalog's tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from foundation.types import GuardedSql, QueryResult, TableInfo


class Warehouse(Protocol):
    dialect: str
    """sqlglot's name of the dialect: duckdb, athena."""

    def query(self, sql: GuardedSql, tables: Sequence[TableInfo]) -> QueryResult:
        """Run a guarded statement over exactly these tables. QueryTimedOut, QueryFailed, Unavailable.

        Time stamps come back to the millisecond at least.
        """
