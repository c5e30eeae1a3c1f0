"""The life of a document over real stores: it is whole or it says why not, and what is deleted is gone."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from by_http import FERRY, FERRY_LATER, WHEN, put, shown
from fastapi.testclient import TestClient
from sqlalchemy import Connection, text

from foundation.access import local_principal
from foundation.registry import claims
from foundation.registry.database import transaction
from foundation.registry.intake import Received
from foundation.stores import Stores
from foundation.types import ParsedDocument, SearchFilter
from pipelines import activation

Land = Callable[..., Received]
RunJob = Callable[..., Any]
LOCAL = local_principal("local")

chunks_module = import_module("pipelines.assets.chunks")  # the package names the assets so
graph_module = import_module("pipelines.assets.graph")
index_module = import_module("pipelines.assets.search_index")
parsed_module = import_module("pipelines.assets.parsed_text")


def ask(client: TestClient, question: str) -> dict[str, Any]:
    answer: dict[str, Any] = client.post("/ask", json={"question": question}).json()
    return answer


def delete(client: TestClient, document_id: str) -> str:
    response = client.delete(f"/documents/{document_id}")
    assert response.status_code == 202, response.text
    erasure_id: str = response.json()["erasure_id"]
    return erasure_id


def nothing_left(stores: Stores) -> None:
    assert stores.search.count() == 0
    assert list(stores.derived.current()) == []
    assert list(stores.landing.current()) == []
    with transaction(stores.engine) as connection:
        for name in ("chunks", "datasets", "nodes", "edges", "mentions", "document_versions", "stages"):
            assert connection.execute(text(f"select count(*) from askline.{name}")).scalar_one() == 0, name


def test_uploaded_and_deleted_three_times_only_the_living_id_is_cited(client: TestClient, run_job: RunJob) -> None:
    dead = set()
    for erased_before_the_next in (True, False, True):
        item = put(client, "ferry.txt", FERRY)
        run_job("ingest", scope="pending")
        assert {c["document_id"] for c in ask(client, WHEN)["citations"]} == {item["document_id"]}
        delete(client, item["document_id"])
        assert ask(client, WHEN)["citations"] == []
        dead.add(item["document_id"])
        if erased_before_the_next:
            run_job("erase_job")
    living = put(client, "ferry.txt", FERRY)
    run_job("ingest", scope="pending")
    run_job("erase_job")
    assert living["document_id"] not in dead
    assert {c["document_id"] for c in ask(client, WHEN)["citations"]} == {living["document_id"]}
    found = client.post("/search", json={"query": WHEN}).json()["items"]
    assert {hit["document_id"] for hit in found} == {living["document_id"]}


def test_an_object_that_is_removed_from_the_bucket_is_not_retrievable(
    client: TestClient, stores: Stores, run_job: RunJob
) -> None:
    item = put(client, "ferry.txt", FERRY)
    run_job("ingest", scope="pending")
    (stores.settings.landing_folder / item["landing_key"]).unlink()
    run_job("reconcile_job")
    assert ask(client, WHEN)["citations"] == []
    assert client.post("/search", json={"query": WHEN}).json()["items"] == []
    run_job("erase_job")
    nothing_left(stores)


def test_an_update_whose_embedding_fails_leaves_the_old_version_answering_and_says_so(
    client: TestClient, stores: Stores, run_job: RunJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = put(client, "ferry.txt", FERRY)
    run_job("ingest", scope="pending")
    second = put(client, "ferry.txt", FERRY_LATER)
    assert second["document_id"] == first["document_id"]
    with monkeypatch.context() as broken:
        broken.setattr(stores.embedder, "embed_passages", _no_vectors)
        assert run_job("ingest", scope="pending").success
    record = shown(client, first["document_id"])
    assert (record["status"], record["stage"], record["error"]["code"]) == ("failed", "embeddings", "stage_failed")
    assert "ferry.txt" in record["error"]["message"]
    assert (record["active_version"], record["version_id"]) == (first["version_id"], second["version_id"])
    assert "06:40" in ask(client, WHEN)["text"]
    assert client.post(f"/documents/{first['document_id']}/retry").status_code == 202
    run_job("ingest", scope="pending")
    answer = ask(client, WHEN)
    assert "07:15" in answer["text"] and "06:40" not in answer["text"]


def test_a_file_that_cannot_be_embedded_does_not_fail_those_beside_it(
    client: TestClient, stores: Stores, run_job: RunJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = stores.embedder.embed_passages

    def all_but_one(texts: list[str]) -> Any:
        if any("Skarholm" in passage for passage in texts):
            raise RuntimeError("no vector")
        return whole(texts)

    good, bad = put(client, "tea.txt", b"Tea is served at four."), put(client, "ferry.txt", FERRY)
    with monkeypatch.context() as broken:
        broken.setattr(stores.embedder, "embed_passages", all_but_one)
        assert run_job("ingest", scope="pending").success
    assert shown(client, good["document_id"])["status"] == "indexed"
    record = shown(client, bad["document_id"])
    assert (record["status"], record["active_version"]) == ("failed", None)
    assert ask(client, WHEN)["citations"] == []


def _no_vectors(texts: list[str]) -> Any:
    raise RuntimeError("the model is gone")


def test_only_the_new_version_answers_and_the_old_text_is_gone(
    client: TestClient, stores: Stores, run_job: RunJob
) -> None:
    first = put(client, "ferry.txt", FERRY)
    run_job("ingest", scope="pending")
    second = put(client, "ferry.txt", FERRY_LATER)
    run_job("ingest", scope="pending")
    answer = ask(client, WHEN)
    assert "07:15" in answer["text"] and "06:40" not in answer["text"]
    assert {c["version_id"] for c in answer["citations"]} == {second["version_id"]}
    assert stores.search.count(first["version_id"]) == 0
    assert "06:40" not in client.post("/search", json={"query": "ferry 06:40 north pier"}).text
    versions = client.get(f"/documents/{first['document_id']}/versions").json()["items"]
    assert [(v["number"], v["active"]) for v in versions] == [(2, True), (1, False)]


def test_what_a_killed_run_left_of_replaced_versions_goes_with_the_next_version(
    client: TestClient, stores: Stores, run_job: RunJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    versions = []
    for number in range(3):
        versions.append(put(client, "ferry.txt", FERRY + b" Ticket %d." % number)["version_id"])
        with monkeypatch.context() as killed:
            if number == 1:
                killed.setattr(activation, "_retire", lambda stores, version_id: None)
            run_job("ingest", scope="pending")
    assert [stores.search.count(version) for version in versions] == [0, 0, 1]


def test_a_version_that_was_overtaken_is_not_left_in_the_index(
    client: TestClient, stores: Stores, run_job: RunJob
) -> None:
    old, new = (put(client, "ferry.txt", data)["version_id"] for data in (FERRY, FERRY_LATER))
    run_job("ingest", scope="pending")
    assert (stores.search.count(old), stores.search.count(new)) == (0, 1)


def test_a_version_that_is_restored_while_it_is_retired_can_be_found(
    client: TestClient, stores: Stores, run_job: RunJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = put(client, "ferry.txt", FERRY)
    run_job("ingest", scope="pending")
    put(client, "ferry.txt", FERRY_LATER)
    hold_claims, restored = claims.hold_claims, []

    def slow(connection: Connection) -> None:
        if connection.execute(text("select count(*) from askline.active_intervals")).scalar_one() > 1 and not restored:
            restored.append(old["version_id"])
            path = f"/documents/{old['document_id']}/versions/{old['version_id']}/restore"
            assert client.post(path).status_code == 202
            run_job("ingest", scope="pending")
        hold_claims(connection)

    monkeypatch.setattr(claims, "hold_claims", slow)
    run_job("ingest", scope="pending")
    assert restored and stores.search.count(old["version_id"]) > 0
    assert "06:40" in ask(client, WHEN)["text"]


def test_a_file_that_opens_and_gives_no_chunk_is_a_failure_that_names_it(client: TestClient, run_job: RunJob) -> None:
    item = put(client, "blank.txt", b" \n\t \n" * 40)
    run_job("ingest", scope="pending")
    record = shown(client, item["document_id"])
    assert (record["status"], record["error"]["code"]) == ("failed", "no_content")
    assert "blank.txt" in record["error"]["message"]
    assert record["error"]["fix"]


def test_a_file_of_five_chunks_has_five(client: TestClient, stores: Stores, run_job: RunJob) -> None:
    paragraph = " ".join(f"Sentence number {n} of this long passage says something of its own." for n in range(36))
    item = put(client, "long.txt", "\n\n".join(f"Part {n}. {paragraph}" for n in range(5)).encode())
    run_job("ingest", scope="pending")
    chunks = client.get(f"/documents/{item['document_id']}/chunks").json()["items"]
    assert len(chunks) >= 5
    assert [chunk["ordinal"] for chunk in chunks] == list(range(len(chunks)))
    assert (
        stores.search.count(item["version_id"]) == len(chunks) == shown(client, item["document_id"])["counts"]["chunks"]
    )
    assert len(stores.search.vectors([chunk["chunk_id"] for chunk in chunks])) == len(chunks)


def test_of_two_documents_that_share_an_entity_one_keeps_its_facts_when_the_other_goes(
    client: TestClient, stores: Stores, run_job: RunJob
) -> None:
    gone = put(client, "a.txt", b"Metformin treats type 2 diabetes.")
    kept = put(client, "b.txt", b"Insulin treats type 2 diabetes.")
    run_job("ingest", scope="pending")
    before = stores.graph.counts(kept["version_id"])
    assert before["edges"] > 0
    delete(client, gone["document_id"])
    run_job("erase_job")
    assert stores.graph.counts(kept["version_id"]) == before
    assert stores.graph.counts(gone["version_id"])["mentions"] == 0
    names = {node.name.casefold() for node in stores.graph.search_nodes(LOCAL, None, None)}
    assert "insulin" in names and "metformin" not in names
    assert "nsulin" in ask(client, "Which drug treats type 2 diabetes?")["text"]


def test_four_files_within_five_seconds_are_four(client: TestClient, run_job: RunJob) -> None:
    items = [put(client, f"{n}.txt", f"File number {n} is about topic {n * 17}.".encode()) for n in range(4)]
    run_job("ingest", scope="pending")
    assert [shown(client, item["document_id"])["status"] for item in items] == ["indexed"] * 4


def test_what_a_store_lost_before_the_end_is_a_failure_and_a_retry_heals_it(
    client: TestClient, stores: Stores, run_job: RunJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    item = put(client, "ferry.txt", FERRY)
    whole = activation.not_read_back

    def loses_the_index(at: Stores, found: Any) -> Any:
        at.search.delete_versions([version.version_id for version in found])
        return whole(at, found)

    with monkeypatch.context() as broken:
        broken.setattr(activation, "not_read_back", loses_the_index)
        run_job("ingest", scope="pending")
    record = shown(client, item["document_id"])
    assert (record["status"], record["stage"]) == ("failed", "search_index")
    assert "0 of 1 chunks can be read back" in record["error"]["message"]
    client.post(f"/documents/{item['document_id']}/retry")
    run_job("ingest", scope="pending")
    assert shown(client, item["document_id"])["status"] == "indexed"
    assert stores.search.count(item["version_id"]) == 1


@pytest.mark.parametrize(
    ("module", "name"),
    [
        pytest.param(parsed_module, "_save", id="parsing", marks=pytest.mark.slow),
        pytest.param(chunks_module, "embed", id="embedding"),
        pytest.param(index_module, "write_versions", id="indexing", marks=pytest.mark.slow),
        pytest.param(graph_module, "_write", id="graph", marks=pytest.mark.slow),
    ],
)
def test_a_delete_in_the_middle_leaves_nothing(
    client: TestClient, stores: Stores, run_job: RunJob, monkeypatch: pytest.MonkeyPatch, module: Any, name: str
) -> None:
    item = put(client, "ferry.txt", b"Warfarin is contraindicated with aspirin. " + FERRY)
    whole, erasure = getattr(module, name), []

    def deleted_meanwhile(*args: Any, **more: Any) -> Any:
        if not erasure:
            erasure.append(delete(client, item["document_id"]))
        return whole(*args, **more)

    monkeypatch.setattr(module, name, deleted_meanwhile)
    assert run_job("ingest", scope="pending").success
    assert erasure
    assert run_job("erase_job").success
    assert client.get(f"/erasures/{erasure[0]}").json()["status"] == "verified"
    nothing_left(stores)


def test_a_stuck_file_can_be_deleted(client: TestClient, stores: Stores, run_job: RunJob) -> None:
    from datetime import timedelta

    item = put(client, "ferry.txt", FERRY)
    with transaction(stores.engine) as connection:
        day = connection.execute(text("select arrival_day from askline.document_versions")).scalar_one()
        claims.claim(connection, "dead", day, shard=claims.Shard(), limit=9, lease=timedelta(hours=9))
    assert shown(client, item["document_id"])["status"] == "processing"
    erasure_id = delete(client, item["document_id"])
    assert run_job("erase_job").success
    assert client.get(f"/erasures/{erasure_id}").json()["status"] == "verified"
    nothing_left(stores)


def _killed_once(path: Path, *more: Any) -> ParsedDocument:
    mark = Path(os.environ["KILLED_ONCE"])
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    parsed: ParsedDocument = parsed_module.parse_document(path, *more)
    return parsed


@pytest.mark.slow
@pytest.mark.parametrize("then", ["retry", "delete"])
def test_after_a_parser_was_killed_in_mid_file_retry_and_delete_both_work(
    client: TestClient, stores: Stores, run_job: RunJob, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, then: str
) -> None:
    monkeypatch.setenv("KILLED_ONCE", str(tmp_path / "killed"))
    item = put(client, "ferry.txt", FERRY)
    with monkeypatch.context() as broken:
        broken.setattr(parsed_module, "parse_document", _killed_once)
        run_job("ingest", scope="pending")
    record = shown(client, item["document_id"])
    assert record["status"] == "failed"
    assert "ferry.txt" in record["error"]["message"]
    if then == "retry":
        client.post(f"/documents/{item['document_id']}/retry")
        run_job("ingest", scope="pending")
        assert "06:40" in ask(client, WHEN)["text"]
    else:
        delete(client, item["document_id"])
        run_job("erase_job")
        nothing_left(stores)


@pytest.mark.slow
def test_when_half_the_corpus_goes_the_rest_finds_itself_as_before(
    client: TestClient, stores: Stores, run_job: RunJob
) -> None:
    subjects = ("ferry", "clinic", "orchard", "library", "bakery", "harbour", "museum", "stadium")
    places = ("Skarholm", "Zentara", "Quellmar")
    bodies = {
        f"{subject}_{place}.txt": f"The {subject} of {place} opens at {6 + n}:{10 + m}; it is number {n * 7 + m}."
        for n, subject in enumerate(subjects)
        for m, place in enumerate(places)
    }
    ids = {name: put(client, name, body.encode())["document_id"] for name, body in bodies.items()}
    run_job("ingest", scope="pending")
    kept = sorted(bodies)[::2]
    before = {name: _best(stores, bodies[name]) for name in kept}
    for name in sorted(set(bodies) - set(kept)):
        delete(client, ids[name])
    assert {name: _best(stores, bodies[name]) for name in kept} == before
    assert run_job("erase_job").success
    after = {name: _best(stores, bodies[name]) for name in kept}
    assert after == before
    versions = {name: shown(client, ids[name])["version_id"] for name in kept}
    assert after == versions
    assert stores.search.count() == len(kept)


def _best(stores: Stores, query: str) -> str:
    hits = stores.search.search(query, stores.embedder.embed_query(query), SearchFilter(LOCAL.grants))
    return hits[0].version_id
