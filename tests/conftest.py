"""The real things that tests use: a Postgres server for the session, a fresh database for each test."""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import Engine

from foundation.adapters.embedded import postgres
from foundation.registry.database import create_registry_engine, migrate
from tests.engines.athena import Athena
from tests.engines.moto import KEYS, Moto, moto, versioned_bucket
from tests.engines.opensearch import OpenSearch, opensearch

SHARED = Path(os.environ.get("ASKLINE_TEST_DATA", Path(__file__).parents[2] / "shared" / "data"))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The real test data that lies beside the repository; tests that read it are skipped where it is absent."""
    if not SHARED.is_dir():
        pytest.skip(f"{SHARED} is not there; set ASKLINE_TEST_DATA to its folder")
    return SHARED


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """URL of a running server's `askline` database; stopped and removed at the end of the session."""
    folder = Path(tempfile.mkdtemp(prefix="askline-pg-")) / "pg"
    url = postgres.start(folder)
    yield url
    postgres.stop(folder)
    shutil.rmtree(folder.parent, ignore_errors=True)


@pytest.fixture
def postgres_home() -> Iterator[Path]:
    """An empty folder for a server of this test's own. Not under pytest's, which only its owner may enter: as root the
    server runs as another user."""
    folder = Path(tempfile.mkdtemp(prefix="askline-pg-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def empty_database(postgres_server: str) -> Iterator[str]:
    """URL of a database of this test's own, with nothing in it."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    postgres.ensure_database(postgres_server, name)
    yield postgres_server.replace("/askline?", f"/{name}?")
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f"drop database if exists {name} with (force)")


@pytest.fixture(scope="session")
def opensearch_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenSearch]:
    """A running OpenSearch for the session; a test takes an index name of its own."""
    with opensearch(tmp_path_factory.mktemp("opensearch")) as server:
        yield server


@pytest.fixture
def registry_engine(empty_database: str) -> Iterator[Engine]:
    """An engine on a migrated registry of this test's own."""
    engine = create_registry_engine(empty_database)
    migrate(engine)
    yield engine
    engine.dispose()


@pytest.fixture(scope="session")
def aws_keys() -> Iterator[None]:
    """Keys in the environment that any double takes; a real AWS profile of this machine is out of reach."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            patch.delenv(name)
        for name, value in {**KEYS, "AWS_EC2_METADATA_DISABLED": "true"}.items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="session")
def moto_server(tmp_path_factory: pytest.TempPathFactory, aws_keys: None) -> Iterator[Moto]:
    """S3, SQS, Glue and STS for the session; a test takes a bucket or queue of its own, or calls `reset`."""
    with moto(tmp_path_factory.mktemp("moto")) as server:
        yield server


@pytest.fixture
def aws(moto_server: Moto) -> str:
    """URL of S3, SQS, Glue and STS."""
    return moto_server.url


@pytest.fixture
def bucket(aws: str) -> str:
    """A versioned bucket of this test's own."""
    return versioned_bucket(aws, f"test-{uuid.uuid4().hex[:12]}")


@pytest.fixture(scope="session")
def athena_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Athena]:
    """Athena on a real Trino with S3 and Glue of its own; a test takes a bucket and a Glue database of its own."""
    with Athena(tmp_path_factory.mktemp("athena")) as running:
        yield running
