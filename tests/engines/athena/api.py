"""Athena's API over moto's: statements run on Trino; what Trino's Glue client needs besides."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from moto.athena.responses import AthenaResponse
from moto.core.exceptions import JsonRESTError
from moto.core.responses import ActionResult
from moto.glue.responses import GlueResponse
from moto.s3.models import s3_backends

from tests.engines.athena.client import TrinoClient
from tests.engines.athena.executions import Execution
from tests.engines.athena.values import column_info

_LONG_POLL_S = 0.2
"""Clients sleep between their looks; a short wait here makes most of these needless."""
_REFUSED_WITHIN_S = 10
_ALL = "primary"


class InvalidRequest(JsonRESTError):
    code = 400

    def __init__(self, message: str) -> None:
        super().__init__("InvalidRequestException", message)


def install(trino_url: str) -> None:
    """Put the handlers in place of moto's, for this process."""
    trino, pool = TrinoClient(trino_url), ThreadPoolExecutor(8)

    def start_query_execution(self: Any) -> str:
        execution = _prepared(self)
        self.athena_backend.executions[execution.id] = execution
        pool.submit(execution.run, trino, s3_backends[self.current_account]["aws"])
        execution.watch.accepted.wait(_REFUSED_WITHIN_S)
        # What it cannot parse Athena refuses at once.
        if execution.state == "FAILED" and execution.error is not None and execution.error.name == "SYNTAX_ERROR":
            del self.athena_backend.executions[execution.id]
            raise InvalidRequest(execution.error.message)
        return json.dumps({"QueryExecutionId": execution.id})

    moto_get_work_group = AthenaResponse.get_work_group

    def get_work_group(self: Any) -> str:
        if self._get_param("WorkGroup") not in self.athena_backend.work_groups:
            raise InvalidRequest("WorkGroup is not found.")  # where moto answers with nothing
        found: str = moto_get_work_group(self)
        return found

    AthenaResponse.start_query_execution = start_query_execution
    AthenaResponse.get_work_group = get_work_group
    for handler in (
        get_query_execution,
        batch_get_query_execution,
        get_query_results,
        stop_query_execution,
        list_query_executions,
    ):
        setattr(AthenaResponse, handler.__name__, handler)
    # moto has none of these; Trino drops the statistics of what it writes.
    for of in ("table", "partition"):
        for action in ("get", "update", "delete"):
            setattr(GlueResponse, f"{action}_column_statistics_for_{of}", _no_statistics)


def _prepared(self: Any) -> Execution:
    name = self._get_param("WorkGroup") or _ALL
    group = self.athena_backend.work_groups.get(name)
    if group is None:
        raise InvalidRequest("WorkGroup is not found.")
    configured = group.configuration or {}
    asked = (self._get_param("ResultConfiguration") or {}).get("OutputLocation")
    own = (configured.get("ResultConfiguration") or {}).get("OutputLocation")
    folder = own if own and (configured.get("EnforceWorkGroupConfiguration") or not asked) else asked
    if not folder:
        raise InvalidRequest("No output location provided: neither by the work group nor by the call.")
    bucket = folder.removeprefix("s3://").partition("/")[0]
    if bucket not in s3_backends[self.current_account]["aws"].buckets:
        raise InvalidRequest(f"Unable to verify/create output bucket {bucket}")
    return Execution(
        self._get_param("QueryString"),
        self._get_param("QueryExecutionContext") or {},
        folder,
        name,
        self._get_param("ExecutionParameters") or [],
        configured.get("BytesScannedCutoffPerQuery"),
    )


def _found(self: Any) -> Execution:
    wanted = self._get_param("QueryExecutionId")
    execution: Execution | None = self.athena_backend.executions.get(wanted)
    if execution is None:
        raise InvalidRequest(f"QueryExecution {wanted} was not found")
    return execution


def get_query_execution(self: Any) -> str:
    execution = _found(self)
    execution.done.wait(_LONG_POLL_S)
    return json.dumps({"QueryExecution": execution.described()})


def batch_get_query_execution(self: Any) -> str:
    known: dict[str, Execution] = self.athena_backend.executions
    found = [known[wanted].described() for wanted in self._get_param("QueryExecutionIds") if wanted in known]
    return json.dumps({"QueryExecutions": found, "UnprocessedQueryExecutionIds": []})


def get_query_results(self: Any) -> str:
    execution = _found(self)
    if execution.state in ("QUEUED", "RUNNING"):
        raise InvalidRequest(f"Query has not yet finished. Current state: {execution.state}")
    if execution.state != "SUCCEEDED":
        raise InvalidRequest(f"Query did not finish successfully. Final query state: {execution.state}")
    columns = execution.result.columns if execution.plan.has_rows else []
    header = [[column["name"] for column in columns]] if execution.plan.word == "SELECT" else []
    rows = [*header, *execution.rows()]
    most, start = int(self._get_param("MaxResults") or 1000), int(self._get_param("NextToken") or 0)
    answer: dict[str, Any] = {
        "UpdateCount": execution.result.updated,
        "ResultSet": {
            "Rows": [
                {"Data": [{} if cell is None else {"VarCharValue": cell} for cell in row]}
                for row in rows[start : start + most]
            ],
            "ResultSetMetadata": {"ColumnInfo": [column_info(column) for column in columns]},
        },
    }
    if start + most < len(rows):
        answer["NextToken"] = str(start + most)
    return json.dumps(answer)


def stop_query_execution(self: Any) -> str:
    _found(self).watch.cancelled.set()
    return "{}"


def list_query_executions(self: Any) -> str:
    group = self._get_param("WorkGroup") or _ALL
    executions = [one for one in self.athena_backend.executions.values() if one.work_group == group]
    return json.dumps({"QueryExecutionIds": [one.id for one in reversed(executions)]})


def _no_statistics(self: Any) -> ActionResult:
    return ActionResult({"ColumnStatisticsList": [], "Errors": []})
