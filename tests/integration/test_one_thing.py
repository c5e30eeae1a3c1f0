"""Which entities are one thing, from uploaded files to what the API and the answers show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from by_http import put, shown
from fastapi.testclient import TestClient

RunJob = Callable[..., Any]
Key = Callable[..., dict[str, str]]

FILES = {
    "admission.txt": "John Doe, born 1 May 1970, was admitted with asthma. John Doe has no allergies.",
    "letter.txt": "Patient: John T. Doe\nMRN: 4711\nDate of birth: 1970-05-01\n\nHe was seen for his asthma today.",
    "namesake.txt": "John Doe (born 2 January 1982) came for a flu shot.",
    "place.txt": "She lives in Charlotte. Metformin is used to treat type 2 diabetes.",
    "person.txt": "Dr. Charlotte Graves saw her. Ms. Charlotte North lives in Charlotte.",
}


@pytest.fixture
def uploaded(client: TestClient, run_job: RunJob) -> dict[str, str]:
    """Document ids by file name."""
    found = {}
    for name, text in FILES.items():
        found[name] = put(client, name, text.encode())["document_id"]
    run_job("ingest", scope="pending")
    return found


def people(client: TestClient, name: str = "Doe", **more: Any) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = client.get("/graph/entities", params={"q": name, "type": "person"}, **more).json()[
        "items"
    ]
    return items


def merges(client: TestClient, **parameters: Any) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = client.get("/graph/merges", params=parameters).json()["items"]
    return items


def files_of(client: TestClient, node_id: str) -> set[str]:
    evidence = client.get(f"/graph/entities/{node_id}").json()["evidence"]
    return {mention["version_id"] for mention in evidence}


def remove(client: TestClient, run_job: RunJob, document_id: str) -> None:
    assert client.delete(f"/documents/{document_id}").status_code == 202
    assert run_job("erase_job").success


def test_two_spellings_of_one_person_are_one_and_two_people_of_one_name_two(
    client: TestClient, uploaded: dict[str, str]
) -> None:
    found = people(client)
    assert sorted((p["external_id"].split(":")[1], len(p["same_as"])) for p in found) == [
        ("1970-05-01", 1),
        ("1982-01-02", 0),
    ]
    both = next(p for p in found if p["same_as"])
    assert {both["name"], *both["aliases"]} >= {"John Doe", "John T. Doe"}
    assert len(files_of(client, both["node_id"])) == 2
    decided = {(m["rule"], m["same"]): m["reason"] for m in merges(client, q="Doe")}
    assert "both born 1970-05-01" in decided["birth_date", True]
    assert "1982-01-02" in decided["birth_date", False]


def test_a_word_that_is_a_person_here_and_a_place_there_is_two(client: TestClient, uploaded: dict[str, str]) -> None:
    found = client.get("/graph/entities", params={"q": "Charlotte"}).json()["items"]
    assert {(e["type"], e["name"]) for e in found} == {
        ("place", "Charlotte"),
        ("person", "Charlotte Graves"),
        ("person", "Charlotte North"),
    }
    assert all(not entity["same_as"] for entity in found)


def test_a_merge_goes_with_a_document_and_what_the_other_says_stays(
    client: TestClient, run_job: RunJob, uploaded: dict[str, str]
) -> None:
    remove(client, run_job, uploaded["letter.txt"])
    found = people(client)
    assert [p["same_as"] for p in found] == [[], []]
    assert {p["name"] for p in found} == {"John Doe"}
    assert merges(client, q="T. Doe") == []
    item = put(client, "letter.txt", FILES["letter.txt"].encode())
    run_job("ingest", scope="pending")
    assert shown(client, item["document_id"])["status"] == "indexed"
    assert sorted(len(p["same_as"]) for p in people(client)) == [0, 1]


def test_an_undone_merge_stays_undone_when_the_document_comes_again(
    client: TestClient, run_job: RunJob, uploaded: dict[str, str]
) -> None:
    merged = next(m for m in merges(client, same=True, q="Doe"))
    ends = {"left_id": merged["left"]["node_id"], "right_id": merged["right"]["node_id"]}
    made = client.post("/graph/merges", json={**ends, "same": False, "reason": "Father and son."})
    assert made.status_code == 201
    assert [len(p["same_as"]) for p in people(client)] == [0, 0, 0]
    remove(client, run_job, uploaded["letter.txt"])
    put(client, "letter.txt", FILES["letter.txt"].encode())
    run_job("ingest", scope="pending")
    assert [len(p["same_as"]) for p in people(client)] == [0, 0, 0]
    pinned = next(m for m in merges(client, q="T. Doe") if m["rule"] == "pinned")
    assert (pinned["reason"], pinned["same"]) == ("Father and son.", False)
    assert client.delete(f"/graph/merges/{ends['left_id']}/{ends['right_id']}").status_code == 204
    assert sorted(len(p["same_as"]) for p in people(client)) == [0, 1]
    assert client.delete(f"/graph/merges/{ends['left_id']}/{ends['right_id']}").status_code == 404


def test_people_are_seen_by_who_may_see_their_documents(client: TestClient, run_job: RunJob, key_of: Key) -> None:
    for name, acl in (("admission.txt", "public"), ("letter.txt", "user:ann")):
        put(client, name, FILES[name].encode(), acl=acl)
    run_job("ingest", scope="pending")
    ann, bob = key_of("ann"), key_of("bob")
    assert [len(p["same_as"]) for p in people(client, headers=ann)] == [1]
    seen = people(client, headers=bob)
    assert [(p["name"], p["same_as"]) for p in seen] == [("John Doe", [])]
    assert client.get("/graph/merges", headers=bob).json()["items"] == []
    denied = client.post(
        "/graph/merges",
        json={"left_id": seen[0]["node_id"], "right_id": "nod_1", "same": True, "reason": "x"},
        headers=bob,
    )
    assert denied.status_code == 403


def test_two_documents_share_an_entity_and_one_is_deleted(client: TestClient, run_job: RunJob) -> None:
    texts = {"one.txt": "Metformin is used to treat type 2 diabetes.", "two.txt": "Smoking causes type 2 diabetes."}
    made = {name: put(client, name, text.encode())["document_id"] for name, text in texts.items()}
    run_job("ingest", scope="pending")
    node = client.get("/graph/entities", params={"q": "type 2 diabetes"}).json()["items"][0]
    assert len(client.get(f"/graph/entities/{node['node_id']}").json()["edges"]) >= 2
    remove(client, run_job, made["two.txt"])
    left = client.get(f"/graph/entities/{node['node_id']}").json()
    assert [edge["type"] for edge in left["edges"]] == ["treats"]
    assert "Metformin" in client.post("/ask", json={"question": "Which drug treats type 2 diabetes?"}).json()["text"]
