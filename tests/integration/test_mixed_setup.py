"""Mixed set-ups: objects on S3, with or without Redis and Bedrock, and all else embedded."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from by_http import FERRY, FERRY_LATER, SAMPLES, WHEN, put, shown
from fastapi.testclient import TestClient
from pydantic import SecretStr

from foundation.adapters.aws.cache import RedisCache
from foundation.adapters.aws.embeddings import TitanEmbedder
from foundation.adapters.aws.objects import S3Objects
from foundation.artefacts import prefix
from foundation.ports.embeddings import Embedder
from foundation.settings import AdapterSettings, AwsSettings, RedisSettings, S3Settings, Settings
from foundation.stores import Stores
from pipelines.reconcile import reconcile
from tests.doubles.bedrock import Bedrock
from tests.engines.redis import RedisServer

pytestmark = pytest.mark.engines

RunJob = Callable[..., Any]
BEDROCK_URL = "AWS_ENDPOINT_URL_BEDROCK_RUNTIME"


@pytest.fixture(params=["objects", "objects, cache and embeddings"])
def on_aws(request: pytest.FixtureRequest) -> tuple[str, ...]:
    return tuple(str(request.param).replace(" and", ",").split(", "))


@pytest.fixture
def settings(
    settings: Settings,
    on_aws: tuple[str, ...],
    aws: str,
    bucket: str,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> Settings:
    more: dict[str, Any] = {
        "adapters": AdapterSettings.model_validate(dict.fromkeys(on_aws, "aws")),
        "s3": S3Settings(bucket=bucket),
    }
    monkeypatch.setenv("AWS_ENDPOINT_URL", aws)
    if "cache" in on_aws:
        redis: RedisServer = request.getfixturevalue("redis_server")
        more["redis"] = RedisSettings(url=SecretStr(redis.url))
    if "embeddings" in on_aws:
        monkeypatch.setenv(BEDROCK_URL, request.getfixturevalue("bedrock").url)
    return settings.model_copy(update={**more, "aws": AwsSettings(region="us-east-1")})


@pytest.fixture
def redis_server(tmp_path: Path) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path / "redis")
    with server:
        yield server


@pytest.fixture
def bedrock(loaded_embedder: Embedder) -> Iterator[Bedrock]:
    with Bedrock(loaded_embedder).running() as running:
        yield running


@pytest.fixture
def stores(
    settings: Settings,
    open_stores: Callable[[Settings], Stores],
    loaded_embedder: Embedder,
    on_aws: tuple[str, ...],
) -> Stores:
    made = open_stores(settings)
    if "embeddings" not in on_aws:
        made.embedder = loaded_embedder
    return made


def in_bucket(bucket: str) -> list[str]:
    """Keys of every version and delete marker."""
    s3: Any = boto3.client("s3")
    pages = s3.get_paginator("list_object_versions").paginate(Bucket=bucket)
    return [i["Key"] for page in pages for i in [*page.get("Versions", ()), *page.get("DeleteMarkers", ())]]


def answer(client: TestClient, question: str) -> dict[str, Any]:
    found: dict[str, Any] = client.post("/ask", json={"question": question}).json()
    return found


def test_files_are_ingested_answered_from_and_erased_to_the_last_version(
    client: TestClient,
    stores: Stores,
    run_job: RunJob,
    bucket: str,
    on_aws: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    downloads = tmp_path / "downloads"
    downloads.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(downloads))
    assert isinstance(stores.landing, S3Objects)
    assert isinstance(stores.embedder, TitanEmbedder) == ("embeddings" in on_aws)
    assert isinstance(stores.cache, RedisCache) == ("cache" in on_aws)
    note = put(client, "ferry.txt", FERRY)
    table = put(client, "stays.csv", b"ward,nights\nNorth,3\nSouth,4\nNorth,5\n")
    policy = put(client, "referral_policy.docx", (SAMPLES / "referral_policy.docx").read_bytes())
    assert run_job("ingest", scope="pending").success
    items = (note, table, policy)
    assert [shown(client, item["document_id"])["status"] for item in items] == ["indexed"] * 3
    said = answer(client, WHEN)
    assert "06:40" in said["text"]
    assert said["citations"][0]["quote"] in FERRY.decode()
    assert "8" in answer(client, "How many nights in total are there in stays for the ward North?")["text"]
    assert client.get(f"/documents/{note['document_id']}/content").content == FERRY
    assert client.get("/health").json()["dependencies"]["objects"]["status"] == "ok"

    put(client, "ferry.txt", FERRY_LATER)
    assert run_job("ingest", scope="pending").success
    assert "07:15" in answer(client, WHEN)["text"]
    assert reconcile(stores).unchanged == 3

    stores.cache.set(prefix(note["version_id"]) + "answer", b"x", 600)
    for item in items:
        erasure = client.delete(f"/documents/{item['document_id']}").json()["erasure_id"]
        assert run_job("erase_job").success
        assert client.get(f"/erasures/{erasure}").json()["status"] == "verified"
    assert in_bucket(bucket) == []
    assert stores.cache.get(prefix(note["version_id"]) + "answer") is None
    assert list(downloads.glob("askline-object*")) == []
    assert "07:15" not in answer(client, WHEN)["text"]


def test_a_file_put_into_the_bucket_and_removed_again_comes_and_goes(
    client: TestClient, stores: Stores, run_job: RunJob, bucket: str
) -> None:
    s3: Any = boto3.client("s3")
    s3.put_object(Bucket=bucket, Key="landing/inbound/ferry notice + map.txt", Body=FERRY)
    assert run_job("reconcile_job").success
    assert run_job("ingest", scope="pending").success
    assert "06:40" in answer(client, WHEN)["text"]
    s3.delete_object(Bucket=bucket, Key="landing/inbound/ferry notice + map.txt")
    put(client, "other.txt", b"Insulin treats type 1 diabetes.")
    assert run_job("reconcile_job").success
    assert "06:40" not in answer(client, WHEN)["text"]
    assert run_job("erase_job").success
    assert {key.split("/")[0] for key in in_bucket(bucket)} == {"landing"}
    assert not any("ferry" in key for key in in_bucket(bucket))
