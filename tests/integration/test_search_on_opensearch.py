"""The embedded profile with ASKLINE_ADAPTERS__SEARCH=aws: chunks are found in OpenSearch, all else is as ever."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from by_http import FERRY, FERRY_LATER, SAMPLES, WHEN, put, shown
from fastapi.testclient import TestClient
from opensearchpy import OpenSearch as Client
from pydantic import SecretStr

from foundation.adapters.aws.search import OpenSearchIndex
from foundation.settings import (
    AdapterSettings,
    DagsterSettings,
    DatabaseSettings,
    EmbeddingSettings,
    OpenSearchSettings,
    Settings,
)
from foundation.stores import Stores
from pipelines import rebuild
from tests.engines.opensearch import OpenSearch

pytestmark = pytest.mark.engines
RunJob = Callable[..., Any]


@pytest.fixture
def opensearch(opensearch_server: OpenSearch) -> Iterator[OpenSearchSettings]:
    """Indexes of this test's own."""
    chosen = OpenSearchSettings(
        url=opensearch_server.url, auth="none", replicas=0, index_prefix=f"t{uuid.uuid4().hex[:8]}-"
    )
    yield chosen
    Client(opensearch_server.url).indices.delete(index=f"{chosen.index_prefix}*")


@pytest.fixture
def settings(tmp_path: Any, empty_database: str, opensearch: OpenSearchSettings) -> Settings:
    return Settings(
        data_dir=tmp_path / "data",
        database=DatabaseSettings(url=SecretStr(empty_database)),
        dagster=DagsterSettings(nudge=False),
        adapters=AdapterSettings(search="aws"),
        opensearch=opensearch,
    )


def ask(client: TestClient, question: str, headers: dict[str, str] | None = None) -> dict[str, Any]:
    answer: dict[str, Any] = client.post("/ask", json={"question": question}, headers=headers).json()
    return answer


def test_a_document_is_ingested_answered_replaced_and_erased(
    client: TestClient, stores: Stores, run_job: RunJob, opensearch_server: OpenSearch
) -> None:
    item = put(client, "ferry.txt", FERRY)
    for name in ("referral_policy.docx", "clinic_notice.txt"):
        put(client, name, (SAMPLES / name).read_bytes())
    run = run_job("ingest", scope="pending")
    assert run.success
    assert shown(client, item["document_id"])["status"] == "indexed"
    assert isinstance(stores.search.serving, OpenSearchIndex)
    assert not (stores.settings.folder / "search").exists()

    answer = ask(client, WHEN)
    assert answer["status"] == "answered" and "06:40" in answer["text"], answer
    assert any(citation["quote"] in FERRY.decode() for citation in answer["citations"])
    lineage = client.get(f"/lineage/answers/{answer['answer_id']}").json()
    runs = [node["id"] for node in lineage["nodes"] if node["kind"] == "run"]
    assert runs == [run.run_id]
    assert "180 days" in ask(client, "How long is a referral valid?")["text"]

    put(client, "ferry.txt", FERRY_LATER)
    assert run_job("ingest", scope="pending").success
    later = ask(client, WHEN)["text"]
    assert "07:15" in later and "06:40" not in later

    assert _in_files(opensearch_server, b"Skarholm")
    erasure_id = client.delete(f"/documents/{item['document_id']}").json()["erasure_id"]
    assert ask(client, WHEN)["status"] != "answered"
    assert run_job("erase_job").success
    report = client.get(f"/erasures/{erasure_id}").json()
    assert report["status"] == "verified", report
    assert {store["name"]: store["found"] for store in report["stores"]}["search_index"] > 0
    assert not _in_files(opensearch_server, b"Skarholm")
    assert "180 days" in ask(client, "How long is a referral valid?")["text"]


def test_who_may_not_see_a_document_gets_no_passage_of_it_and_a_new_access_holds_at_once(
    client: TestClient, run_job: RunJob, key_of: Callable[..., dict[str, str]]
) -> None:
    ann, ben = key_of("ann"), key_of("ben", ("pier",))
    item = put(client, "ferry.txt", FERRY, headers=ann)
    assert run_job("ingest", scope="pending").success
    assert "06:40" in ask(client, WHEN, ann)["text"]
    assert "06:40" not in str(ask(client, WHEN, ben))
    changed = client.patch(f"/documents/{item['document_id']}", json={"acl": ["user:ann", "group:pier"]}, headers=ann)
    assert changed.status_code == 200, changed.text
    found = client.post("/search", json={"query": "ferry Skarholm"}, headers=ben).json()
    assert [hit["document_id"] for hit in found["items"]] == [item["document_id"]]
    assert "06:40" in ask(client, WHEN, ben)["text"]


def test_another_model_is_built_beside_the_old_index_takes_the_alias_and_the_old_one_is_dropped(
    settings: Settings, stores: Stores, client: TestClient, run_job: RunJob, open_stores: Callable[[Settings], Stores]
) -> None:
    for name in ("referral_policy.docx", "clinic_notice.txt"):
        put(client, name, (SAMPLES / name).read_bytes())
    assert run_job("ingest", scope="pending").success
    other = open_stores(settings.model_copy(update={"embeddings": EmbeddingSettings(model="all-MiniLM-L6-v2")}))
    assert run_job("rebuild_index").success
    assert stores.outdated() and other.outdated()
    new = open_stores(other.settings)
    assert new.embedder.model == "all-MiniLM-L6-v2"
    assert new.search.count() == stores.search.count() > 0
    old = stores.search.serving
    assert isinstance(old, OpenSearchIndex)
    assert rebuild.drop_retired(new, timedelta(0)) == [stores.serving.name]
    assert not old._client.indices.exists(index=old.physical)
    assert old.count() == 0 < new.search.count()


def _in_files(server: OpenSearch, data: bytes) -> bool:
    files = (path for path in (server.folder / "data").rglob("*") if path.is_file())
    return any(data in path.read_bytes() for path in files)
