"""A verified erasure: no byte, row, event or answer tells of the document afterwards, and the report says so."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import dagster as dg
import pytest
from by_http import put, shown
from dagster._core.storage.event_log.schema import AssetCheckExecutionsTable, AssetKeyTable, SqlEventLogStorageTable
from fastapi.testclient import TestClient
from sqlalchemy import select, text

from foundation.registry.database import transaction
from foundation.stores import Stores
from pipelines.dagster_traces import without
from pipelines.transform.manifest import dbt_folder
from pipelines.transform.outputs import DbtOutputs

RunJob = Callable[..., Any]

STORES = {
    *("search_index", "graph", "postgres_copies", "marts", "dbt_outputs", "catalog", "parquet", "derived_objects"),
    *("caches", "conversations", "landing_objects", "dagster", "registry"),
}


def erased(client: TestClient, run_job: RunJob, document_id: str) -> dict[str, Any]:
    """The report, after the run that erases."""
    erasure_id = client.delete(f"/documents/{document_id}").json()["erasure_id"]
    assert run_job("erase_job").success
    report: dict[str, Any] = client.get(f"/erasures/{erasure_id}").json()
    assert report["status"] == "verified", report
    return report


def told_by_dagster(instance: dg.DagsterInstance) -> str:
    """Everything that its event log holds."""
    columns = (
        SqlEventLogStorageTable.c.event,
        AssetKeyTable.c.last_materialization,
        AssetCheckExecutionsTable.c.evaluation_event,
    )
    with instance.event_log_storage.index_connection() as connection:  # type: ignore[attr-defined]
        return "\n".join(str(value) for column in columns for value in connection.execute(select(column)).scalars())


def told_by_postgres(stores: Stores) -> str:
    """Every row of every table and view of the database."""
    listing = (
        "select format('%I.%I', table_schema, table_name) from information_schema.tables"
        " where table_schema not in ('pg_catalog', 'information_schema')"
    )
    with transaction(stores.engine) as connection:
        return "\n".join(
            str(row)
            for name in connection.execute(text(listing)).scalars().all()
            for row in connection.execute(text(f"select t::text from {name} t")).scalars()
        )


def told_by_files(stores: Stores, word: str) -> list[str]:
    return [
        str(path)
        for path in stores.settings.folder.rglob("*")
        if word in path.name or (path.is_file() and word.encode() in path.read_bytes())
    ]


def test_no_store_tells_of_an_erased_document_and_the_report_has_each(
    client: TestClient, stores: Stores, run_job: RunJob, dagster_instance: dg.DagsterInstance
) -> None:
    note = put(
        client,
        "quellmar_notice.txt",
        b"Walk-in hours at Quellmar are from 8:00 to 11:30. Metformin treats type 2 diabetes at Quellmar.",
        licence="Quellmar licence",
        source_url="https://quellmar.example",
        effective_date="2025-01-01",
        supersedes="quellmar_old.txt",
    )
    table = put(client, "quellmar_stays.csv", b"ward,nights\nQuellmar east,3\nQuellmar west,4\n")
    failed = put(client, "quellmar_scan.pdf", b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog")
    kept = put(client, "other.txt", b"Insulin treats type 1 diabetes.")
    run_job("ingest", scope="pending")
    put(client, "quellmar_notice.txt", b"Walk-in hours at Quellmar are from 9:00 to 10:30. Ask at the desk.")
    run_job("ingest", scope="pending")
    for question in ("When are the walk-in hours?", "How many nights are there per ward?"):
        assert "uellmar" in client.post("/ask", json={"question": question}).text
    assert "quellmar_notice.txt" in told_by_dagster(dagster_instance)
    assert "quellmar_scan.pdf" in told_by_dagster(dagster_instance)
    for item in (note, table, failed):
        report = erased(client, run_job, item["document_id"])
        found = {store["name"]: store for store in report["stores"]}
        assert set(found) == STORES
        assert {store["left"] for store in found.values()} == {0}
        assert found["dagster"]["found"] > 0
        assert found["landing_objects"]["found"] == (2 if item is note else 1)
        assert report["requested_by"] == "local"
        if item is note:
            assert found["search_index"]["found"] > 0
            assert found["conversations"]["found"] == 1
            assert found["graph"]["found"] > 0
        if item is table:
            assert found["parquet"]["found"] == found["postgres_copies"]["found"] == found["catalog"]["found"] == 1
            assert found["conversations"]["found"] == 1
    for tells in (told_by_dagster(dagster_instance), told_by_postgres(stores)):
        assert "uellmar" not in tells.casefold()
    assert note["document_id"] not in told_by_dagster(dagster_instance)
    assert told_by_files(stores, "uellmar") == []
    assert kept["document_id"] in told_by_dagster(dagster_instance)
    assert "other.txt" in told_by_dagster(dagster_instance)
    # What Dagster holds can still be read as events.
    events = dagster_instance.get_latest_materialization_event(dg.AssetKey("chunks"))
    assert events is not None
    with transaction(stores.engine) as connection:
        lines = connection.execute(text("select action, object_id, principal from askline.audit")).all()
    assert ("delete", note["document_id"], "local") in [tuple(line) for line in lines]


def test_what_another_document_has_too_stays_and_the_report_says_so(
    client: TestClient, stores: Stores, run_job: RunJob
) -> None:
    data = b"Insulin lowers blood sugar. It treats type 1 diabetes."
    first, second = put(client, "a.txt", data), put(client, "b.txt", data)
    assert second["duplicate_of"] == first["document_id"]
    run_job("ingest", scope="pending")
    run_job("ingest", scope="pending")
    report = erased(client, run_job, first["document_id"])
    assert "another living document" in report["kept"]
    assert {store["found"] for store in report["stores"] if store["name"] == "search_index"} == {0}
    record = shown(client, second["document_id"])
    assert (record["status"], record["duplicate_of"]) == ("indexed", None)
    assert stores.search.count(second["version_id"]) > 0


def test_an_erased_text_is_forgotten_by_the_process_that_has_it_in_memory(
    client: TestClient, stores: Stores, run_job: RunJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    item = put(client, "a.txt", b"Tea is served at four.")
    run_job("ingest", scope="pending")
    assert client.get(f"/documents/{item['document_id']}/text").status_code == 200
    assert stores.artefacts.texts.count(item["version_id"]) == 1
    stores.derived.purge_prefix(f"versions/{item['version_id']}/")  # as another process does
    monkeypatch.setattr("foundation.text_cache._TRUSTED_S", 0)
    other = put(client, "b.txt", b"Coffee is served at five.")
    run_job("ingest", scope="pending")
    client.get(f"/documents/{other['document_id']}/text")
    assert stores.artefacts.texts.count(item["version_id"]) == 0


def test_the_outputs_of_a_dbt_build_that_read_it_go(stores: Stores) -> None:
    folder = dbt_folder(stores.settings)
    (folder / "target" / "compiled").mkdir(parents=True)
    (folder / "sources.json").write_text('{"encounters": [{"path": "/d/versions/abc/tables/0.parquet"}]}')
    (folder / "target" / "dbt.log").write_text("Could not convert string 'Quellmar'")
    (folder / "target" / "compiled" / "model.sql").write_text("select 1")
    (folder / "target" / "manifest.json").write_text("{}")
    assert DbtOutputs(stores.settings, ["def"]).count() == 0
    outputs = DbtOutputs(stores.settings, ["abc"])
    assert (outputs.count(), outputs.remove(), outputs.count()) == (3, 3, 0)
    left = {path.name for path in folder.rglob("*") if path.is_file()}
    assert left - {"build.lock"} == {"manifest.json"}


def test_only_the_lines_of_the_document_leave_an_event() -> None:
    event = {
        "text": "| file |\n|---|\n| [a.txt](http://x/documents/doc_1) |\n| [b.txt](http://x/documents/doc_2) |",
        "schema": [{"name": "ward", "description": "a.csv › doc_1: 3 values"}, {"name": "bed", "description": "doc_2"}],
        "entries": [
            {"label": "lineage", "data": {"url": "http://x/lineage/documents/doc_1"}},
            {"label": "n", "data": 3},
        ],
        "open": ["doc_1", "doc_2"],
        "nothing": None,
    }
    assert json.loads(without(json.dumps(event), ["doc_1"])) == {
        "text": "| file |\n|---|\n| [b.txt](http://x/documents/doc_2) |",
        "schema": [{"name": "bed", "description": "doc_2"}],
        "entries": [{"label": "lineage", "data": {"url": ""}}, {"label": "n", "data": 3}],
        "open": ["doc_2"],
        "nothing": None,
    }


def test_two_documents_with_the_same_bytes_are_both_erased_by_one_run(
    client: TestClient, stores: Stores, run_job: RunJob
) -> None:
    data = b"Insulin lowers blood sugar. It treats type 1 diabetes."
    items = [put(client, name, data) for name in ("a.txt", "b.txt")]
    run_job("ingest", scope="pending")
    run_job("ingest", scope="pending")
    erasure_ids = [client.delete(f"/documents/{item['document_id']}").json()["erasure_id"] for item in items]
    assert run_job("erase_job").success
    assert [client.get(f"/erasures/{i}").json()["status"] for i in erasure_ids] == ["verified", "verified"]
    assert stores.search.count() == 0
    assert list(stores.derived.current()) == []
