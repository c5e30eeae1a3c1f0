"""Archives and mails from the landing bucket to the answer: each file inside is a document that knows what holds it."""

from __future__ import annotations

import gzip
import io
import tarfile
import time
import zipfile
from collections.abc import Callable
from datetime import date
from email.message import EmailMessage
from typing import Any

import pytest
from by_http import FERRY, WHEN, put, record, shown
from fastapi.testclient import TestClient
from sqlalchemy import select

from foundation.access import local_principal
from foundation.errors import Unavailable
from foundation.registry import claims, documents, erasures
from foundation.registry.database import transaction
from foundation.registry.datasets import visible_tables
from foundation.registry.intake import Received
from foundation.registry.members import descendants, holders, visible_members
from foundation.registry.tables import documents as table
from foundation.registry.tables import nudges
from foundation.settings import ParsingSettings
from foundation.stores import Stores
from foundation.types import SearchFilter
from pipelines.next_run import ask_for_next_run

LOCAL = local_principal("local")
Land = Callable[..., Received]
RunJob = Callable[..., Any]

BEDS = b"ward,beds\nA,10\nB,12\nC,7\n"


def zipped(*files: tuple[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files:
            archive.writestr(name, data)
    return buffer.getvalue()


def tarred(*files: tuple[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, data in files:
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


def members(stores: Stores, document_id: str) -> dict[str, str]:
    """Place → document id."""
    with transaction(stores.engine) as connection:
        return {row["parent_path"]: row["document_id"] for row in visible_members(connection, LOCAL, document_id)}


def ingest(run_job: RunJob, times: int = 2) -> None:
    for _ in range(times):
        assert run_job("ingest", scope="pending").success


def test_each_member_of_an_archive_answers_and_knows_its_archive(stores: Stores, land: Land, run_job: RunJob) -> None:
    for name, data in (
        ("july.zip", zipped(("notes/ferry.txt", FERRY), ("beds.csv", BEDS))),
        ("july.tar.gz", tarred(("notes/ferry.txt", FERRY + b" Daily."), ("beds2.csv", BEDS + b"D,1\n"))),
    ):
        got = land(name, data, acl=("group:ward",))
        with transaction(stores.engine) as connection:
            connection.execute(table.update().values(acl=["user:local", "group:ward"], licence="CC0"))
        ingest(run_job)
        holder = record(stores, got.document_id)
        assert (holder["status"], holder["counts"]["members"]) == ("indexed", 2)
        inside = members(stores, got.document_id)
        assert set(inside) == {"notes/ferry.txt", "beds.csv" if name == "july.zip" else "beds2.csv"}
        for place, document_id in inside.items():
            row = record(stores, document_id)
            assert row["status"] == "indexed", (place, row["error_message"])
            assert (row["parent_id"], row["parent_path"]) == (got.document_id, place)
            assert (row["acl"], row["licence"], row["owner"]) == (["user:local", "group:ward"], "CC0", "local")
    hits = stores.search.search("when does the ferry leave", None, SearchFilter(LOCAL.grants))
    assert {hit.version_id for hit in hits} >= {record(stores, inside["notes/ferry.txt"])["latest_version"]}
    with transaction(stores.engine) as connection:
        assert {t.name: t.row_count for t in visible_tables(connection, LOCAL)} == {"beds": 3, "beds2": 4}


def test_an_attachment_is_a_document_and_the_mail_names_it(stores: Stores, land: Land, run_job: RunJob) -> None:
    inner = EmailMessage()
    inner["Subject"], inner["From"] = "Forwarded", "c@example.com"
    inner.set_content("The pharmacy closes at noon.")
    inner.add_attachment(FERRY, maintype="text", subtype="plain", filename="ferry.txt")
    mail = EmailMessage()
    mail["Subject"], mail["From"], mail["To"] = "Beds", "a@example.com", "b@example.com"
    mail.set_content("See the list.")
    mail.add_attachment(BEDS, maintype="text", subtype="csv", filename="../beds.csv")
    mail.add_attachment(inner)
    got = land("mail.eml", mail.as_bytes())
    ingest(run_job, 3)
    inside = members(stores, got.document_id)
    assert set(inside) == {"beds.csv", "Forwarded.eml"}
    assert record(stores, inside["beds.csv"])["status"] == "indexed"
    (ferry,) = members(stores, inside["Forwarded.eml"]).values()
    assert record(stores, ferry)["status"] == "indexed"
    with transaction(stores.engine) as connection:
        assert holders(connection, ferry) == [inside["Forwarded.eml"], got.document_id]
        assert len(descendants(connection, got.document_id)) == 3
    text = stores.artefacts.text(got.version_id, "eml/2")
    assert "Attachments: beds.csv (text/csv, 24 bytes); Forwarded.eml" in text


def test_the_run_that_finds_members_asks_for_the_next_one_and_no_other_run_does(
    stores: Stores, land: Land, run_job: RunJob
) -> None:
    def asked() -> list[date]:
        ask_for_next_run(stores)
        with transaction(stores.engine) as connection:
            return list(connection.execute(select(nudges.c.arrival_day)).scalars())

    asked()  # what other tests have left
    land("ferry.txt", FERRY)
    ingest(run_job, times=1)
    assert asked() == []
    archive = land("july.zip", zipped(("notes/ferry.txt", FERRY + b" Daily."), ("beds.csv", BEDS)))
    ingest(run_job, times=1)
    assert asked() == [archive.arrival_day]
    ingest(run_job, times=1)
    assert asked() == []


def test_an_archive_that_comes_again_updates_adds_and_deletes(stores: Stores, land: Land, run_job: RunJob) -> None:
    got = land("a.zip", zipped(("same.txt", FERRY), ("old.txt", b"Old words."), ("changed.txt", b"First words.")))
    ingest(run_job)
    before = members(stores, got.document_id)
    again = land("a.zip", zipped(("same.txt", FERRY), ("new.txt", b"New words."), ("changed.txt", b"Second words.")))
    assert again.document_id == got.document_id
    assert set(members(stores, got.document_id)) == {"same.txt", "old.txt", "changed.txt"}  # until it is whole
    ingest(run_job)
    after = members(stores, got.document_id)
    assert set(after) == {"same.txt", "new.txt", "changed.txt"}
    assert {place: after[place] for place in ("same.txt", "changed.txt")} == {
        place: before[place] for place in ("same.txt", "changed.txt")
    }
    assert record(stores, after["changed.txt"])["number"] == 2
    assert record(stores, after["same.txt"])["number"] == 1
    assert record(stores, before["old.txt"])["status"] == "deleted"
    land("a.zip", zipped(("same.txt", FERRY), ("old.txt", b"Old words."), ("changed.txt", b"First words.")))
    ingest(run_job)
    assert set(members(stores, got.document_id)) == {"same.txt", "old.txt", "changed.txt"}
    assert (
        record(stores, after["changed.txt"])["active_version"] == record(stores, after["changed.txt"])["latest_version"]
    )


def test_deleting_the_archive_deletes_what_was_in_it(stores: Stores, land: Land, run_job: RunJob) -> None:
    inner = zipped(("deep.txt", FERRY))
    got = land("a.zip", zipped(("inner.zip", inner), ("beds.csv", BEDS)))
    ingest(run_job, 3)
    with transaction(stores.engine) as connection:
        assert len(descendants(connection, got.document_id)) == 3
        requested = erasures.request_erasure(connection, LOCAL, got.document_id)
        assert len(requested.silenced) == 4
        assert descendants(connection, got.document_id) == []
    assert run_job("erase_job").success
    assert stores.search.count() == 0
    assert list(stores.derived.current()) == []
    assert list(stores.landing.current()) == []
    with transaction(stores.engine) as connection:
        kept = connection.execute(select(table.c.file_name, table.c.landing_key, table.c.parent_path)).all()
    assert "beds" not in str(kept)
    assert "deep" not in str(kept)


@pytest.mark.slow
def test_equal_archives_have_members_of_their_own(stores: Stores, land: Land, run_job: RunJob) -> None:
    data = zipped(("ferry.txt", FERRY))
    first, second = land("a.zip", data), land("b.zip", data)
    ingest(run_job, 4)
    one, other = members(stores, first.document_id), members(stores, second.document_id)
    assert one.keys() == other.keys() == {"ferry.txt"}
    assert one["ferry.txt"] != other["ferry.txt"]
    assert {record(stores, d)["status"] for d in (one["ferry.txt"], other["ferry.txt"])} == {"indexed"}


@pytest.mark.slow
def test_archives_are_unpacked_only_so_deep(stores: Stores, land: Land, run_job: RunJob) -> None:
    data = zipped(("x.txt", FERRY))
    for level in range(5):
        data = zipped((f"level{level}.zip", data))
    got = land("nest.zip", data)
    ingest(run_job, 5)
    with transaction(stores.engine) as connection:
        inside = [documents.get_document(connection, LOCAL, d) for d in descendants(connection, got.document_id)]
    deepest = inside[-1]
    assert len(inside) == stores.settings.parsing.unpack_depth == ParsingSettings().unpack_depth
    assert (deepest["status"], deepest["error_code"]) == ("failed", "resource_limit")
    assert "UNPACK_DEPTH" in deepest["error_fix"]
    assert {row["status"] for row in inside[:-1]} == {"indexed"}


def test_a_copied_archive_is_unpacked_and_its_members_are_no_files_of_the_folder(
    stores: Stores, run_job: RunJob
) -> None:
    path = stores.settings.landing_folder / "inbound" / "notes.txt.gz"
    path.parent.mkdir(parents=True)
    path.write_bytes(gzip.compress(FERRY))
    time.sleep(1.1)
    assert run_job("reconcile_job").success
    ingest(run_job)
    time.sleep(1.1)
    assert run_job("reconcile_job").success
    with transaction(stores.engine) as connection:
        rows = {row["file_name"]: row for row in documents.list_documents(connection, LOCAL)}
    assert set(rows) == {"notes.txt.gz", "notes.txt"}
    assert rows["notes.txt"]["parent_id"] == rows["notes.txt.gz"]["document_id"]
    assert rows["notes.txt"]["status"] == "indexed"
    path.unlink()
    run_job("reconcile_job")
    assert record(stores, rows["notes.txt"]["document_id"])["status"] == "deleted"


@pytest.mark.slow
def test_a_sidecar_inside_an_archive_is_the_card_of_its_neighbour(stores: Stores, land: Land, run_job: RunJob) -> None:
    got = land(
        "a.zip", zipped(("ferry.txt", FERRY), ("ferry.txt.meta.json", b'{"source_url": "https://ferry.example"}'))
    )
    ingest(run_job)
    inside = members(stores, got.document_id)
    assert set(inside) == {"ferry.txt"}
    assert record(stores, inside["ferry.txt"])["source_url"] == "https://ferry.example"


def test_the_api_shows_shares_and_deletes_an_archive_with_what_is_in_it(
    client: TestClient, run_job: RunJob, key_of: Callable[..., dict[str, str]]
) -> None:
    holder = put(client, "a.zip", zipped(("notes/ferry.txt", FERRY)))["document_id"]
    ingest(run_job)
    (member,) = shown(client, holder)["members"]
    assert (member["file_name"], member["path"]) == ("ferry.txt", "notes/ferry.txt")
    (listed,) = client.get("/documents", params={"parent": holder}).json()["items"]
    assert (listed["document_id"], listed["parent_id"]) == (member["document_id"], holder)
    question = {"question": WHEN}
    assert "06:40" in client.post("/ask", json=question).json()["text"]
    nurse = key_of("nurse", ("ward",))
    assert client.get(f"/documents/{member['document_id']}", headers=nurse).status_code == 404
    client.patch(f"/documents/{holder}", json={"acl": ["user:local", "group:ward"]})
    shared = client.get(f"/documents/{member['document_id']}", headers=nurse).json()
    assert set(shared["acl"]) == {"user:local", "group:ward"}
    assert "06:40" in client.post("/ask", json=question, headers=nurse).json()["text"]
    client.delete(f"/documents/{holder}")
    assert shown(client, member["document_id"])["status"] == "deleted"
    assert "06:40" not in client.post("/ask", json=question).json()["text"]


def test_a_run_that_dies_between_landing_and_registering_leaves_each_member_once(
    stores: Stores, land: Land, run_job: RunJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    got = land("a.zip", zipped(("ferry.txt", FERRY), ("more.txt", b"More words.")))
    with monkeypatch.context() as broken:
        broken.setattr("pipelines.activation.settle_members", dying)
        result = run_job("ingest", scope="pending")
    assert not result.success
    assert members(stores, got.document_id) == {}
    with transaction(stores.engine) as connection:
        claims.free_lost(connection, 3, run_id=result.run_id)
    ingest(run_job)
    inside = members(stores, got.document_id)
    assert set(inside) == {"ferry.txt", "more.txt"}
    assert {record(stores, document_id)["number"] for document_id in inside.values()} == {1}
    for key in (one.key for one in stores.landing.current("members/")):
        assert len(stores.landing.versions(key)) == 1


def test_members_of_a_holder_that_never_answered_are_swept(
    stores: Stores, land: Land, run_job: RunJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    got = land("a.zip", zipped(("ferry.txt", FERRY)))
    with monkeypatch.context() as broken:
        broken.setattr("pipelines.activation.settle_members", dying)
        result = run_job("ingest", scope="pending")
    with transaction(stores.engine) as connection:
        claims.free_lost(connection, 1, run_id=result.run_id)
    assert record(stores, got.document_id)["status"] == "failed"
    monkeypatch.setattr("pipelines.arrivals.UPLOAD_GRACE_S", 0)
    assert run_job("reconcile_job").success
    assert list(stores.landing.current("members/")) == []
    assert list(stores.landing.current("uploads/"))


def dying(*_: Any) -> None:
    raise Unavailable("The process was killed here.")
