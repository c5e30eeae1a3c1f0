"""The REST API over real stores: what it accepts, refuses, shows to whom, and says when something is wrong."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from by_http import problem, put, send
from fastapi.testclient import TestClient
from syrupy.assertion import SnapshotAssertion

from foundation.settings import Settings
from foundation.stores import Stores
from query_service.app import create_app

RunJob = Callable[..., Any]
KeyOf = Callable[..., dict[str, str]]

NOTICE = b"""Flu season notice

The influenza vaccine prevents influenza. Appointments last 15 minutes.

Walk-in hours are from 8:00 to 11:30 on weekdays."""


def test_openapi_is_what_the_snapshot_says(snapshot: SnapshotAssertion) -> None:
    app = create_app(Settings())
    assert json.dumps(app.openapi(), indent=1, sort_keys=True) == snapshot


def test_a_question_is_answered_with_a_verbatim_citation_and_lineage_to_the_bytes(
    client: TestClient, run_job: RunJob
) -> None:
    item = put(client, "notice.txt", NOTICE, licence="CC0", source_url="https://example.org/n")
    assert item["status"] == "uploaded"
    run = run_job("ingest", scope="pending")
    answer = client.post("/ask", json={"question": "When are the walk-in hours on weekdays?"}).json()
    assert answer["status"] == "answered", answer["text"]
    assert "8:00 to 11:30" in answer["text"]
    citation = next(c for c in answer["citations"] if "8:00" in c["quote"])
    text = client.get(
        f"/documents/{citation['document_id']}/text",
        params={"version": citation["version_id"], "start": citation["start"], "end": citation["end"]},
    ).json()
    assert text["text"] == citation["quote"]
    assert (citation["licence"], citation["source_url"]) == ("CC0", "https://example.org/n")
    lineage = client.get(f"/lineage/answers/{answer['answer_id']}").json()
    kinds = {node["kind"]: node for node in lineage["nodes"]}
    assert {"answer", "claim", "citation", "chunk", "version", "object", "run"} <= kinds.keys()
    assert kinds["object"]["sha256"] == item["sha256"]
    assert kinds["run"]["id"] == run.run_id
    stored = client.get(f"/sessions/{answer['session_id']}/messages").json()["items"]
    assert [m["role"] for m in stored] == ["user", "assistant"]
    assert stored[1]["answer"]["answer_id"] == answer["answer_id"]


def test_a_stream_ends_with_the_whole_answer_and_numbers_its_events(client: TestClient, run_job: RunJob) -> None:
    put(client, "notice.txt", NOTICE)
    run_job("ingest", scope="pending")
    with client.stream(
        "POST", "/ask", json={"question": "How long do appointments last?"}, headers={"Accept": "text/event-stream"}
    ) as response:
        lines = [line for line in response.iter_lines() if line]
    kinds = [line.removeprefix("event: ") for line in lines if line.startswith("event: ")]
    data = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
    assert kinds[0] == "start"
    assert kinds[-1] == "done"
    assert {"node", "token", "citation"} <= set(kinds)
    assert [d["sequence"] for d in data] == list(range(1, len(data) + 1))
    assert "15 minutes" in data[-1]["answer"]["text"]


@pytest.mark.parametrize(
    ("name", "data", "status", "code"),
    [
        ("empty.txt", b"", 422, "empty_input"),
        ("program.pdf", b"MZ\x90\x00" + bytes(300), 415, "unsupported_type"),
        ("film.mp4", b"\x00\x00\x00\x18ftypmp42" + bytes(100), 415, "unsupported_type"),
    ],
)
def test_a_bad_upload_is_refused_and_leaves_nothing(
    client: TestClient, stores: Stores, name: str, data: bytes, status: int, code: str
) -> None:
    problem(send(client, (name, data)), status, code)
    assert client.get("/documents").json()["items"] == []
    assert list(stores.landing.current()) == []


def test_a_name_with_nul_is_refused(client: TestClient) -> None:
    body = b'--b\r\ncontent-disposition: form-data; name="files"; filename="a\0b.txt"\r\n\r\ntext\r\n--b--\r\n'
    kind = {"content-type": "multipart/form-data; boundary=b"}
    problem(client.post("/upload", content=body, headers=kind), 400, "name_refused")


def test_a_name_cannot_leave_its_folder(client: TestClient, stores: Stores) -> None:
    item = put(client, "../../../etc/cron.d/evil.txt", b"text")
    assert item["file_name"] == "evil.txt"
    assert item["landing_key"] == "uploads/local/evil.txt"


def test_one_bad_file_of_a_batch_does_not_keep_the_others_out(client: TestClient) -> None:
    files = [("files", ("a.txt", b"good")), ("files", ("b.bin", b"\x00\x01\x02" * 50)), ("files", ("c.txt", b"fine"))]
    response = client.post("/upload", files=files)
    assert response.status_code == 202
    assert [item["status"] for item in response.json()["items"]] == ["uploaded", "rejected", "uploaded"]
    assert response.json()["items"][1]["error"]["fix"]


def test_too_large_is_refused_by_length_and_while_it_streams(settings: Settings, stores: Stores) -> None:
    small = settings.model_copy(update={"service": settings.service.model_copy(update={"max_upload_mb": 1})})
    with TestClient(create_app(small, stores), base_url="http://127.0.0.1") as client:
        problem(send(client, ("big.txt", b"x" * 3_000_000)), 413, "too_large")

        def endless() -> Any:
            yield b'--b\r\ncontent-disposition: form-data; name="files"; filename="a.txt"\r\n\r\n'
            for _ in range(40):
                yield b"x" * 100_000

        streamed = client.post(
            "/upload", content=endless(), headers={"content-type": "multipart/form-data; boundary=b"}
        )
        problem(streamed, 413, "too_large")
        assert client.get("/documents").json()["items"] == []


def test_bad_questions_get_a_clear_answer(client: TestClient) -> None:
    problem(client.post("/ask", json={"question": "  \n"}), 422, "empty_input")
    problem(client.post("/ask", json={"question": "why " * 5000}), 413, "too_large")
    problem(client.post("/ask", json={}), 400, "invalid_input")
    problem(client.post("/ask", json={"question": "x?", "routes": ["oracle"]}), 400, "invalid_input")
    problem(client.post("/ask", json={"question": "x?", "session_id": "ses_1' or 1=1"}), 404, "not_found")
    german = client.post("/ask", json={"question": "Welche Medikamente nehmen unsere Patienten am häufigsten ein?"})
    assert german.json()["status"] == "refused"
    assert "English" in german.json()["text"]
    symbols = client.post("/ask", json={"question": "??? 123"}).json()
    assert symbols["status"] == "refused"
    nothing = client.post("/ask", json={"question": "What is the capital of France?"}).json()
    assert nothing["status"] == "no_evidence"
    assert nothing["citations"] == []


def test_sql_of_ones_own_runs_under_the_guard(client: TestClient, run_job: RunJob) -> None:
    put(client, "beds.csv", b"ward,beds\nA,10\nB,12\n")
    run_job("ingest", scope="pending")
    for engine in ("postgres", "warehouse"):
        asked = {"statement": "select ward, beds from beds order by beds desc", "engine": engine}
        entry = client.post("/sql", json=asked).json()
        assert entry["rows"] == [["B", 12], ["A", 10]]
        assert entry["tables"] == ["beds"]
        refused = client.post("/sql", json={"statement": "drop table beds", "engine": engine})
        assert problem(refused, 400, "sql_refused")["rule"]
    problem(client.post("/sql", json={"statement": "select nope from beds"}), 400, "sql_refused")
    table = client.get("/tables/beds").json()
    assert table["link"]["rows_file"] == table["link"]["rows_postgres"] == 2


def test_what_one_may_not_see_does_not_exist(client: TestClient, run_job: RunJob, key_of: KeyOf) -> None:
    alice, bob = key_of("Alice"), key_of("bob", ("nurses",))
    secret = put(client, "secret.txt", b"The vault code of ward nine is 4711.", headers=alice)
    pay = put(client, "pay.csv", b"name,salary\nAnn,100\nBen,200\n", headers=alice)
    shared = put(client, "shared.txt", b"Nurses meet at noon.", headers=alice, acl=["group:nurses"])
    run_job("ingest", scope="pending")
    assert shared["acl"] == ["group:nurses"]
    mine = client.post("/ask", json={"question": "What is the vault code of ward nine?"}, headers=alice).json()
    assert "4711" in mine["text"]
    for headers in (bob, {}):
        for path in (
            f"/documents/{secret['document_id']}",
            f"/documents/{secret['document_id']}/text",
            f"/documents/{secret['document_id']}/content",
            f"/lineage/documents/{secret['document_id']}",
            f"/lineage/answers/{mine['answer_id']}",
            f"/lineage/chunks/{mine['citations'][0]['chunk_id']}",
            f"/sessions/{mine['session_id']}",
            "/tables/pay",
        ):
            problem(client.get(path, headers=headers), 404, "not_found")
        problem(client.delete(f"/documents/{secret['document_id']}", headers=headers), 404, "not_found")
        asked = client.post("/ask", json={"question": "What is the vault code of ward nine?"}, headers=headers).json()
        assert "4711" not in json.dumps(asked)
        found = client.post("/search", json={"query": "vault code ward nine"}, headers=headers).json()["items"]
        assert secret["document_id"] not in {hit["document_id"] for hit in found}
        refused = client.post("/sql", json={"statement": "select * from pay"}, headers=headers)
        assert "salary" not in problem(refused, 400, "sql_refused")["detail"]
        assert client.get("/tables", headers=headers).json()["items"] == []
    assert [d["document_id"] for d in client.get("/documents", headers=bob).json()["items"]] == [shared["document_id"]]
    opened = client.patch(f"/documents/{secret['document_id']}", json={"acl": ["user:bob"]}, headers=alice)
    assert opened.status_code == 200
    assert "4711" in client.post("/ask", json={"question": "What is the vault code of ward nine?"}, headers=bob).text
    assert pay["document_id"]


def test_keys_are_asked_for_by_scope_and_revoked_at_once(client: TestClient, key_of: KeyOf) -> None:
    reader = key_of("reader", (), ("read",))
    problem(send(client, ("a.txt", b"text"), headers=reader), 403, "forbidden")
    problem(client.get("/documents", headers={"Authorization": "Bearer ak_wrong"}), 401, "unauthenticated")
    problem(client.get("/documents?api_key=ak_x"), 401, "unauthenticated")
    problem(client.get("/keys", headers=reader), 403, "forbidden")
    made = client.post("/keys", json={"name": "carol"}).json()
    carol = {"Authorization": f"Bearer {made['key']}"}
    assert client.get("/documents", headers=carol).status_code == 200
    client.delete(f"/keys/{made['key_id']}")
    problem(client.get("/documents", headers=carol), 401, "unauthenticated")


def test_another_sites_page_can_do_nothing(client: TestClient) -> None:
    problem(send(client, ("a.txt", b"text"), headers={"Origin": "https://evil.example"}), 403, "forbidden")
    for host in ("evil.example", "127.evil.example", "127.0.0.1.evil.example:8080", "localhost.evil.example"):
        problem(client.get("/documents", headers={"Host": host}), 403, "forbidden")
        own = {"Host": host, "Origin": f"http://{host}"}
        problem(client.post("/keys", json={"name": "x"}, headers=own), 403, "forbidden")
    assert send(client, ("a.txt", b"text"), headers={"Origin": "http://127.0.0.1"}).status_code == 202


def test_an_idempotency_key_makes_a_request_act_once(client: TestClient) -> None:
    key = {"Idempotency-Key": "one"}
    first = send(client, ("a.txt", b"text"), headers=key).json()
    assert send(client, ("a.txt", b"text"), headers=key).json() == first
    problem(send(client, ("a.txt", b"other"), headers=key), 422, "idempotency_mismatch")
    asked = [client.post("/ask", json={"question": "What is this?"}, headers={"Idempotency-Key": "two"}) for _ in "ab"]
    assert asked[0].json()["answer_id"] == asked[1].json()["answer_id"]


def test_a_deleted_document_is_not_quoted_again_by_a_repeated_request(client: TestClient, run_job: RunJob) -> None:
    item = put(client, "notice.txt", NOTICE)
    run_job("ingest", scope="pending")
    ask = {"json": {"question": "When are the walk-in hours on weekdays?"}, "headers": {"Idempotency-Key": "k"}}
    assert "8:00" in client.post("/ask", **ask).text
    assert "8:00" in client.post("/ask", **ask).text
    client.delete(f"/documents/{item['document_id']}")
    run_job("erase_job")
    assert "8:00" not in client.post("/ask", **ask).text


def test_to_see_a_document_is_not_to_dispose_of_it(client: TestClient, key_of: KeyOf) -> None:
    alice, bob = key_of("alice"), key_of("bob")
    item = put(client, "notice.txt", NOTICE, headers=alice, acl=["public", "user:alice"])
    url = f"/documents/{item['document_id']}"
    assert client.get(url, headers=bob).status_code == 200
    problem(client.patch(url, json={"acl": ["user:bob"]}, headers=bob), 403, "forbidden")
    problem(client.delete(url, headers=bob), 403, "forbidden")
    problem(client.patch(url, json={"acl": []}, headers=alice), 400, "invalid_input")
    problem(client.patch(url, json={"nosuch": 1}, headers=alice), 400, "invalid_input")
    assert client.patch(url, json={"acl": ["user:alice"]}, headers=alice).json()["acl"] == ["user:alice"]
    assert client.delete(url, headers=alice).status_code == 202


def test_nul_is_refused_wherever_it_comes(client: TestClient) -> None:
    for path in ("/documents/%00", "/documents?q=%00", "/tables/%00", "/sessions/%00"):
        assert client.get(path).status_code in (400, 404), path
    assert client.post("/sessions", json={"title": "a\0b"}).status_code == 400
    assert client.post("/keys", json={"name": "a/b"}).status_code == 400


def test_a_cursor_that_no_page_gave_out_is_refused(client: TestClient) -> None:
    for name in ("a.txt", "b.txt", "c.txt"):
        put(client, name, name.encode())
    first = client.get("/documents?limit=2").json()
    second = client.get("/documents", params={"limit": 2, "cursor": first["next_cursor"]}).json()
    assert [i["file_name"] for i in first["items"] + second["items"]] == ["c.txt", "b.txt", "a.txt"]
    assert second["next_cursor"] is None
    problem(client.get("/documents?cursor=ses_1%27--"), 400, "invalid_input")


def test_a_failed_document_can_be_tried_again(client: TestClient, run_job: RunJob) -> None:
    item = put(client, "broken.pdf", b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog")
    run_job("ingest", scope="pending")
    url = f"/documents/{item['document_id']}"
    assert client.get(url).json()["error"]["code"] == "damaged_file"
    assert client.post(f"{url}/retry").json()["status"] == "uploaded"
    problem(client.post(f"{url}/retry"), 409, "conflict")
    deleted = client.delete(url).json()
    assert client.get(url).json()["status"] == "deleted"
    run_job("erase_job")
    assert client.get(f"/erasures/{deleted['erasure_id']}").json()["status"] == "verified"


def test_a_follow_up_is_asked_as_a_question_of_its_own(client: TestClient, run_job: RunJob) -> None:
    put(client, "visits.csv", b"visit,day,cost\n1,2021-03-01,10\n2,2022-04-02,20\n3,2022-05-03,30\n")
    run_job("ingest", scope="pending")
    first = client.post("/ask", json={"question": "What is the total cost of visits in 2021?"}).json()
    assert "10" in first["text"], first
    again = {"question": "What about 2022?", "session_id": first["session_id"]}
    second = client.post("/ask", json=again).json()
    assert second["rewritten_question"] == "What is the total cost of visits in 2022?"
    assert "50" in second["text"]


def test_without_the_registry_it_answers_503_and_comes_back(postgres_home: Path) -> None:
    from foundation.adapters.embedded import postgres
    from foundation.registry.address import postgres_folder

    settings = Settings(data_dir=postgres_home / "data")
    postgres.start(postgres_folder(settings))
    try:
        with TestClient(create_app(settings), base_url="http://127.0.0.1", raise_server_exceptions=False) as client:
            assert client.get("/documents").status_code == 200
            postgres.stop(postgres_folder(settings))
            body = problem(client.get("/documents"), 503, "unavailable")
            assert "Traceback" not in json.dumps(body)
            problem(client.post("/ask", json={"question": "What is this?"}), 503, "unavailable")
            assert client.get("/health/ready").status_code == 503
            assert client.get("/health").json()["dependencies"]["registry"]["status"] == "unavailable"
            postgres.start(postgres_folder(settings))
            assert client.get("/documents").status_code == 200
            assert client.get("/health/ready").status_code == 200
    finally:
        postgres.stop(postgres_folder(settings))


def test_the_same_upload_twice_at_once_is_one_document(client: TestClient) -> None:
    got: list[str] = []
    threads = [
        threading.Thread(target=lambda: got.append(put(client, "x.txt", b"same")["document_id"])) for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 6
    assert len(set(got)) == 1
