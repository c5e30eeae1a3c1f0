"""The card of a document goes with the version that answers, into the citation; older versions come back whole."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from by_http import FERRY, FERRY_LATER, WHEN, put, put_all, shown
from fastapi.testclient import TestClient

from foundation.access import local_principal
from foundation.registry.cards import related_versions
from foundation.registry.database import transaction
from foundation.stores import Stores
from foundation.types import SearchFilter
from pipelines.reconcile import differs

RunJob = Callable[..., Any]
LOCAL = local_principal("local")


def cited(client: TestClient, question: str = WHEN) -> dict[str, Any]:
    answer = client.post("/ask", json={"question": question}).json()
    assert answer["citations"], answer["text"]
    citation: dict[str, Any] = answer["citations"][0]
    return citation


def sidecar(**fields: Any) -> bytes:
    return json.dumps(fields).encode()


def of_type(stores: Stores, document_type: str) -> int:
    return len(stores.search.search("ferry", None, SearchFilter(LOCAL.grants, None, document_type)))


def test_a_card_comes_from_form_sidecar_and_front_matter_and_travels_to_the_citation(
    client: TestClient, run_job: RunJob
) -> None:
    text = b"---\nlicense: from the file\nauthority: Harbour office\neffective_date: 2025-05-01\n---\n\n" + FERRY
    beside = sidecar(licence="from the sidecar", source_url="https://example.org/f", supersedes=["old.txt"])
    (item,) = put_all(client, ("ferry.md", text), ("ferry.md.meta.json", beside), source_url="https://example.org/form")
    said = {
        "source_url": "https://example.org/form",
        "licence": "from the sidecar",
        "authority": "Harbour office",
        "effective_date": "2025-05-01",
        "supersedes": ["old.txt"],
    }
    assert {name: item[name] for name in said} == said
    run_job("ingest", scope="pending")
    citation = cited(client)
    assert {name: citation[name] for name in said} == said
    assert [d["file_name"] for d in client.get("/documents").json()["items"]] == ["ferry.md"]


def test_a_field_that_cannot_be_taken_is_refused_by_name_and_leaves_nothing(client: TestClient, stores: Stores) -> None:
    for form, name in (({"licence": "x" * 999}, "licence"), ({"effective_date": "soon"}, "effective_date")):
        response = client.post("/upload", files={"files": ("a.txt", b"text")}, data=form)
        assert (response.status_code, response.json()["code"]) == (422, "card_refused")
        assert name in response.json()["detail"]
    broken = [("files", ("a.txt", b"text")), ("files", ("a.txt.meta.json", b"{"))]
    response = client.post("/upload", files=broken)
    assert (response.status_code, response.json()["code"]) == (422, "card_refused")
    alone = client.post("/upload", files={"files": ("b.txt.meta.json", b"{}")})
    assert alone.status_code == 422 and "b.txt" in alone.json()["detail"]
    assert client.get("/documents").json()["items"] == []
    assert list(stores.landing.current()) == []


def test_a_sidecar_that_comes_later_describes_the_file_that_is_there(
    client: TestClient, stores: Stores, run_job: RunJob
) -> None:
    item = put(client, "ferry.txt", FERRY)
    run_job("ingest", scope="pending")
    told = put(client, "ferry.txt.meta.json", sidecar(licence="CC0", document_type="timetable"))
    assert told["document_id"] == item["document_id"]
    assert (told["licence"], told["status"]) == ("CC0", "indexed")
    assert cited(client)["licence"] == "CC0"
    assert of_type(stores, "timetable") == 1


@pytest.mark.slow
def test_in_the_landing_folder_a_sidecar_is_no_document_and_its_change_is_noticed(
    client: TestClient, stores: Stores, run_job: RunJob
) -> None:
    assert list(stores.landing.current()) == []
    folder = stores.settings.landing_folder / "inbound"
    folder.mkdir()
    (folder / "ferry.txt").write_bytes(FERRY)
    beside = folder / "ferry.txt.meta.json"
    beside.write_bytes(sidecar(licence="CC0", effective_date="someday"))
    time.sleep(1.1)
    assert differs(stores)
    run_job("reconcile_job")
    run_job("ingest", scope="pending")
    (record,) = client.get("/documents").json()["items"]
    assert (record["file_name"], record["licence"], record["status"]) == ("ferry.txt", "CC0", "indexed")
    assert [w["code"] for w in record["warnings"]] == ["card_ignored"]
    assert "effective_date" in record["warnings"][0]["message"]
    assert not differs(stores)
    beside.write_bytes(sidecar(licence="CC-BY", effective_date="2026-01-31"))
    time.sleep(1.1)
    assert differs(stores)
    run_job("reconcile_job")
    assert (cited(client)["licence"], cited(client)["effective_date"]) == ("CC-BY", "2026-01-31")
    assert shown(client, record["document_id"])["warnings"] == []
    assert not differs(stores)
    client.delete(f"/documents/{record['document_id']}")
    run_job("erase_job")
    assert list(stores.landing.current()) == []


@pytest.mark.slow
def test_a_new_versions_card_waits_for_it_and_what_belongs_to_a_version_goes_with_it(
    client: TestClient, stores: Stores, run_job: RunJob
) -> None:
    first = put(client, "ferry.txt", FERRY, licence="CC0", effective_date="2025-01-01", document_type="notice")
    run_job("ingest", scope="pending")
    put(client, "ferry.txt", FERRY_LATER, document_type="timetable")
    before = cited(client)
    assert (before["licence"], before["effective_date"], of_type(stores, "notice")) == ("CC0", "2025-01-01", 1)
    run_job("ingest", scope="pending")
    after = cited(client)
    assert "07:15" in after["quote"]
    assert (after["licence"], after["effective_date"]) == ("CC0", None)
    assert (of_type(stores, "notice"), of_type(stores, "timetable")) == (0, 1)
    assert shown(client, first["document_id"])["document_type"] == "timetable"


def test_the_same_bytes_with_another_type_change_the_index(client: TestClient, stores: Stores, run_job: RunJob) -> None:
    put(client, "ferry.txt", FERRY, document_type="notice")
    run_job("ingest", scope="pending")
    again = put(client, "ferry.txt", FERRY, document_type="timetable")
    assert again["status"] == "indexed"
    assert (of_type(stores, "notice"), of_type(stores, "timetable")) == (0, 1)


def test_a_change_of_the_card_is_cited_at_once_and_survives_an_update(
    client: TestClient, stores: Stores, run_job: RunJob
) -> None:
    item = put(client, "ferry.txt", FERRY, licence="CC0")
    run_job("ingest", scope="pending")
    url = f"/documents/{item['document_id']}"
    changes = {"document_type": "timetable", "authority": "Harbour office", "licence": None, "amends": ["old.txt"]}
    changed = client.patch(url, json=changes).json()
    assert (changed["document_type"], changed["licence"], changed["amends"]) == ("timetable", None, ["old.txt"])
    assert of_type(stores, "timetable") == 1
    assert (cited(client)["authority"], cited(client)["amends"]) == ("Harbour office", ["old.txt"])
    refused = client.patch(url, json={"effective_date": "soon"})
    assert (refused.status_code, refused.json()["code"]) == (422, "card_refused")
    put(client, "ferry.txt", FERRY_LATER)
    run_job("ingest", scope="pending")
    assert (cited(client)["authority"], cited(client)["amends"]) == ("Harbour office", [])
    assert of_type(stores, "timetable") == 1


def test_supersedes_and_amends_are_relations_of_versions_that_answer(
    client: TestClient, stores: Stores, run_job: RunJob, key_of: Callable[..., dict[str, str]]
) -> None:
    old = put(client, "policy_2024.txt", b"Visits last 20 minutes.")
    new = put(client, "policy_2025.txt", b"Visits last 30 minutes.", supersedes="Policy_2024.txt")
    note = put(client, "note.txt", b"On Mondays they last 10.", amends=[new["document_id"], "gone.txt"])
    run_job("ingest", scope="pending")
    with transaction(stores.engine) as connection:
        found = [
            (r["kind"], r["document_id"], r["of_document"], r["of_version"])
            for r in related_versions(connection, LOCAL)
        ]
    assert found == [
        ("supersedes", new["document_id"], old["document_id"], old["version_id"]),
        ("amends", note["document_id"], new["document_id"], new["version_id"]),
    ]
    record = shown(client, new["document_id"])
    assert [(r["kind"], r["document_id"]) for r in record["relations"]] == [("supersedes", old["document_id"])]
    assert [(r["kind"], r["document_id"]) for r in record["replaced_by"]] == [("amends", note["document_id"])]
    targets = {r["target"]: r["document_id"] for r in shown(client, note["document_id"])["relations"]}
    assert targets == {new["document_id"]: new["document_id"], "gone.txt": None}
    bob = key_of("bob")
    assert client.patch(f"/documents/{new['document_id']}", json={"acl": ["user:local", "user:bob"]}).status_code == 200
    seen = client.get(f"/documents/{new['document_id']}", headers=bob).json()
    assert (seen["replaced_by"], [r["document_id"] for r in seen["relations"]]) == ([], [None])
    client.delete(f"/documents/{old['document_id']}")
    assert shown(client, new["document_id"])["relations"][0]["document_id"] is None


def test_an_older_version_is_restored_whole_and_the_newer_answers_until_then(
    client: TestClient, stores: Stores, run_job: RunJob
) -> None:
    first = put(client, "ferry.txt", FERRY, effective_date="2025-01-01")
    run_job("ingest", scope="pending")
    second = put(client, "ferry.txt", FERRY_LATER, effective_date="2026-01-01")
    run_job("ingest", scope="pending")
    url = f"/documents/{first['document_id']}/versions"
    assert client.post(f"{url}/{second['version_id']}/restore").status_code == 409
    assert client.post(f"{url}/{'0' * 64}/restore").status_code == 404
    assert client.post(f"{url}/{first['version_id']}/restore").status_code == 202
    assert "07:15" in cited(client)["quote"]
    run_job("ingest", scope="pending")
    citation = cited(client)
    assert "06:40" in citation["quote"]
    assert (citation["version_id"], citation["effective_date"]) == (first["version_id"], "2025-01-01")
    assert stores.search.count(second["version_id"]) == 0
    history = client.get(url).json()["items"]
    assert [(v["version_id"], v["active"]) for v in history] == [
        (first["version_id"], True),
        (second["version_id"], False),
    ]
    assert [len(v["active_times"]) for v in history] == [2, 1]
    time.sleep(1.1)
    assert not differs(stores)  # the bucket's newest object is the restored one
    run_job("reconcile_job")
    assert shown(client, first["document_id"])["active_version"] == first["version_id"]
    key = stores.settings.landing_folder / first["landing_key"]
    assert key.read_bytes() == FERRY


@pytest.mark.slow
def test_tables_come_back_with_their_version(client: TestClient, run_job: RunJob) -> None:
    first = put(client, "beds.csv", b"ward,beds\nA,10\nB,12\n")
    run_job("ingest", scope="pending")
    put(client, "beds.csv", b"ward,beds\nA,1\n")
    run_job("ingest", scope="pending")
    total = {"statement": "select sum(beds) from beds", "engine": "postgres"}
    assert client.post("/sql", json=total).json()["rows"] == [[1]]
    client.post(f"/documents/{first['document_id']}/versions/{first['version_id']}/restore")
    run_job("ingest", scope="pending")
    assert client.post("/sql", json=total).json()["rows"] == [[22]]


@pytest.mark.slow
def test_after_a_failed_update_the_version_before_is_restored_over_it(
    client: TestClient, stores: Stores, run_job: RunJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = put(client, "ferry.txt", FERRY)
    run_job("ingest", scope="pending")
    second = put(client, "ferry.txt", FERRY_LATER)
    with monkeypatch.context() as broken:
        broken.setattr(stores.embedder, "embed_passages", lambda texts: 1 / 0)
        run_job("ingest", scope="pending")
    record = shown(client, first["document_id"])
    assert (record["status"], record["active_version"]) == ("failed", first["version_id"])
    refused = client.post(f"/documents/{first['document_id']}/versions/{second['version_id']}/restore")
    assert refused.status_code == 409
    client.post(f"/documents/{first['document_id']}/versions/{first['version_id']}/restore")
    run_job("ingest", scope="pending")
    record = shown(client, first["document_id"])
    assert (record["status"], record["active_version"]) == ("indexed", first["version_id"])


def test_whoever_may_only_see_a_document_may_not_restore(
    client: TestClient, run_job: RunJob, key_of: Callable[..., dict[str, str]]
) -> None:
    item = put(client, "ferry.txt", FERRY, acl=["public", "user:local"])
    run_job("ingest", scope="pending")
    url = f"/documents/{item['document_id']}/versions/{item['version_id']}/restore"
    assert client.post(url, headers=key_of("bob")).status_code == 403


@pytest.mark.slow
def test_ingesting_again_never_changes_who_may_see(client: TestClient, stores: Stores, run_job: RunJob) -> None:
    item = put(client, "ferry.txt", FERRY, acl=["user:local"])
    run_job("ingest", scope="pending")
    for data in (FERRY, FERRY_LATER):
        again = put(client, "ferry.txt", data, acl=["public"])
        run_job("ingest", scope="pending")
        assert again["acl"] == ["user:local"]
    (stores.settings.landing_folder / item["landing_key"]).write_bytes(b"The ferry does not leave any more.")
    time.sleep(1.1)
    run_job("reconcile_job")
    run_job("ingest", scope="pending")
    run_job("reindex")
    assert shown(client, item["document_id"])["acl"] == ["user:local"]
    assert stores.search.search("ferry", None, SearchFilter(("public",))) == []


@pytest.mark.slow
def test_an_answer_over_a_version_that_was_replaced_is_stale_until_it_comes_back(
    client: TestClient, run_job: RunJob
) -> None:
    first = put(client, "ferry.txt", FERRY)
    beds = put(client, "beds.csv", b"ward,beds\nA,10\nB,12\n")
    run_job("ingest", scope="pending")
    cited_answer = client.post("/ask", json={"question": WHEN}).json()
    counted = client.post("/ask", json={"question": "How many beds are there per ward?"}).json()
    assert counted["sql"], counted["text"]
    answers = (cited_answer, counted)
    assert [_stale(client, answer) for answer in answers] == [False, False]
    put(client, "ferry.txt", FERRY_LATER)
    put(client, "beds.csv", b"ward,beds\nA,1\n")
    assert [_stale(client, answer) for answer in answers] == [False, False]  # the old versions still answer
    run_job("ingest", scope="pending")
    assert [_stale(client, answer) for answer in answers] == [True, True]
    for item, answer in zip((first, beds), answers, strict=True):
        (used,) = client.get(f"/documents/{item['document_id']}/answers").json()["items"]
        assert (used["answer_id"], used["stale"]) == (answer["answer_id"], True)
    client.post(f"/documents/{first['document_id']}/versions/{first['version_id']}/restore")
    run_job("ingest", scope="pending")
    assert [_stale(client, answer) for answer in answers] == [False, True]
    client.delete(f"/documents/{first['document_id']}")  # not erased yet, and quoted no more
    messages = client.get(f"/sessions/{cited_answer['session_id']}/messages").text
    assert "06:40" not in messages
    assert "erased" in messages


def _stale(client: TestClient, answer: dict[str, Any]) -> bool:
    message = client.get(f"/sessions/{answer['session_id']}/messages").json()["items"][1]["answer"]
    nodes = client.get(f"/lineage/answers/{answer['answer_id']}").json()["nodes"]
    assert {c["stale"] for c in message["citations"]} <= {message["stale"]}
    assert nodes[0]["stale"] == message["stale"]
    stale: bool = message["stale"]
    return stale
