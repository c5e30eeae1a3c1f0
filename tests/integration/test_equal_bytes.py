"""Two owners who upload the same bytes under different names: what is derived is shared, the names are not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from by_http import SAMPLES, put
from fastapi.testclient import TestClient

from foundation.stores import Stores

BEDS = b"ward,beds\nAlder,10\nBirch,12\nCedar,7\n"
ALICE = ("aardvark_secret.csv", "aardvark_brochure.pdf")
BOB = ("bumblebee_ledger.csv", "bumblebee_leaflet.pdf")
QUESTIONS = (
    "How many beds are there in total?",
    "Which ward has the most beds?",
    "How many beds does the ward Birch have?",
    "What is a kidney stone?",
    "Summarize the brochure.",
    "What kind of document is the brochure?",
)

RunJob = Callable[..., Any]
KeyOf = Callable[..., dict[str, str]]


@pytest.fixture
def both(client: TestClient, run_job: RunJob, key_of: KeyOf) -> Iterator[tuple[dict[str, str], dict[str, str]]]:
    """The headers of Alice, who came first, and of Bob; the files of both are indexed."""
    alice, bob = key_of("alice"), key_of("bob")
    pdf = min(SAMPLES.glob("*.pdf"), key=lambda path: path.stat().st_size).read_bytes()
    for names, headers in ((ALICE, alice), (BOB, bob)):
        for name, data in zip(names, (BEDS, pdf), strict=True):
            put(client, name, data, headers)
    assert run_job("ingest", scope="pending").success
    assert run_job("ingest", scope="pending").success
    yield alice, bob


def everything(client: TestClient, headers: dict[str, str]) -> str:
    """All that the API answers to this principal over documents, tables, search, questions, SQL and lineage."""
    said: list[str] = []

    def get(path: str, **params: Any) -> Any:
        response = client.get(path, headers=headers, params=params)
        assert response.status_code == 200, (path, response.text)
        said.append(response.text)
        return response.json()

    def post(path: str, body: dict[str, Any]) -> Any:
        response = client.post(path, headers=headers, json=body)
        assert response.status_code == 200, (path, response.text)
        said.append(response.text)
        return response.json()

    for document in get("/documents")["items"]:
        assert document["status"] == "indexed", document["error"]
        address = f"/documents/{document['document_id']}"
        for part in ("", "/versions", "/text", "/answers"):
            get(address + part)
        get(f"/lineage{address}")
    for table in get("/tables")["items"]:
        get(f"/tables/{table['name']}")
        get(f"/lineage/tables/{table['name']}")
        for engine in ("postgres", "warehouse"):
            post("/sql", {"statement": f'select * from "{table["name"]}"', "engine": engine})
    for hit in post("/search", {"query": "beds in a ward"})["items"]:
        get(f"/lineage/chunks/{hit['chunk_id']}")
    for question in QUESTIONS:
        get(f"/lineage/answers/{post('/ask', {'question': question})['answer_id']}")
    for entity in get("/graph/entities", limit=20)["items"]:
        get(f"/graph/entities/{entity['node_id']}")
    return "\n".join(said).casefold()


def test_neither_sees_the_names_of_the_other(client: TestClient, both: tuple[dict[str, str], dict[str, str]]) -> None:
    for headers, own, other in zip(both, ("aardvark", "bumblebee"), ("bumblebee", "aardvark"), strict=True):
        said = everything(client, headers)
        assert own in said
        assert other not in said


@pytest.mark.slow
def test_each_asks_by_the_name_of_their_own_file_and_a_deletion_leaves_the_other(
    client: TestClient, run_job: RunJob, stores: Stores, both: tuple[dict[str, str], dict[str, str]]
) -> None:
    alice, bob = both
    vectors = stores.search.count()
    for headers, name in ((alice, "aardvark_secret"), (bob, "bumblebee_ledger")):
        (table,) = client.get("/tables", headers=headers).json()["items"]
        assert (table["name"], table["rows"]) == (name, 3)
    mine = client.get("/documents", headers=alice).json()["items"]
    for document in mine:
        assert client.delete(f"/documents/{document['document_id']}", headers=alice).status_code in (200, 202)
    assert client.get("/tables", headers=alice).json()["items"] == []
    assert run_job("erase_job").success
    total = {"statement": "select sum(beds) from bumblebee_ledger"}
    assert client.post("/sql", json=total, headers=bob).json()["rows"] == [[29]]
    assert client.post("/sql", json={**total, "engine": "warehouse"}, headers=bob).json()["rows"] == [[29]]
    assert stores.search.count() == vectors
    assert "aardvark" not in everything(client, bob)


def test_equal_names_of_two_owners_tell_nothing_until_both_may_be_seen(
    client: TestClient, run_job: RunJob, key_of: KeyOf
) -> None:
    alice, bob = key_of("alice"), key_of("bob")
    ids = {}
    for headers, data in ((alice, b"ward,beds\nA,1\n"), (bob, b"ward,beds\nB,2\n")):
        item = put(client, "beds.csv", data, headers)
        ids[headers["Authorization"]] = item["document_id"]
    assert run_job("ingest", scope="pending").success

    def tables(headers: dict[str, str]) -> dict[str, Any]:
        names = [t["name"] for t in client.get("/tables", headers=headers).json()["items"]]
        statement = "select beds from {}"
        return {
            name: client.post("/sql", json={"statement": statement.format(name)}, headers=headers).json()["rows"]
            for name in names
        }

    assert tables(alice) == {"beds": [[1]]}
    assert tables(bob) == {"beds": [[2]]}
    shared = client.patch(
        f"/documents/{ids[alice['Authorization']]}", json={"acl": ["user:alice", "user:bob"]}, headers=alice
    )
    assert shared.status_code == 200, shared.text
    assert tables(bob) == {"beds": [[2]], "beds_2": [[1]]}
    assert tables(alice) == {"beds": [[1]]}


def test_one_owner_has_a_table_by_each_name_and_a_question_by_either(client: TestClient, run_job: RunJob) -> None:
    for name in ("winter.csv", "summer.csv"):
        put(client, name, BEDS)
    assert run_job("ingest", scope="pending").success
    assert run_job("ingest", scope="pending").success
    assert {t["name"] for t in client.get("/tables").json()["items"]} == {"winter", "summer"}
    both = client.post("/sql", json={"statement": "select count(*) from winter join summer using (ward)"}).json()
    assert both["rows"] == [[3]]
    answer = client.post("/ask", json={"question": "How many beds are there in total in summer?"}).json()
    assert [table for entry in answer["sql"] for table in entry["tables"]] == ["summer"], answer["text"]


def test_warnings_name_the_readers_own_file(client: TestClient, run_job: RunJob, key_of: KeyOf) -> None:
    data = "größe;wert\nä;1\nö;2\n".encode("cp1252")
    alice, bob = key_of("alice"), key_of("bob")
    for headers, name in ((alice, "aardvark.csv"), (bob, "bumblebee.csv")):
        put(client, name, data, headers)
    assert run_job("ingest", scope="pending").success
    assert run_job("ingest", scope="pending").success
    for headers, name in ((alice, "aardvark.csv"), (bob, "bumblebee.csv")):
        (item,) = client.get("/documents", headers=headers).json()["items"]
        assert [w["code"] for w in item["warnings"]] == ["encoding_guessed"]
        assert item["warnings"][0]["message"].startswith(name)
