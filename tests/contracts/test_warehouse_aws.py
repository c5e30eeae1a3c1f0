"""Athena as the warehouse, on a real Trino."""

from __future__ import annotations

import threading
import time
import uuid
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import boto3
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from lake import lake_settings, put_table

from foundation import aws_stores
from foundation.adapters.aws.warehouse_run import ended
from foundation.contracts.warehouse import Store, WarehouseContract
from foundation.errors import ConfigurationError, QueryFailed, QueryTimedOut, SqlRefused, Unavailable
from foundation.ports.warehouse import Warehouse
from foundation.settings import AwsSettings, QuerySettings, Settings
from foundation.types import Column, GuardedSql, TableInfo
from tests.doubles.aws_faults import Fault, FaultyWire
from tests.engines.athena import Athena
from tests.engines.processes import free_port

pytestmark = pytest.mark.engines

HUGE = """SELECT count(*) FROM "data"."t" AS "a", "data"."t" AS "b", "data"."t" AS "c" WHERE "a"."a" + "b"."a" < "c"."a"
    AND "a"."a" * "b"."a" < "c"."a" + 1"""


def column_of(field: pa.Field) -> Column:
    kind: Any = field.type
    if pa.types.is_decimal(kind):
        return Column(field.name, field.name, "decimal", precision=kind.precision, scale=kind.scale)
    named: dict[Any, Any] = {
        pa.int64(): "bigint",
        pa.float64(): "double",
        pa.bool_(): "boolean",
        pa.date32(): "date",
        pa.timestamp("us"): "timestamp",
        pa.string(): "text",
    }
    return Column(field.name, field.name, named[kind])


@pytest.fixture(scope="module")
def place(athena_server: Athena, aws_keys: None) -> Settings:
    return lake_settings(athena_server.url)


@pytest.fixture
def store(place: Settings, tmp_path: Path) -> Store:
    def put(name: str, table: pa.Table) -> TableInfo:
        path = tmp_path / f"{name}.parquet"
        pq.write_table(table, path)
        columns = tuple(column_of(field) for field in table.schema)
        identity = f"dst_{uuid.uuid4().hex[:12]}"
        info = TableInfo(name, name, columns, table.num_rows, "upload", str(path), False, identity)
        return put_table(place, info, path)

    return put


@pytest.fixture
def warehouse(place: Settings) -> Warehouse:
    return aws_stores.warehouse(place)


@pytest.fixture
def athena(place: Settings) -> Any:
    return boto3.client("athena", endpoint_url=place.aws.endpoint_url)


def impatient(place: Settings) -> Settings:
    return place.model_copy(update={"query": QuerySettings(statement_timeout_s=1)})


class TestAthena(WarehouseContract):
    @pytest.fixture
    def warehouse(self, warehouse: Warehouse) -> Warehouse:
        return warehouse

    @pytest.fixture
    def impatient_warehouse(self, place: Settings) -> Warehouse:
        return aws_stores.warehouse(impatient(place))

    @pytest.fixture
    def store(self, store: Store) -> Store:
        return store


def unguarded(statement: str, *tables: str, limit: int = 10, parameters: tuple[Any, ...] = ()) -> GuardedSql:
    return GuardedSql(statement, "athena", tables, limit, parameters)


def results_in(place: Settings) -> list[str]:
    s3: Any = boto3.client("s3", endpoint_url=place.aws.endpoint_url)
    page = s3.list_object_versions(Bucket=place.s3.bucket, Prefix="athena/")
    return [item["Key"] for item in [*page.get("Versions", []), *page.get("DeleteMarkers", [])]]


def running(athena: Any, place: Settings) -> list[str]:
    ids = athena.list_query_executions(WorkGroup=place.athena.workgroup)["QueryExecutionIds"]
    found = [athena.get_query_execution(QueryExecutionId=one)["QueryExecution"] for one in ids]
    return [one["QueryExecutionId"] for one in found if one["Status"]["State"] in ("QUEUED", "RUNNING")]


def one_row(place: Settings, store: Store) -> TableInfo:
    return store("t", pa.table({"a": [1]}))


SELECT = unguarded('SELECT "a" FROM "data"."t" AS "t"', "t")


def test_no_result_stays_in_s3(place: Settings, warehouse: Warehouse, store: Store) -> None:
    assert warehouse.query(SELECT, [one_row(place, store)]).rows == ((1,),)
    with pytest.raises(QueryFailed):
        warehouse.query(unguarded("SELECT 1 / 0"), [])
    assert results_in(place) == []


