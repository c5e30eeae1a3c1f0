"""The ingest job over real files, in one process."""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import dagster as dg
import pytest
from by_http import FERRY, SAMPLES, record
from sqlalchemy import text

from foundation.access import local_principal
from foundation.publication import hide_tables
from foundation.registry import documents, erasures
from foundation.registry.artefacts import chunks_of
from foundation.registry.database import transaction
from foundation.registry.datasets import visible_tables
from foundation.registry.intake import Received
from foundation.registry.lineage import stages_of_version
from foundation.sql_guard import guard
from foundation.stores import Stores
from foundation.types import SearchFilter, Stage
from pipelines.code_versions import embedding_name
from pipelines.erasure import erase
from pipelines.reconcile import differs

chunks_module = import_module("pipelines.assets.chunks")  # the package names the asset so
LOCAL = local_principal("local")

Land = Callable[..., Received]
RunJob = Callable[..., Any]


def test_each_kind_of_file_ends_indexed_and_every_stage_is_recorded(
    stores: Stores, land: Land, run_job: RunJob
) -> None:
    names = ["referral_policy.docx", "clinic_price_list.xlsx", "clinic_notice.txt", "patients.csv"]
    received = [land(name, (next(SAMPLES.rglob(name))).read_bytes()) for name in names]
    result = run_job("ingest", scope="pending")
    assert result.success
    for name, got in zip(names, received, strict=True):
        row = record(stores, got.document_id)
        assert row["status"] == "indexed", (name, row["error_code"], row["error_message"])
        assert row["active_version"] == got.version_id
        with transaction(stores.engine) as connection:
            stages = stages_of_version(connection, got.document_id, got.version_id)
        assert {s["stage"] for s in stages} == {str(stage) for stage in Stage}
        assert {s["run_id"] for s in stages} == {result.run_id}
    with transaction(stores.engine) as connection:
        tables = {table.name: table for table in visible_tables(connection, LOCAL)}
    assert tables["patients"].row_count == 10
    hits = stores.search.search(
        "prior authorization for MRI", stores.embedder.embed_query("prior authorization"), SearchFilter(LOCAL.grants)
    )
    assert hits[0].version_id == received[0].version_id


