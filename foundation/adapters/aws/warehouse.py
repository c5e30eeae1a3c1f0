"""Athena over the tables that the Glue catalog has of each dataset.

By boto3 and not by awswrangler, which reads '' as null, waits a second between two looks, and renames columns.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Any

from foundation.adapters.aws.warehouse_run import Run
from foundation.adapters.aws.warehouse_setup import AthenaPlace, glue_table
from foundation.adapters.aws.warehouse_values import reader
from foundation.errors import AsklineError, QueryFailed
from foundation.sql_guard import literal, placed
from foundation.types import GuardedSql, QueryResult, TableInfo

logger = logging.getLogger(__name__)

_LONGEST_PARAMETER = 1024  # characters; the API's limit

Purge = Callable[[str], int]
"""Removes every version of every result whose name begins so."""


class AthenaWarehouse:
    """A Warehouse. Results are removed from S3 as soon as they are read, by `purge`."""

    dialect = "athena"

    def __init__(self, place: AthenaPlace, *, purge: Purge, timeout_seconds: float = 10.0) -> None:
        self._place, self._purge, self._timeout = place, purge, timeout_seconds

    def query(self, sql: GuardedSql, tables: Sequence[TableInfo]) -> QueryResult:
        """Run over the tables that the statement names, which must be among `tables`.

        QueryTimedOut, QueryFailed with Athena's reason, Unavailable, ConfigurationError for the work group.
        """
        if sql.dialect != self.dialect:
            raise ValueError(f"a {sql.dialect} statement was handed to {self.dialect}")
        started = time.monotonic()
        known = {table.name: table for table in tables}
        missing = [name for name in sql.tables if name not in known]
        if missing:
            raise QueryFailed(f"The statement reads {missing[0]}, which was not handed to the warehouse.")
        places = {name: (self._place.database, glue_table(known[name].dataset_id)) for name in sql.tables}
        parameters = [_parameter(value, number) for number, value in enumerate(sql.parameters, 1)]
        self._place.prepare_statements()
        run = Run(self._place, self._timeout)
        run.start(placed(sql, places), parameters)
        try:
            run.wait()
            columns, rows = run.rows(sql.limit + 1)
        finally:
            self._forget(run.id)
        readers = [reader(column["Type"]) for column in columns]
        values = tuple(
            tuple(None if cell is None else read(cell) for read, cell in zip(readers, row, strict=True))
            for row in rows[: sql.limit]
        )
        names = tuple(column["Name"] for column in columns)
        return QueryResult(names, values, len(rows) > sql.limit, time.monotonic() - started)

    def _forget(self, execution: str) -> None:
        try:
            self._purge(execution)
        except AsklineError as error:
            # The answer stands; an erasure empties the whole folder.
            logger.warning("the result of an Athena query was not removed: %s", error.code)


def _parameter(value: Any, number: int) -> str:
    written = literal(value)
    if len(written) > _LONGEST_PARAMETER:
        raise QueryFailed(
            f"Parameter {number} has {len(written)} characters; Athena takes {_LONGEST_PARAMETER}.",
            fix="Write a shorter value.",
        )
    return written
