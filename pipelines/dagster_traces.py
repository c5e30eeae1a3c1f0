"""What Dagster keeps of a document: rows of its event log, and the captured output of runs that worked on it.

Every line of metadata that tells something of a document names its id, or its version's hash; so an erasure takes
these lines out of the events and leaves what the events say of other documents. Dagster has no call for this: its own
tables are changed, as `pipelines.storage` already does with its connections.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import dagster as dg
from dagster._core.storage.compute_log_manager import ComputeIOType
from dagster._core.storage.event_log.schema import AssetCheckExecutionsTable, AssetKeyTable, SqlEventLogStorageTable
from dagster._core.storage.event_log.sql_event_log import SqlEventLogStorage
from sqlalchemy import Column, ColumnElement, Connection, Row, Table, or_, select, true, update

_TOLD = ("ASSET_MATERIALIZATION", "ASSET_OBSERVATION", "ASSET_CHECK_EVALUATION")
"""Events of any run that may list a document; what else names one is an event of a run that worked on it."""
_MARGIN = timedelta(days=1)
"""Some of Dagster's times are whole seconds, some in the server's time zone."""
_CAPTURED = (ComputeIOType.STDOUT, ComputeIOType.STDERR)


def short_hash(version_id: str) -> str:
    """How Dagster's metadata names a version: enough to find it, and what an erasure looks for."""
    return version_id[:12]


class DagsterTraces:
    """The traces of one document.

    `version_ids`: contents that no other document has; `run_ids`: who worked on it; `since`: when it came;
    `has_tables`: then dbt may have read it, whose output quotes values where it fails.
    """

    def __init__(
        self,
        instance: dg.DagsterInstance,
        document_id: str,
        version_ids: Sequence[str],
        run_ids: Sequence[str],
        since: datetime,
        has_tables: bool,
    ) -> None:
        self._instance, self._run_ids, self._since = instance, list(run_ids), since.replace(tzinfo=None) - _MARGIN
        if has_tables:
            transforms = dg.RunsFilter(job_name="transform", created_after=since)
            self._run_ids += [record.dagster_run.run_id for record in instance.get_run_records(transforms)]
        self._names = (document_id, *map(short_hash, version_ids))

    def count(self) -> int:
        """Rows that still name it, and captured outputs of its runs."""
        with self._storage.index_connection() as connection:
            places = self._places()
            rows = sum(len(self._rows(connection, table, column, which)) for table, column, which in places)
        return rows + sum(len(self._captured(run_id)) for run_id in self._run_ids)

    def remove(self) -> int:
        """Take its lines out of the rows, and delete the captured outputs; returns how many of both there were."""
        removed = 0
        with self._storage.index_transaction() as connection:
            for table, column, which in self._places():
                for row in self._rows(connection, table, column, which):
                    text = without(row[1], self._names)
                    connection.execute(update(table).where(table.c.id == row.id).values({column.name: text}))
                    removed += 1
        for run_id in self._run_ids:
            removed += len(self._captured(run_id))
            self._instance.compute_log_manager.delete_logs(prefix=[run_id])
        return removed

    @property
    def _storage(self) -> SqlEventLogStorage:
        storage = self._instance.event_log_storage
        assert isinstance(storage, SqlEventLogStorage)
        return storage

    def _places(self) -> list[tuple[Table, Column[Any], ColumnElement[bool]]]:
        events, keys, checks = SqlEventLogStorageTable, AssetKeyTable, AssetCheckExecutionsTable
        told = events.c.dagster_event_type.in_(_TOLD) & (events.c.timestamp >= self._since)
        return [
            (events, events.c.event, or_(told, events.c.run_id.in_(self._run_ids))),
            (keys, keys.c.last_materialization, true()),
            (checks, checks.c.evaluation_event, checks.c.create_timestamp >= self._since),
        ]

    def _rows(
        self, connection: Connection, table: Table, column: Column[Any], which: ColumnElement[bool]
    ) -> Sequence[Row[int, str]]:
        named = or_(*(column.contains(name, autoescape=True) for name in self._names))
        return connection.execute(select(table.c.id, column).where(which, named)).all()

    def _captured(self, run_id: str) -> list[Sequence[str]]:
        manager = self._instance.compute_log_manager
        found: list[Sequence[str]] = []
        for kind in _CAPTURED:
            try:
                found += manager.get_log_keys_for_log_key_prefix([run_id, "compute_logs"], kind)
            except (NotImplementedError, FileNotFoundError):  # nothing is captured here, or not of this run
                continue
        return found


def without(text: str, names: Sequence[str]) -> str:
    """A JSON document without the lines, and the smallest members of lists, that hold one of the names."""

    def cleared(value: Any) -> Any:
        if isinstance(value, str):
            return "\n".join(line for line in value.split("\n") if not _names(line, names))
        if isinstance(value, list):
            return [cleared(member) for member in value if not _is_about(member, names)]
        if isinstance(value, dict):
            return {key: cleared(member) for key, member in value.items()}
        return value

    return json.dumps(cleared(json.loads(text)))


def _is_about(member: Any, names: Sequence[str]) -> bool:
    """Whether a member of a list is one line about the document: itself, or a text right inside it."""
    texts = member.values() if isinstance(member, dict) else [member]
    return any(isinstance(text, str) and "\n" not in text and _names(text, names) for text in texts)


def _names(line: str, names: Sequence[str]) -> bool:
    return any(name in line for name in names)
