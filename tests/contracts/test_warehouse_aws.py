"""Athena as the warehouse, on a real Trino."""

from __future__ import annotations

import io
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import boto3
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from foundation import aws_stores
from foundation.adapters.aws.warehouse import AthenaWarehouse
from foundation.contracts.warehouse import Store, WarehouseContract
from foundation.errors import ConfigurationError, QueryFailed, QueryTimedOut, Unavailable
from foundation.ports.warehouse import Warehouse
from foundation.settings import AthenaSettings, AwsSettings, QuerySettings, S3Settings, Settings
from foundation.types import Column, GuardedSql, TableInfo
from tests.doubles.aws_faults import Fault, FaultyWire
from tests.engines.athena import Athena

pytestmark = pytest.mark.engines

HUGE = "SELECT count(*) FROM data.t a, data.t b, data.t c, data.t d WHERE a.a + b.a < c.a * d.a"


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
    """A bucket, a Glue database and a work group of this module's own."""
    name = f"test-{uuid.uuid4().hex[:12]}"
    boto3.client("s3", endpoint_url=athena_server.url).create_bucket(Bucket=name)
    return Settings(
        aws=AwsSettings(endpoint_url=athena_server.url),
        s3=S3Settings(bucket=name),
        athena=AthenaSettings(database=name.replace("-", "_"), workgroup=name),
        query=QuerySettings(statement_timeout_s=60),
    )


@pytest.fixture
def store(place: Settings) -> Store:
    catalog, objects = aws_stores.catalog(place), aws_stores.derived(place)

    def put(name: str, table: pa.Table) -> TableInfo:
        identity = uuid.uuid4().hex[:12]
        file = io.BytesIO()
        pq.write_table(table, file)
        key = f"versions/{identity}/tables/0/table.parquet"
        objects.put(key, file.getvalue())
        columns = tuple(column_of(field) for field in table.schema)
        info = TableInfo(name, name, columns, table.num_rows, "upload", key, False, f"dst_{identity}")
        catalog.register(info)
        return info

    return put


@pytest.fixture
def warehouse(place: Settings) -> Warehouse:
    return aws_stores.warehouse(place)


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
    s3 = boto3.client("s3", endpoint_url=place.aws.endpoint_url)
    page = s3.list_object_versions(Bucket=str(place.s3.bucket), Prefix="athena/")
    return [item["Key"] for item in page.get("Versions", [])]


def test_no_result_stays_in_s3(place: Settings, warehouse: Warehouse, store: Store) -> None:
    table = store("t", pa.table({"a": [1]}))
    assert warehouse.query(unguarded('SELECT a FROM "data"."t" AS "t"', "t"), [table]).rows == ((1,),)
    with pytest.raises(QueryFailed):
        warehouse.query(unguarded("SELECT 1 / 0"), [])
    assert results_in(place) == []