def test_a_bad_file_fails_alone_with_code_message_and_fix(stores: Stores, land: Land, run_job: RunJob) -> None:
    good = land("good.txt", b"Metformin treats type 2 diabetes.")
    bad = land("bad.pdf", b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog")
    cut = land("cut.xlsx", (SAMPLES / "clinic_price_list.xlsx").read_bytes()[:5000])
    assert run_job("ingest", scope="pending").success
    assert record(stores, good.document_id)["status"] == "indexed"
    for got, name in ((bad, "bad.pdf"), (cut, "cut.xlsx")):
        row = record(stores, got.document_id)
        assert row["status"] == "failed"
        assert row["error_code"] == "damaged_file"
        assert name in row["error_message"]
        assert row["error_fix"]
        assert row["active_version"] is None
    with transaction(stores.engine) as connection:
        assert visible_tables(connection, LOCAL) == []


def test_an_update_answers_whole_and_the_old_version_leaves_the_index(
    stores: Stores, land: Land, run_job: RunJob
) -> None:
    first = land("beds.csv", b"ward,beds\nA,10\nB,12\n")
    run_job("ingest", scope="pending")
    second = land("beds.csv", b"ward,beds\nA,11\nB,12\nC,7\n")
    assert second.document_id == first.document_id
    run_job("ingest", scope="pending")
    row = record(stores, first.document_id)
    assert (row["active_version"], row["number"]) == (second.version_id, 2)
    with transaction(stores.engine) as connection:
        (table,) = visible_tables(connection, LOCAL)
    assert (table.name, table.row_count, table.version_id) == ("beds", 3, second.version_id)
    known = {"beds": ["ward", "beds"]}, {"beds": str(table.relation)}
    sql = guard("select sum(beds) from beds", dialect="postgres", tables=known[0], limit=5, relations=known[1])
    assert stores.relational.query(sql).rows == ((30,),)
    assert stores.search.count(first.version_id) == 0
    assert stores.search.count(second.version_id) > 0


def test_the_same_bytes_under_another_name_share_everything_and_outlive_the_original(
    stores: Stores, land: Land, run_job: RunJob
) -> None:
    data = b"Insulin lowers blood sugar. It treats type 1 diabetes."
    first, second = land("a.txt", data), land("b.txt", data)
    assert second.duplicate_of == first.document_id
    run_job("ingest", scope="pending")  # the first; its twin waits, so that the same bytes are not in work twice
    run_job("ingest", scope="pending")
    chunks = stores.search.count(first.version_id)
    assert chunks == stores.search.count()
    with transaction(stores.engine) as connection:
        erasures.request_erasure(connection, LOCAL, first.document_id)
    assert run_job("erase_job").success
    assert stores.search.count(second.version_id) == chunks
    hits = stores.search.search("insulin", None, SearchFilter(LOCAL.grants, (second.document_id,)))
    assert hits
    assert record(stores, second.document_id)["status"] == "indexed"


def test_an_erasure_leaves_nothing_in_any_store(stores: Stores, land: Land, run_job: RunJob) -> None:
    note = land("note.txt", b"Warfarin is contraindicated with aspirin. Aspirin treats fever and pain in adults.")
    table = land("stock.csv", b"drug,units\nwarfarin,5\naspirin,12\n")
    run_job("ingest", scope="pending")
    ids = []
    for got in (note, table):
        with transaction(stores.engine) as connection:
            requested = erasures.request_erasure(connection, LOCAL, got.document_id)
            hide_tables(connection, stores.relational, requested.active_version)
            ids.append(requested.erasure_id)
            assert documents.cited_documents(connection, LOCAL, [got.version_id]) == {}
    assert run_job("erase_job").success
    for erasure_id in ids:
        with transaction(stores.engine) as connection:
            report = erasures.get_erasure(connection, LOCAL, erasure_id)
        assert report["status"] == "verified", report["stores"]
        assert {store["left"] for store in report["stores"]} == {0}
    with transaction(stores.engine) as connection:
        for name in ("chunks", "datasets", "table_links", "nodes", "edges", "mentions", "document_versions", "stages"):
            assert connection.execute(text(f"select count(*) from askline.{name}")).scalar_one() == 0, name
        left = connection.execute(
            text("select table_name from information_schema.tables where table_schema in ('data', 'copies')")
        ).all()
        assert left == []
        names = connection.execute(text("select file_name, landing_key from askline.documents")).all()
    assert "note" not in str(names)
    assert stores.search.count() == 0
    assert list(stores.derived.current()) == []
    assert list(stores.landing.current()) == []
    kept = [p for p in stores.settings.folder.rglob("*") if p.is_file() and b"Warfarin" in p.read_bytes()]
    assert kept == []


def test_a_copied_file_arrives_and_a_removed_one_is_deleted(stores: Stores, run_job: RunJob) -> None:
    path = stores.settings.landing_folder / "inbound" / "ferry notice.txt"
    assert list(stores.landing.current()) == []
    path.parent.mkdir(parents=True)
    path.write_bytes(FERRY)
    time.sleep(1.1)
    assert run_job("reconcile_job").success
    with transaction(stores.engine) as connection:
        (row,) = documents.list_documents(connection, LOCAL)
    assert (row["file_name"], row["landing_key"]) == ("ferry notice.txt", "inbound/ferry notice.txt")
    assert run_job("ingest", scope="pending").success
    assert record(stores, row["document_id"])["status"] == "indexed"
    path.unlink()
    run_job("reconcile_job")
    assert record(stores, row["document_id"])["status"] == "deleted"
    run_job("erase_job")
    run_job("reconcile_job")
    with transaction(stores.engine) as connection:
        assert documents.list_documents(connection, LOCAL) == []


def test_a_day_again_redoes_nothing_and_forced_gives_the_same(stores: Stores, land: Land, run_job: RunJob) -> None:
    got = land("a.txt", b"Influenza vaccine prevents influenza. Fever is a symptom of influenza.")
    run_job("ingest", scope="pending")
    before = [c["chunk_id"] for c in _chunks(stores, got.version_id)]
    again = run_job("reindex")
    assert again.success
    (event,) = again.asset_materializations_for_node("chunks")
    assert event.metadata["unchanged"].value == 1
    assert event.metadata["versions"].value == 0
    forced = run_job("reindex", tags={"askline/force": "true"})
    assert forced.success
    (event,) = forced.asset_materializations_for_node("chunks")
    assert event.metadata["versions"].value == 1
    assert [c["chunk_id"] for c in _chunks(stores, got.version_id)] == before
    assert stores.search.count() == len(before)


def test_an_empty_claim_ends_the_run_at_once(run_job: RunJob) -> None:
    result = run_job("ingest", scope="pending")
    assert result.success
    assert not result.asset_materializations_for_node("raw_files")


def _chunks(stores: Stores, version_id: str) -> Any:
    with transaction(stores.engine) as connection:
        return chunks_of(connection, version_id)


def test_the_checks_of_a_day_pass_and_name_what_failed(stores: Stores, land: Land, run_job: RunJob) -> None:
    land("good.txt", b"Metformin treats type 2 diabetes.")
    land("beds.csv", b"ward,beds\nA,10\n")
    land("bad.pdf", b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog")
    result = run_job("ingest", scope="pending")
    assert result.success
    checks = {check.check_name: check for check in result.get_asset_check_evaluations()}
    assert {name for name, check in checks.items() if not check.passed} == {"no_version_failed"}
    assert "bad.pdf" in checks["no_version_failed"].metadata["failures"].value
    assert checks["every_version_ended"].metadata["indexed"].value == 2
    assert checks["rows_equal"].metadata["tables"].value == 1


def test_what_reads_files_looks_at_what_its_run_worked_on(stores: Stores, land: Land, run_job: RunJob) -> None:
    def vectors_of(result: Any) -> Any:
        return next(c for c in result.get_asset_check_evaluations() if c.check_name == "vectors_sound")

    first = land("first.txt", b"Metformin treats type 2 diabetes.")
    land("second.txt", b"Insulin treats type 1 diabetes.")
    assert vectors_of(run_job("ingest", scope="pending")).metadata["vectors"].value == 2
    land("third.txt", b"Aspirin thins the blood.")
    assert vectors_of(run_job("ingest", scope="pending")).metadata["vectors"].value == 1
    stores.artefacts.purge_embeddings(first.version_id, embedding_name(stores.embedder))
    check = vectors_of(run_job("ingest", scope="day"))  # nothing is stale, and all of it is looked at
    assert not check.passed
    assert check.metadata["vectors"].value == 2
    assert check.metadata["unsound"].value == [first.document_id]


def test_bytes_that_came_back_are_erased_with_the_document(stores: Stores, land: Land, run_job: RunJob) -> None:
    for data in (b"first words", b"second words", b"first words"):
        got = land("a.txt", data)
        run_job("ingest", scope="pending")
    assert record(stores, got.document_id)["active_version"] == got.version_id
    assert not differs(stores)
    with transaction(stores.engine) as connection:
        erasures.request_erasure(connection, LOCAL, got.document_id)
    assert run_job("erase_job").success
    time.sleep(1.1)
    run_job("reconcile_job")
    assert list(stores.landing.current()) == []
    with transaction(stores.engine) as connection:
        assert documents.list_documents(connection, LOCAL) == []


def test_an_erasure_waits_for_a_stage_that_is_writing_and_the_stage_stops(
    stores: Stores, land: Land, run_job: RunJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    got = land("a.txt", b"Insulin lowers blood sugar.")
    outcomes: list[Any] = []
    whole = chunks_module.chunk_document

    def deleted_meanwhile(*args: Any, **more: Any) -> Any:
        with transaction(stores.engine) as connection:
            erasures.request_erasure(connection, LOCAL, got.document_id)
        with transaction(stores.engine) as connection:
            (waiting,) = erasures.open_erasures(connection, 3)
        with dg.DagsterInstance.ephemeral() as instance:
            outcomes.append(erase(stores, waiting, "run", instance))
        return whole(*args, **more)

    monkeypatch.setattr(chunks_module, "chunk_document", deleted_meanwhile)
    assert run_job("ingest", scope="pending").success
    assert outcomes == [None]
    assert run_job("erase_job").success
    assert list(stores.derived.current()) == []
    assert stores.search.count() == 0
    assert record(stores, got.document_id)["status"] == "deleted"