def test_more_rows_than_one_page_of_the_api_come_in_order(warehouse: Warehouse, store: Store) -> None:
    table = store("t", pa.table({"a": list(range(2500))}))
    statement = 'SELECT "t"."a" AS "a" FROM "data"."t" AS "t" ORDER BY "a"'
    for limit, rows in ((2500, 2500), (1500, 1500), (999, 999)):
        found = warehouse.query(unguarded(statement, "t", limit=limit), [table])
        assert [a for (a,) in found.rows] == list(range(rows))
        assert found.truncated == (limit < 2500)


def test_athena_that_cannot_be_reached_is_unavailable(place: Settings) -> None:
    gone = AwsSettings(endpoint_url=f"http://127.0.0.1:{free_port()}", max_attempts=1, region="us-east-1")
    with pytest.raises(Unavailable, match="does not answer"):
        aws_stores.warehouse(place.model_copy(update={"aws": gone})).query(unguarded("SELECT 1"), [])


def test_a_query_over_its_time_is_stopped_in_athena_too(place: Settings, athena: Any, store: Store) -> None:
    table = store("t", pa.table({"a": list(range(20_000))}))
    with pytest.raises(QueryTimedOut, match="longer than 1 s"):
        aws_stores.warehouse(impatient(place)).query(unguarded(HUGE, "t"), [table])
    deadline = time.monotonic() + 10
    while running(athena, place):
        assert time.monotonic() < deadline, "it still runs"
        time.sleep(0.1)


def test_a_query_that_somebody_cancels_says_so(place: Settings, athena: Any, store: Store) -> None:
    table = store("t", pa.table({"a": list(range(20_000))}))
    caught: list[Exception] = []

    def ask() -> None:
        try:
            aws_stores.warehouse(place).query(unguarded(HUGE, "t"), [table])
        except QueryFailed as error:
            caught.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    while not (found := running(athena, place)) and asking.is_alive():
        time.sleep(0.05)
    athena.stop_query_execution(QueryExecutionId=found[0])
    asking.join(30)
    assert "was cancelled in Athena: Query cancelled by user" in str(caught[0])


def test_what_reads_more_than_the_work_group_allows_is_stopped(place: Settings, store: Store) -> None:
    # Random numbers, which no encoding makes small: 16 MB of Parquet where 10 MB may be read.
    noise = np.random.default_rng(1).integers(0, 2**62, 2_000_000)
    table = store("t", pa.table({"a": noise}))
    tight = place.athena.model_copy(update={"workgroup": f"{place.athena.workgroup}-tight", "scan_limit_mb": 10})
    warehouse = aws_stores.warehouse(place.model_copy(update={"athena": tight}))
    with pytest.raises(QueryFailed, match="Bytes scanned limit was exceeded") as caught:
        warehouse.query(unguarded('SELECT sum("t"."a" % 7) AS n FROM "data"."t" AS "t"', "t"), [table])
    assert "ASKLINE_ATHENA__SCAN_LIMIT_MB" in caught.value.fix


@pytest.mark.parametrize(
    ("operation", "code", "status"),
    [
        ("StartQueryExecution", "TooManyRequestsException", 400),
        ("StartQueryExecution", "ThrottlingException", 400),
        ("GetQueryExecution", "ThrottlingException", 400),
        ("GetQueryResults", "InternalServerException", 500),
    ],
)
def test_what_passes_is_tried_again(place: Settings, store: Store, operation: str, code: str, status: int) -> None:
    table = one_row(place, store)
    with FaultyWire(str(place.aws.endpoint_url)).running() as wire:
        wire.faults.append(Fault("POST", f"AmazonAthena.{operation}", times=2, status=status, code=code))
        assert aws_stores.warehouse(over(place, wire)).query(SELECT, [table]).rows == ((1,),)
        assert wire.faults[0].times == 0


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        ("TooManyRequestsException", 400, Unavailable),
        ("InternalServerException", 500, Unavailable),
        ("AccessDeniedException", 400, ConfigurationError),
        ("ExpiredTokenException", 400, ConfigurationError),
    ],
)
def test_what_stays_is_an_error_that_names_the_call(
    place: Settings, store: Store, code: str, status: int, kind: type[Exception]
) -> None:
    table = one_row(place, store)
    with FaultyWire(str(place.aws.endpoint_url)).running() as wire:
        wire.faults.append(Fault("POST", "AmazonAthena.StartQueryExecution", times=99, status=status, code=code))
        with pytest.raises(kind, match=f"StartQueryExecution gave {code}"):
            aws_stores.warehouse(over(place, wire, max_attempts=2)).query(SELECT, [table])


