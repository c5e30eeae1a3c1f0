"""One query execution of Athena: its states, its result as the API tells it, and its files in S3."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Sequence
from typing import Any

from moto.s3.models import S3Backend

from tests.engines.athena.client import Result, TrinoClient, TrinoError, Watch
from tests.engines.athena.statements import Plan, plan
from tests.engines.athena.values import texts

_OVER_LIMIT = "Bytes scanned limit was exceeded"
_UNKNOWN_COLUMN = " or requester is not authorized to access requested resources"


class Execution:
    """`folder`: s3:// prefix of its results."""

    def __init__(
        self,
        sql: str,
        context: dict[str, str],
        folder: str,
        work_group: str,
        parameters: Sequence[str],
        scan_limit: int | None,
    ) -> None:
        self.id = str(uuid.uuid4())
        self.sql, self.context, self.work_group, self.parameters = sql, context, work_group, list(parameters)
        self.folder, self.output = folder, folder
        self.state, self.reason = "QUEUED", ""
        self.error: TrinoError | None = None
        self.submitted = self.ended = time.time()
        self.watch = Watch(scan_limit=scan_limit)
        self.done = threading.Event()
        self.plan = Plan("", "DDL", "")
        self.result = Result()
        self.manifest: str | None = None

    def run(self, trino: TrinoClient, s3: S3Backend) -> None:
        try:
            self._run(trino)
            self._write(s3)
            self.state = "SUCCEEDED"
        except TrinoError as error:
            self._fail(error)
        except Exception as error:  # a fault of the double itself must reach the caller
            self._fail(TrinoError("GENERIC_INTERNAL_ERROR", repr(error), "INTERNAL_ERROR"))
        finally:
            self.ended = time.time()
            self.watch.accepted.set()
            self.done.set()

    def _run(self, trino: TrinoClient) -> None:
        schema = (self.context.get("Database") or "").lower() or None
        self.plan = plan(self.sql, schema, f"{self.folder.rstrip('/')}/{self.id}")
        ending = ".csv" if self.plan.word == "SELECT" else ".txt" if self.plan.has_rows else ""
        self.output = f"{self.folder.rstrip('/')}/{self.id}{ending}"
        self.state = "RUNNING"
        sql = self.plan.sql
        if self.parameters:
            quoted = sql.replace("'", "''")
            sql = f"EXECUTE IMMEDIATE '{quoted}' USING {', '.join(self.parameters)}"
        if sql:
            self.result = trino.run(sql, schema, self.watch, self.plan.session)

    def _fail(self, error: TrinoError) -> None:
        self.error, self.result = error, Result(scanned=self.result.scanned)
        if self.watch.cancelled.is_set():
            self.state, self.reason = "CANCELLED", _OVER_LIMIT if self.watch.over_limit else error.message
        else:
            more = _UNKNOWN_COLUMN if error.name == "COLUMN_NOT_FOUND" else ""
            self.state, self.reason = "FAILED", f"{error.name}: {error.message}{more}"

    def rows(self) -> list[list[str | None]]:
        return texts(self.result.columns, self.result.rows) if self.plan.has_rows else []

    def _write(self, s3: S3Backend) -> None:
        if self.plan.word == "SELECT":
            lines: list[list[str | None]] = [[column["name"] for column in self.result.columns], *self.rows()]
            _put(s3, self.output, "".join(",".join(map(_cell, line)) + "\n" for line in lines))
            _put(s3, f"{self.output}.metadata", "")
        elif self.plan.has_rows:
            _put(s3, self.output, "\n".join("\t".join(cell or "" for cell in row) for row in self.rows()))
        elif self.plan.data is not None:
            bucket, prefix = _split(self.plan.data)
            files = sorted(key for key in s3.buckets[bucket].keys if key.startswith(prefix))
            self.manifest = f"{self.folder.rstrip('/')}/{self.id}-manifest.csv"
            _put(s3, self.manifest, "".join(f"s3://{bucket}/{key}\n" for key in files))

    def described(self) -> dict[str, Any]:
        """The QueryExecution of GetQueryExecution."""
        spent = int((self.ended - self.submitted) * 1000)
        status: dict[str, Any] = {"State": self.state, "SubmissionDateTime": self.submitted}
        if self.done.is_set():
            status["CompletionDateTime"] = self.ended
        if self.reason:
            status["StateChangeReason"] = self.reason
        if self.state == "FAILED" and self.error is not None:
            category, kind = (2, 1001) if self.error.kind == "USER_ERROR" else (1, 401)
            status["AthenaError"] = {
                "ErrorCategory": category,
                "ErrorType": kind,
                "Retryable": False,
                "ErrorMessage": self.reason,
            }
        statistics: dict[str, Any] = {
            "EngineExecutionTimeInMillis": spent,
            "TotalExecutionTimeInMillis": spent,
            "DataScannedInBytes": self.result.scanned,
        }
        if self.manifest is not None:
            statistics["DataManifestLocation"] = self.manifest
        return {
            "QueryExecutionId": self.id,
            "Query": self.sql,
            "StatementType": self.plan.kind,
            "SubstatementType": self.plan.word,
            "ResultConfiguration": {"OutputLocation": self.output},
            "QueryExecutionContext": self.context,
            "Status": status,
            "Statistics": statistics,
            "WorkGroup": self.work_group,
            "EngineVersion": {
                "SelectedEngineVersion": "AUTO",
                "EffectiveEngineVersion": "Athena engine version 3",
            },
        }


def _cell(value: str | None) -> str:
    return "" if value is None else '"' + value.replace('"', '""') + '"'


def _split(uri: str) -> tuple[str, str]:
    bucket, _, key = uri.removeprefix("s3://").partition("/")
    return bucket, key


def _put(s3: S3Backend, uri: str, body: str) -> None:
    bucket, key = _split(uri)
    s3.put_object(bucket, key, body.encode())
