"""The Glue catalog, against moto's Glue."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import boto3
import pytest

from foundation import aws_stores
from foundation.adapters.aws.catalog import GlueCatalog
from foundation.contracts.catalog import COLUMNS, CatalogContract, table
from foundation.errors import Unavailable
from foundation.settings import AdapterSettings, AthenaSettings, AwsSettings, S3Settings, Settings
from tests.doubles.aws_faults import Fault, FaultyWire

pytestmark = pytest.mark.engines


@pytest.fixture
def settings(aws: str, bucket: str) -> Settings:
    return Settings(
        aws=AwsSettings(endpoint_url=aws),
        s3=S3Settings(bucket=bucket),
        athena=AthenaSettings(database=bucket.replace("-", "_"), workgroup=bucket),
        adapters=AdapterSettings(objects="aws", warehouse="aws", catalog="aws"),
    )


@pytest.fixture
def glue(aws: str) -> Any:
    return boto3.client("glue", endpoint_url=aws)


@pytest.fixture
def catalog(settings: Settings) -> GlueCatalog:
    return aws_stores.catalog(settings)


class TestGlueCatalog(CatalogContract):
    @pytest.fixture
    def catalog(self, settings: Settings) -> GlueCatalog:
        return aws_stores.catalog(settings)


def test_glue_shows_the_names_of_the_file_and_where_it_lies(
    catalog: GlueCatalog, glue: Any, settings: Settings, bucket: str
) -> None:
    catalog.register(replace(table("dst_1"), description="Seen in the ward"))
    (found,) = glue.get_tables(DatabaseName=settings.athena.database)["TableList"]
    assert (found["Name"], found["Description"]) == ("t_1", "Visits: Seen in the ward")
    shown = found["StorageDescriptor"]
    assert shown["Location"] == f"s3://{bucket}/derived/versions/dst_1/tables/"
    assert [(c["Name"], c["Type"], c["Comment"]) for c in shown["Columns"]] == [
        ("id", "string", "Id"),
        ("cost", "decimal(18,2)", "Cost (USD)"),
        ("größe", "double", "Größe"),
        ("seen", "timestamp", "Seen"),
    ]


def test_an_entry_that_is_replaced_leaves_no_earlier_version(
    catalog: GlueCatalog, glue: Any, settings: Settings
) -> None:
    # moto keeps versions whatever it is asked; what counts is the call.
    calls: list[dict[str, Any]] = []
    catalog._place.glue.meta.events.register(
        "provide-client-params.glue.UpdateTable", lambda params, **_: calls.append(params)
    )
    catalog.register(table("dst_1"))
    catalog.register(table("dst_1", columns=COLUMNS[:1]))
    assert [call["SkipArchive"] for call in calls] == [True]


def test_every_table_is_listed_with_its_dataset(catalog: GlueCatalog, glue: Any, settings: Settings) -> None:
    assert list(catalog.datasets()) == []
    catalog.register(table("dst_1"))
    glue.create_table(DatabaseName=settings.athena.database, TableInput={"Name": "foreign"})
    assert sorted(catalog.datasets()) == [
        (f"{settings.athena.database}.foreign", ""),
        (f"{settings.athena.database}.t_1", "dst_1"),
    ]


def test_what_passes_is_tried_again_and_what_stays_is_transient(settings: Settings) -> None:
    with FaultyWire(str(settings.aws.endpoint_url)).running() as wire:
        through = aws_stores.catalog(settings.model_copy(update={"aws": AwsSettings(endpoint_url=wire.url)}))
        wire.faults.append(Fault("POST", "AWSGlue.CreateTable", times=2, status=400, code="ThrottlingException"))
        through.register(table("dst_1"))
        assert through.columns("dst_1") == COLUMNS
        # Two processes that register the same content at once.
        wire.faults.append(
            Fault("POST", "AWSGlue.UpdateTable", times=9, status=400, code="ConcurrentModificationException")
        )
        with pytest.raises(Unavailable, match="Glue table t_1: UpdateTable gave ConcurrentModificationException"):
            through.register(table("dst_1"))


def test_removing_where_nothing_was_ever_registered_removes_nothing(catalog: GlueCatalog) -> None:
    assert catalog.remove(["dst_1"]) == 0
    assert catalog.remove([]) == 0


def test_more_tables_than_one_call_takes_are_removed(catalog: GlueCatalog) -> None:
    names = [f"dst_{number}" for number in range(101)]
    for name in names:
        catalog.register(table(name))
    assert catalog.remove([*names, "dst_unknown"]) == 101
    assert list(catalog.datasets()) == []