def over(place: Settings, wire: FaultyWire, **more: Any) -> Settings:
    return place.model_copy(update={"aws": AwsSettings(endpoint_url=wire.url, **more)})


def test_a_table_that_glue_lost_is_a_failed_query_with_athenas_words(
    place: Settings, warehouse: Warehouse, store: Store
) -> None:
    table = one_row(place, store)
    aws_stores.catalog(place).remove([table.dataset_id])
    with pytest.raises(QueryFailed, match="TABLE_NOT_FOUND"):
        warehouse.query(SELECT, [table])


def test_athenas_own_failures_are_unavailable_and_the_statements_are_not() -> None:
    for error, kind in (
        ({"ErrorCategory": 1, "Retryable": False}, Unavailable),
        ({"ErrorCategory": 2, "Retryable": True}, Unavailable),
        ({"ErrorCategory": 2, "Retryable": False}, QueryFailed),
    ):
        status = {"State": "FAILED", "StateChangeReason": "SOME_ERROR: why", "AthenaError": error}
        assert type(ended(status)) is kind
        assert "SOME_ERROR: why" in ended(status).message


@pytest.mark.parametrize(
    ("group", "message"),
    [
        ({"EnforceWorkGroupConfiguration": False}, "does not bound"),
        (
            {
                "BytesScannedCutoffPerQuery": 10_000_000,
                "EnforceWorkGroupConfiguration": True,
                "ResultConfiguration": {"OutputLocation": "s3://elsewhere/"},
            },
            "s3://elsewhere/",
        ),
    ],
)
def test_a_work_group_that_would_break_a_promise_is_refused(
    place: Settings, athena: Any, group: dict[str, Any], message: str
) -> None:
    name = f"other-{uuid.uuid4().hex[:8]}"
    athena.create_work_group(Name=name, Configuration=group)
    chosen = place.athena.model_copy(update={"workgroup": name})
    with pytest.raises(ConfigurationError, match=message):
        aws_stores.warehouse(place.model_copy(update={"athena": chosen})).query(unguarded("SELECT 1"), [])


def test_a_bucket_that_is_not_there_is_named(place: Settings) -> None:
    wrong = place.athena.model_copy(update={"output_location": "s3://no-such-bucket-here/x/"})
    with pytest.raises(ConfigurationError, match="no-such-bucket-here"):
        aws_stores.warehouse(place.model_copy(update={"athena": wrong})).query(unguarded("SELECT 1"), [])


def test_a_parameter_is_a_value_whatever_is_in_it(warehouse: Warehouse) -> None:
    values = (
        "it's -- \\ \n",
        7,
        -1.5,
        Decimal("12.30"),
        True,
        None,
        date(2024, 2, 29),
        datetime.fromisoformat("2024-02-29T01:02:03"),
    )
    sql = unguarded("SELECT ?, ?, ?, ?, ?, ?, ?, ?", parameters=values)
    assert warehouse.query(sql, []).rows == (values,)
    with pytest.raises(QueryFailed, match="Parameter 1 has 1027 characters"):
        warehouse.query(unguarded("SELECT ?", parameters=("x" * 1025,)), [])


@pytest.mark.parametrize("statement", ["DROP TABLE t", "SELECT 1; DROP TABLE t", "INSERT INTO t SELECT 1", "VALUES 1"])
def test_the_adapter_runs_one_select_and_nothing_else(warehouse: Warehouse, statement: str) -> None:
    with pytest.raises(SqlRefused):
        warehouse.query(unguarded(statement), [])


def test_a_time_with_a_zone_comes_back_with_it(warehouse: Warehouse) -> None:
    statement = (
        "SELECT TIMESTAMP '2026-07-01 12:00:00 UTC', TIMESTAMP '2026-07-01 12:00:00 Europe/Prague',"
        " TIMESTAMP '2026-07-01 12:00:00 +02:00', X'00ff', ARRAY[1, NULL]"
    )
    (row,) = warehouse.query(unguarded(statement), []).rows
    noon = datetime(2026, 7, 1, 12, tzinfo=UTC)
    assert [moment - noon for moment in row[:3]] == [timedelta(), timedelta(hours=-2), timedelta(hours=-2)]
    assert row[3:] == (b"\x00\xff", "[1, null]")
