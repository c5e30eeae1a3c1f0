"""What dbt builds in Athena: tables whose Parquet is fetched, and which are then removed with every file of theirs."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from foundation.adapters.aws.errors import aws_errors
from foundation.adapters.aws.warehouse_setup import AthenaPlace
from foundation.errors import NotFound, StageFailed
from foundation.ports.objects import ObjectStore

MARTS = "marts"
"""The schema of dbt_project.yml whose tables are kept; it is a Glue database of this name at its end."""
_SCHEMAS = ("sources", "staging", MARTS)
"""All that dbt builds in. A view's text has the columns of the files that it reads, so views go as well."""


class DbtLake:
    """`store`: the folder `location` (s3://…/) in which dbt builds, with everything in it."""

    def __init__(self, place: AthenaPlace, store: ObjectStore, location: str) -> None:
        self._place, self._store, self._location = place, store, location
        self._database = f"{place.database}_{MARTS}"

    def prepare(self) -> None:
        """The work group and the database of its sources are there, and nothing of a build that was interrupted."""
        self._place.prepare_statements()
        self.clear()

    def fetch(self, mart: str, path: Path) -> None:
        """Write the mart as one Parquet file, in the widths that our tables have. StageFailed if it is not there."""
        with aws_errors(f"Glue table {self._database}.{mart}"):
            try:
                found = self._place.glue.get_table(DatabaseName=self._database, Name=mart)["Table"]
            except self._place.glue.exceptions.EntityNotFoundException as error:
                raise StageFailed(f"dbt left no table {self._database}.{mart}.") from error
        folder = found["StorageDescriptor"]["Location"].rstrip("/") + "/"
        if not folder.startswith(self._location):
            raise StageFailed(
                f"dbt built {mart} in {folder}, not in {self._location}.",
                fix="Let the work group not enforce its output location.",
            )
        names = [key for key, _ in self._store.listing(folder.removeprefix(self._location))]
        parts = [self._read(name) for name in sorted(names)]
        pq.write_table(pa.concat_tables(parts), path, compression="zstd")

    def _read(self, key: str) -> pa.Table:
        with self._store.local_path(key) as path:
            table = pq.read_table(path, partitioning=None)
        return table.cast(pa.schema([pa.field(field.name, _width(field.type)) for field in table.schema]))

    def clear(self) -> int:
        """Remove every table, view, file and result of dbt's; returns how many there were."""
        removed = 0
        for database, name in self._tables():
            try:
                with aws_errors(f"Glue table {database}.{name}"):
                    self._place.glue.delete_table(DatabaseName=database, Name=name)
                removed += 1
            except NotFound:
                pass  # another took it
        return removed + self._store.purge_prefix("")

    def count(self) -> int:
        """Tables, views and files that are there now."""
        return len(self._tables()) + sum(1 for _ in self._store.listing(""))

    def _tables(self) -> list[tuple[str, str]]:
        """(Glue database, name) of what dbt has built."""
        found = []
        for database in (f"{self._place.database}_{schema}" for schema in _SCHEMAS):
            try:
                with aws_errors(f"Glue database {database}"):
                    pages = self._place.glue.get_paginator("get_tables").paginate(DatabaseName=database)
                    found += [(database, table["Name"]) for page in pages for table in page["TableList"]]
            except NotFound:
                pass  # no database yet
        return found


def _width(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_signed_integer(kind):
        return pa.int64()
    if pa.types.is_floating(kind):
        return pa.float64()
    return pa.timestamp("us") if pa.types.is_timestamp(kind) else kind
