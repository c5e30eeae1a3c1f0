"""Rules that hold for every endpoint of a kind: keys that act once, spans, cursors, and what is told without a key."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from by_http import SAMPLES, problem, put
from fastapi.testclient import TestClient
from sqlalchemy import func, select

from foundation.registry.database import transaction
from foundation.registry.tables import answers
from foundation.settings import Settings
from foundation.stores import Stores
from query_service.app import create_app

RunJob = Callable[..., Any]
KeyOf = Callable[..., dict[str, str]]
QUESTION = {"question": "When are the walk-in hours on weekdays?"}
STREAM = {"Accept": "text/event-stream"}


@pytest.fixture
def notice(client: TestClient, run_job: RunJob) -> dict[str, Any]:
    text = b"Flu season notice\n\nWalk-in hours are from 8:00 to 11:30 on weekdays."
    item = put(client, "notice.txt", text)
    run_job("ingest", scope="pending")
    return item


def stream(client: TestClient, body: dict[str, Any], **headers: str) -> list[tuple[str, dict[str, Any]]]:
    with client.stream("POST", "/ask", json=body, headers=STREAM | headers) as response:
        assert response.headers["content-type"].startswith("text/event-stream"), response.read()
        lines = [line for line in response.iter_lines() if line]
    kinds = [line.removeprefix("event: ") for line in lines if line.startswith("event: ")]
    data = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
    assert [d["sequence"] for d in data] == list(range(1, len(data) + 1))
    return list(zip(kinds, data, strict=True))


def answer_count(stores: Stores) -> int:
    with transaction(stores.engine) as connection:
        return connection.execute(select(func.count()).select_from(answers)).scalar_one()


# Idempotency-Key


def test_a_stream_with_a_key_is_answered_once_and_repeated_as_a_stream_or_as_json(
    client: TestClient, stores: Stores, notice: dict[str, Any]
) -> None:
    key = {"Idempotency-Key": "one"}
    first = stream(client, QUESTION, **key)
    again = stream(client, QUESTION, **key)
    assert first[-1][0] == again[-1][0] == "done"
    assert "8:00" in first[-1][1]["answer"]["text"]
    assert again[-1][1]["answer"] == first[-1][1]["answer"]
    told = ("token", "citation")
    assert [d["text"] for k, d in again if k == "token"] == [d["text"] for k, d in first if k == "token"]
    assert [k for k, _ in again if k in told] == [k for k, _ in first if k in told]
    assert client.post("/ask", json=QUESTION, headers=key).json() == first[-1][1]["answer"]
    assert answer_count(stores) == 1
    other = client.post("/ask", json={"question": "What is this?"}, headers=STREAM | key)
    problem(other, 422, "idempotency_mismatch")
    assert answer_count(stores) == 1


def test_a_stream_repeats_what_was_asked_as_json(client: TestClient, stores: Stores, notice: dict[str, Any]) -> None:
    key = {"Idempotency-Key": "one"}
    answer = client.post("/ask", json=QUESTION, headers=key).json()
    assert stream(client, QUESTION, **key)[-1][1]["answer"]["answer_id"] == answer["answer_id"]
    assert answer_count(stores) == 1


def test_two_streams_at_once_under_one_key_are_one_answer(
    client: TestClient, stores: Stores, notice: dict[str, Any]
) -> None:
    seen: list[int] = []

    def ask() -> None:
        seen.append(client.post("/ask", json=QUESTION, headers=STREAM | {"Idempotency-Key": "k"}).status_code)

    threads = [threading.Thread(target=ask) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(seen) <= {200, 409}
    assert 200 in seen
    assert answer_count(stores) == 1


def test_a_failed_stream_frees_its_key(client: TestClient, notice: dict[str, Any]) -> None:
    app: Any = client.app
    whole, app.state.graph = app.state.graph, _Broken()
    kind, data = stream(client, QUESTION, **{"Idempotency-Key": "k"})[-1]
    assert (kind, data["code"]) == ("error", "internal")
    app.state.graph = whole
    assert stream(client, QUESTION, **{"Idempotency-Key": "k"})[-1][0] == "done"


class _Broken:
    async def astream(self, state: Any, **more: Any) -> Any:
        raise RuntimeError("broken")
        yield


def test_whatever_creates_something_takes_a_key(client: TestClient, notice: dict[str, Any]) -> None:
    key = {"Idempotency-Key": "s"}
    first = client.post("/sessions", json={"title": "a"}, headers=key)
    assert client.post("/sessions", json={"title": "a"}, headers=key).json() == first.json()
    problem(client.post("/sessions", json={"title": "b"}, headers=key), 422, "idempotency_mismatch")
    assert len(client.get("/sessions").json()["items"]) == 1

    answer_id = client.post("/ask", json=QUESTION).json()["answer_id"]
    said = {"answer_id": answer_id, "rating": "up"}
    ids = {client.post("/feedback", json=said, headers={"Idempotency-Key": "f"}).json()["feedback_id"] for _ in "ab"}
    assert len(ids) == 1

    made = client.post("/keys", json={"name": "carol"}, headers={"Idempotency-Key": "c"}).json()
    again = problem(client.post("/keys", json={"name": "carol"}, headers={"Idempotency-Key": "c"}), 409, "conflict")
    assert made["key_id"] in again["detail"]
    assert made["key"] not in json.dumps(again)
    assert len(client.get("/keys").json()["items"]) == 1


# Spans, cursors, numbers


REFUSED_SPANS: list[tuple[dict[str, int], str]] = [
    ({"start": 5, "end": 2}, "start"),
    ({"start": -1}, "start"),
    ({"end": -1}, "end"),
    ({"start": 0, "end": 10_000_000}, "end"),
    ({"start": 10_000_000}, "start"),
    ({"start": 10**30, "end": 10**31}, "start"),
]


def test_a_span_is_given_or_refused_by_field(client: TestClient, run_job: RunJob) -> None:
    data = (SAMPLES / "niddk_eating_diabetes_508.pdf").read_bytes()
    item = put(client, "eating.pdf", data)
    run_job("ingest", scope="pending")
    document = f"/documents/{item['document_id']}"
    for place in ("text", "pages/1"):
        for asked, field in REFUSED_SPANS:
            said = problem(client.get(f"{document}/{place}", params=asked), 422, "out_of_range")
            assert said["detail"].startswith(f"{field}: ")
    whole = client.get(f"{document}/text").json()
    length = whole["length"]
    assert whole["end"] == length == len(whole["text"])
    assert client.get(f"{document}/text", params={"start": length, "end": length}).json()["text"] == ""
    lit = client.get(f"{document}/pages/1", params={"start": 0, "end": 40})
    plain = client.get(f"{document}/pages/1")
    assert lit.status_code == plain.status_code == 200
    assert lit.content != plain.content
    for number in (0, -1, 999, 10**20):
        problem(client.get(f"{document}/pages/{number}"), 404, "not_found")


def test_numbers_and_cursors_out_of_bounds_are_refused_by_field(client: TestClient, notice: dict[str, Any]) -> None:
    for path in ("/documents", "/sessions", "/tables", "/graph/entities"):
        for limit in (0, -1, 501, 10**30, "x"):
            said = problem(client.get(path, params={"limit": limit}), 400, "invalid_input")
            assert said["fields"][0]["field"] == "limit"
    for path, more in (
        ("/documents", ("doc_", "doc_\u0661\u0662")),
        ("/sessions", ("doc_1",)),
        ("/tables", ("1", "a b")),
    ):
        for cursor in ("ses_1' or 1=1", "../x", "x" * 300, "", *more):
            said = problem(client.get(path, params={"cursor": cursor}), 400, "invalid_input")
            assert said["detail"].startswith("cursor: ")
    answer = client.post("/ask", json=QUESTION).json()
    for claim in (len(answer["claims"]), 2**31, 10**30):
        said = problem(
            client.post("/feedback", json={"answer_id": answer["answer_id"], "rating": "up", "claim": claim}),
            422, "out_of_range",
        )  # fmt: skip
        assert said["detail"].startswith("claim: ")
    for body in (b'{"question": "x?", "deadline_s": NaN}', b'{"question": "x?", "deadline_s": 0}'):
        problem(client.post("/ask", content=body, headers={"content-type": "application/json"}), 400, "invalid_input")
    for wait in ("nan", "-1", "601", "inf"):
        problem(
            client.post("/upload", params={"wait": wait}, files={"files": ("a.txt", b"text")}), 400, "invalid_input"
        )


# Health


@pytest.fixture
def guarded_client(settings: Settings, stores: Stores, key_of: KeyOf) -> Iterator[TestClient]:
    """A service that listens beyond loopback, and therefore answers to keys only."""
    key_of("somebody")
    service = settings.service.model_copy(update={"host": "0.0.0.0"})
    with TestClient(create_app(settings.model_copy(update={"service": service}), stores)) as made:
        yield made


def test_health_tells_those_without_a_key_no_paths_hosts_or_versions(
    guarded_client: TestClient, settings: Settings, key_of: KeyOf
) -> None:
    bare = guarded_client.get("/health")
    assert bare.status_code == 200
    parts = bare.json()["dependencies"]
    assert parts.keys() == {"registry", "search", "embeddings", "objects", "dagster"}
    assert all(part.keys() == {"status"} for part in parts.values()), parts
    assert bare.json()["profile"] is None
    assert str(settings.landing_folder) not in bare.text
    for path in ("/health/live", "/health/ready"):
        assert guarded_client.get(path).json() == {"status": "ok"}
    known = guarded_client.get("/health", headers=key_of("carol")).json()
    assert known["dependencies"]["objects"]["folder"] == str(settings.landing_folder)
    problem(guarded_client.get("/health", headers={"Authorization": "Bearer ak_wrong"}), 401, "unauthenticated")


def test_no_other_page_without_a_key_says_where_things_are(guarded_client: TestClient, settings: Settings) -> None:
    """Every operation that can be called without a key at all."""
    open_to_all = set()
    openapi = guarded_client.get("/openapi.json").json()
    for path, methods in openapi["paths"].items():
        for method in methods:
            response = guarded_client.request(method, path.replace("{", "").replace("}", ""))
            if response.status_code != 401:
                open_to_all.add(path)
            assert str(settings.folder) not in response.text
    assert open_to_all == {"/health", "/health/live", "/health/ready"}
