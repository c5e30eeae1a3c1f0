"""The Glue catalog: an external Parquet table a dataset, whose column comments are the names in the file.

By boto3 and not by awswrangler, which takes accents out of column names: Athena would not find them in the file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from botocore.exceptions import ClientError

from foundation.adapters.aws.errors import aws_errors, code_of
from foundation.adapters.aws.warehouse_setup import AthenaPlace, glue_table
from foundation.errors import NotFound
from foundation.types import Column, ColumnType, TableInfo

_COMMENT = 255  # the most characters of a comment
_DESCRIPTION = 2048
_PROFILE = "askline.profile"
_DATASET = "askline.dataset"
_ABSENT = "EntityNotFoundException"
_TYPES: dict[ColumnType, str] = {"text": "string", "bigint": "bigint", "double": "double", "boolean": "boolean",
    "date": "date", "timestamp": "timestamp"}  # fmt: skip
_OF_TYPE: dict[str, ColumnType] = {glue: ours for ours, glue in _TYPES.items()}
_FORMAT = {
    "InputFormat": "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat",
    "OutputFormat": "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat",
    "SerdeInfo": {
        "SerializationLibrary": "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe",
        "Parameters": {"serialization.format": "1"},
    },
}
_AT_ONCE = 100  # tables of one BatchDeleteTable

Locate = Callable[[str], str]
"""From TableInfo.parquet_path to the s3:// folder that holds this file and nothing else."""


class GlueCatalog:
    """Port `catalog`. The table's name is the dataset's; the profile of a column stands in its parameters."""

    def __init__(self, place: AthenaPlace, locate: Locate) -> None:
        self._place, self._locate = place, locate

    def register(self, table: TableInfo) -> None:
        """Create or replace; no earlier version of the entry is kept, since profiles hold values."""
        self._place.prepare_catalog()
        about = self._entry(table)
        target = {"DatabaseName": self._place.database, "TableInput": about}
        with aws_errors(f"Glue table {about['Name']}"):
            try:
                self._place.glue.create_table(**target)
            except ClientError as error:
                if code_of(error) != "AlreadyExistsException":
                    raise
                self._place.glue.update_table(**target, SkipArchive=True)

    def columns(self, dataset_id: str) -> tuple[Column, ...]:
        name = glue_table(dataset_id)
        try:
            with aws_errors(f"Glue table {name}"):
                found = self._place.glue.get_table(DatabaseName=self._place.database, Name=name)["Table"]
        except NotFound as error:
            raise NotFound(f"The catalog has no dataset {dataset_id}.") from error
        return tuple(_column(about) for about in found["StorageDescriptor"]["Columns"])

    def remove(self, dataset_ids: Sequence[str]) -> int:
        names = [glue_table(one) for one in dataset_ids]
        removed = 0
        with aws_errors(f"Glue database {self._place.database}"):
            for start in range(0, len(names), _AT_ONCE):
                batch = names[start : start + _AT_ONCE]
                try:
                    answer = self._place.glue.batch_delete_table(
                        DatabaseName=self._place.database, TablesToDelete=batch
                    )
                except ClientError as error:
                    if code_of(error) == _ABSENT:  # no such database: nothing was ever registered
                        return removed
                    raise
                refused = answer.get("Errors", [])
                for one in refused:
                    if one["ErrorDetail"]["ErrorCode"] != _ABSENT:
                        raise _error(one["ErrorDetail"])
                removed += len(batch) - len(refused)
        return removed

    def datasets(self) -> Iterator[tuple[str, str]]:
        """(`database.table`, dataset id) of every table in the database; one that others made has no id: ''."""
        pages = self._place.glue.get_paginator("get_tables").paginate(DatabaseName=self._place.database)
        try:
            with aws_errors(f"Glue database {self._place.database}"):
                for page in pages:
                    for table in page["TableList"]:
                        identity = (table.get("Parameters") or {}).get(_DATASET, "")
                        yield f"{self._place.database}.{table['Name']}", identity
        except NotFound:
            return

    def _entry(self, table: TableInfo) -> dict[str, Any]:
        described = ": ".join(part for part in (table.label, table.description) if part)
        return {
            "Name": glue_table(table.dataset_id),
            "Description": described[:_DESCRIPTION],
            "TableType": "EXTERNAL_TABLE",
            "Parameters": {
                "EXTERNAL": "TRUE",
                "classification": "parquet",
                _DATASET: table.dataset_id,
                "askline.version": table.version_id or "",
                "askline.rows": str(table.row_count),
            },
            "StorageDescriptor": {
                **_FORMAT,
                "Columns": [_glue_column(column) for column in table.columns],
                "Location": self._locate(table.parquet_path),
                "Compressed": True,
                "StoredAsSubDirectories": False,
            },
        }


def _error(detail: dict[str, Any]) -> ClientError:
    told: Any = {"Error": {"Code": detail["ErrorCode"], "Message": detail.get("ErrorMessage", "")}}
    return ClientError(told, "BatchDeleteTable")


def _glue_column(column: Column) -> dict[str, Any]:
    profile = asdict(column)
    for known in ("name", "type", "precision", "scale"):
        del profile[known]
    kind = f"decimal({column.precision},{column.scale})" if column.type == "decimal" else _TYPES[column.type]
    return {
        "Name": column.name,
        "Type": kind,
        "Comment": " ".join(column.label.split())[:_COMMENT],
        "Parameters": {_PROFILE: json.dumps(profile, ensure_ascii=False)},
    }


def _column(about: dict[str, Any]) -> Column:
    profile = json.loads(about["Parameters"][_PROFILE])
    profile["samples"] = tuple(profile.get("samples", ()))
    kind, _, numbers = about["Type"].partition("(")
    if kind == "decimal":
        precision, scale = map(int, numbers.rstrip(")").split(","))
        return Column(name=about["Name"], type="decimal", precision=precision, scale=scale, **profile)
    return Column(name=about["Name"], type=_OF_TYPE[kind], **profile)
