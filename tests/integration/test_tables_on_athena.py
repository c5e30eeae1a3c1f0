"""Tables with Athena as the warehouse and Glue as the catalog, from the upload to the last trace of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import boto3
import pytest
from by_http import put, put_all, shown
from fastapi.testclient import TestClient
from lake import lake_settings

from foundation.errors import ConfigurationError
from foundation.settings import AdapterSettings, Settings
from foundation.stores import Stores
from foundation.table_catalog import unlinked_tables
from tests.engines.athena import Athena

pytestmark = pytest.mark.engines

RunJob = Callable[..., Any]

STAYS = "Ward,Nächte,Cost (USD),From,Paid\nNorth,3,10.50,2024-02-29,yes\nSouth,4,20.25,2024-03-01,no\nNorth,5,,,\n"


@pytest.fixture
def settings(settings: Settings, athena_server: Athena, aws_keys: None) -> Settings:
    lake = lake_settings(athena_server.url)
    return settings.model_copy(
        update={name: getattr(lake, name) for name in ("aws", "s3", "athena", "query", "adapters")}
    )


def sql(client: TestClient, statement: str, engine: str = "warehouse") -> list[list[Any]]:
    response = client.post("/sql", json={"statement": statement, "engine": engine})
    assert response.status_code == 200, response.text
    rows: list[list[Any]] = response.json()["rows"]
    return rows


def left_in_aws(settings: Settings) -> list[str]:
    """Keys of every version and delete marker, and the tables of every Glue database of ours."""
    s3: Any = boto3.client("s3", endpoint_url=settings.aws.endpoint_url)
    page = s3.list_object_versions(Bucket=settings.s3.bucket)
    keys = [item["Key"] for item in [*page.get("Versions", []), *page.get("DeleteMarkers", [])]]
    glue: Any = boto3.client("glue", endpoint_url=settings.aws.endpoint_url)
    tables = glue.get_tables(DatabaseName=settings.athena.database)["TableList"]
    return keys + [table["Name"] for table in tables]


def test_a_table_is_linked_to_glue_answers_by_athena_and_leaves_nothing(
    client: TestClient, stores: Stores, run_job: RunJob
) -> None:
    document = put(client, "stays.csv", STAYS.encode())
    assert run_job("ingest", scope="pending").success
    assert shown(client, document["document_id"])["status"] == "indexed"
    table = client.get("/tables/stays").json()
    link = table["link"]
    assert link["catalog_table"] == f"{stores.settings.athena.database}.{link['postgres_table']}"
    assert link["version_id"] == document["version_id"]
    (of_document,) = shown(client, document["document_id"])["table_links"]
    assert of_document == {name: link[name] for name in ("version_id", "catalog_table", "postgres_table")} | {"rows": 3}
    assert link["rows_file"] == link["rows_catalog"] == link["rows_postgres"] == 3
    glue: Any = boto3.client("glue", endpoint_url=stores.settings.aws.endpoint_url)
    found = glue.get_table(DatabaseName=stores.settings.athena.database, Name=link["postgres_table"])["Table"]
    assert [(c["Name"], c["Comment"]) for c in found["StorageDescriptor"]["Columns"]] == [
        (column["name"], column["label"]) for column in table["columns"]
    ]
    assert {column["label"] for column in table["columns"]} == {"Ward", "Nächte", "Cost (USD)", "From", "Paid"}
    columns = ", ".join(f'"{column["name"]}"' for column in table["columns"])
    statement = f"select {columns} from stays order by {columns}"
    assert sql(client, statement) == sql(client, statement, "postgres")
    said = client.post("/ask", json={"question": "What is the average cost by ward in stays?"}).json()
    assert [entry["dialect"] for entry in said["sql"]] == ["athena"]
    assert "10.5" in said["text"] and "20.25" in said["text"]
    problem = client.post("/sql", json={"statement": "select cast(ward as bigint) from stays", "engine": "warehouse"})
    assert (problem.status_code, problem.json()["code"]) == (422, "query_failed")
    assert "INVALID_CAST_ARGUMENT" in problem.json()["detail"]
    assert unlinked_tables(stores) == []

    erasure = client.delete(f"/documents/{document['document_id']}").json()["erasure_id"]
    assert run_job("erase_job").success
    report = client.get(f"/erasures/{erasure}").json()
    assert report["status"] == "verified", report
    assert left_in_aws(stores.settings) == []


def test_every_name_gets_a_table_that_athena_reads_under_it(client: TestClient, run_job: RunJob) -> None:
    names = [
        "a-b.csv",
        "select.csv",
        "information_schema.csv",
        "患者.csv",
        "2024.csv",
        "!!!.csv",
        "long " * 30 + ".csv",
    ]
    headers = 'select,"Order, by",日付,ÜBER Größe,1st,$path,_,"q""uote",tab\tbed'
    put_all(client, *((name, f"{headers}\n1,2,3,4,5,6,7,8,{number}\n".encode()) for number, name in enumerate(names)))
    assert run_job("ingest", scope="pending").success
    items = client.get("/tables").json()["items"]
    assert {item["file_name"] for item in items} == set(names)
    for item in items:
        columns = ", ".join(f'"{column["name"]}"' for column in item["columns"])
        wanted = [[1, 2, 3, 4, 5, 6, 7, 8, names.index(item["file_name"])]]
        assert sql(client, f'select {columns} from "{item["name"]}"') == wanted, item["columns"]


def test_athena_without_its_bucket_is_refused_at_once(settings: Settings) -> None:
    mixed = settings.model_copy(update={"adapters": AdapterSettings(warehouse="aws", catalog="aws")})
    with pytest.raises(ConfigurationError, match="ASKLINE_ADAPTERS__OBJECTS"):
        _ = Stores(mixed).warehouse
