"""One statement in Athena: started, waited for, stopped at its time-out; what Athena says of it as our errors."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from botocore.exceptions import ClientError

from foundation.adapters.aws.errors import aws_errors, code_of
from foundation.adapters.aws.warehouse_setup import AthenaPlace
from foundation.errors import AsklineError, ConfigurationError, QueryFailed, QueryTimedOut, Unavailable

_FIRST_LOOK_S, _SLOWEST_LOOK_S = 0.05, 1.0
_WAITING = {"QUEUED", "RUNNING"}
_SYSTEM = 1
"""AthenaError.ErrorCategory of a fault of Athena's own."""
_RETRYABLE = ("EXCEEDED_CLUSTER_CAPACITY", "Query exhausted resources", "GENERIC_INTERNAL_ERROR", "SlowDown")


class Run:
    """`start` and then `wait`, both within `timeout_s` seconds from now."""

    def __init__(self, place: AthenaPlace, timeout_s: float) -> None:
        self._place, self._timeout_s = place, timeout_s
        self._deadline = time.monotonic() + timeout_s
        self.id = ""

    def start(self, statement: str, parameters: Sequence[str]) -> None:
        """QueryFailed where Athena cannot read it, Unavailable while it takes no more."""
        arguments: dict[str, Any] = {
            "QueryString": statement,
            "QueryExecutionContext": {"Database": self._place.database},
            "ResultConfiguration": {"OutputLocation": self._place.results},
            "WorkGroup": self._place.work_group,
            **({"ExecutionParameters": list(parameters)} if parameters else {}),
        }
        with aws_errors("Athena"):
            try:
                self.id = self._place.athena.start_query_execution(**arguments)["QueryExecutionId"]
            except ClientError as error:
                if code_of(error) == "InvalidRequestException":
                    raise _refused(error) from error
                raise

    def wait(self) -> None:
        """Return when it has succeeded. QueryTimedOut after StopQueryExecution; QueryFailed or Unavailable."""
        pause = _FIRST_LOOK_S
        while True:
            with aws_errors(f"Athena query {self.id}"):
                found = self._place.athena.get_query_execution(QueryExecutionId=self.id)["QueryExecution"]
            status = found["Status"]
            if status["State"] == "SUCCEEDED":
                return
            if status["State"] not in _WAITING:
                raise ended(status)
            left = self._deadline - time.monotonic()
            if left <= 0:
                self.stop()
                raise QueryTimedOut(f"The query ran longer than {self._timeout_s:g} s and was stopped.")
            time.sleep(min(pause, left))
            pause = min(pause * 1.5, _SLOWEST_LOOK_S)

    def stop(self) -> None:
        with aws_errors(f"Athena query {self.id}"):
            self._place.athena.stop_query_execution(QueryExecutionId=self.id)

    def rows(self, most: int) -> tuple[list[dict[str, Any]], list[list[str | None]]]:
        """(ColumnInfo of each column, at most so many rows). By GetQueryResults, which tells null from ''."""
        columns: list[dict[str, Any]] = []
        rows: list[list[str | None]] = []
        token: dict[str, str] = {}
        while True:
            with aws_errors(f"Athena query {self.id}"):
                # A thousand is the API's most; the first row is the header.
                page = self._place.athena.get_query_results(QueryExecutionId=self.id, MaxResults=1000, **token)
            found = [[cell.get("VarCharValue") for cell in row["Data"]] for row in page["ResultSet"]["Rows"]]
            if not columns:
                columns = page["ResultSet"]["ResultSetMetadata"]["ColumnInfo"]
                del found[:1]
            rows += found
            if len(rows) >= most or "NextToken" not in page:
                return columns, rows[:most]
            token = {"NextToken": page["NextToken"]}


def _refused(error: ClientError) -> AsklineError:
    said = str(error.response["Error"].get("Message", ""))
    # MALFORMED_QUERY, or without that code Trino's own words: "line 1:8: mismatched input …".
    if error.response.get("AthenaErrorCode") == "MALFORMED_QUERY" or said.lower().startswith(("line ", "queries of")):
        return QueryFailed(said)
    return ConfigurationError(
        f"Athena did not take the query: {said}",
        fix="Correct ASKLINE_ATHENA__WORKGROUP or ASKLINE_ATHENA__OUTPUT_LOCATION.",
    )


def ended(status: dict[str, Any]) -> AsklineError:
    """The error of a query whose QueryExecution.Status is FAILED or CANCELLED."""
    reason = status.get("StateChangeReason") or "Athena gave no reason."
    if status["State"] == "CANCELLED":
        if "scan" in reason.lower():
            return QueryFailed(
                f"Athena stopped the query: {reason}.",
                fix="Name fewer columns or rows, or raise ASKLINE_ATHENA__SCAN_LIMIT_MB and the work group's limit.",
            )
        return QueryFailed(
            f"The query was cancelled in Athena: {reason}.", fix="Somebody stopped it; ask again if it was not you."
        )
    error = status.get("AthenaError") or {}
    if error.get("Retryable") or error.get("ErrorCategory") == _SYSTEM or any(word in reason for word in _RETRYABLE):
        return Unavailable(f"Athena could not run the query: {reason}")
    return QueryFailed(reason)
