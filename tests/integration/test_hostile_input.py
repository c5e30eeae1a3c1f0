"""Whatever comes in, an answer of the API's own form goes out: never a 500, errors always as problems."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from by_http import put, shown
from fastapi.testclient import TestClient
from hostile_values import Call, calls

from foundation.settings import Settings
from foundation.stores import Stores
from query_service.app import create_app

RunJob = Callable[..., Any]


@pytest.fixture
def tough_client(settings: Settings, stores: Stores) -> Iterator[TestClient]:
    app = create_app(settings, stores)
    with TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False) as made:
        yield made


def _send(client: TestClient, call: Call) -> Any:
    headers = {name.encode(): value.encode("latin-1") for name, value in call.headers.items()}
    return client.request(call.method, call.url, content=call.body, headers=headers)


def _fault(call: Call, response: Any) -> str | None:
    if response.status_code < 400:
        return None
    kind = response.headers.get("content-type", "")
    if response.status_code == 500:
        return f"{call.what}: 500"
    if kind != "application/problem+json":
        return f"{call.what}: {response.status_code} as {kind}: {response.text[:80]}"
    body = response.json()
    lacking = {"type", "title", "status", "code", "detail", "fix"} - body.keys()
    if lacking or body["status"] != response.status_code:
        return f"{call.what}: a problem without {lacking or 'its own status'}"
    if len(response.content) > 5_000:
        return f"{call.what}: a problem of {len(response.content)} bytes"
    return None


@pytest.mark.parametrize("every", [pytest.param(9, id="some"), pytest.param(1, id="all", marks=pytest.mark.slow)])
def test_every_operation_survives_hostile_values(tough_client: TestClient, run_job: RunJob, every: int) -> None:
    client = tough_client
    item = put(client, "notice.txt", b"Walk-in hours are from 8:00 to 11:30 on weekdays.")
    put(client, "beds.csv", b"ward,beds\nA,10\nB,12\n")
    run_job("ingest", scope="pending")
    document = shown(client, item["document_id"])
    assert document["status"] == "indexed"
    answer = client.post("/ask", json={"question": "When are the walk-in hours?"}).json()
    known = {
        "document_id": document["document_id"],
        "answer_id": answer["answer_id"],
        "session_id": answer["session_id"],
        "chunk_id": client.get(f"/documents/{document['document_id']}/chunks").json()["items"][0]["chunk_id"],
        "name": "beds",
        "number": "1",
        "question": "When are the walk-in hours?",
        "query": "walk-in hours",
        "statement": "select * from beds",
    }
    openapi = client.get("/openapi.json").json()
    made = [call for call in calls(openapi, known) if call.method != "DELETE" or "nosuch" in call.path]
    tried = made[::every]
    assert len(tried) > 3_000 / every
    assert {(c.method, c.what.partition(":")[0]) for c in made} == {(c.method, c.what.partition(":")[0]) for c in tried}
    assert [fault for call in tried if (fault := _fault(call, _send(client, call)))] == []
