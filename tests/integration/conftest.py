"""A whole set of embedded stores in a temporary folder, and runs of the real jobs over them in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from fastapi.testclient import TestClient
from pydantic import SecretStr

from foundation.adapters.embedded.embeddings import OnnxEmbedder
from foundation.media_type import HEAD, check_upload
from foundation.ports.embeddings import Embedder
from foundation.registry.database import transaction
from foundation.registry.intake import UPLOADS, Arrival, Received, register_arrival
from foundation.registry.keys import create_key
from foundation.settings import DagsterSettings, DatabaseSettings, Settings
from foundation.stores import Stores
from query_service.app import create_app


@pytest.fixture
def settings(tmp_path: Path, empty_database: str) -> Settings:
    return Settings(
        data_dir=tmp_path / "data",
        database=DatabaseSettings(url=SecretStr(empty_database)),
        dagster=DagsterSettings(nudge=False),
    )


@pytest.fixture(scope="session")
def loaded_embedder() -> Embedder:
    """The model, loaded once: it holds no state of a test."""
    return OnnxEmbedder(Settings().embeddings.model)


@pytest.fixture
def open_stores(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Settings], Stores]]:
    """Make stores that the Dagster resource of this process uses too, from then on; all are closed at the end."""
    with ExitStack() as opened:

        def make(settings: Settings) -> Stores:
            made = opened.enter_context(closing(Stores(settings)))
            for module in ("pipelines.resources", "pipelines.sensors.failures"):
                monkeypatch.setattr(f"{module}.process_stores", lambda: made)
            return made

        yield make


@pytest.fixture
def stores(settings: Settings, open_stores: Callable[[Settings], Stores], loaded_embedder: Embedder) -> Stores:
    made = open_stores(settings)
    made.embedder = loaded_embedder
    return made


@pytest.fixture
def land(stores: Stores) -> Callable[..., Received]:
    """Put a file into the landing bucket and register it, as the upload endpoint does."""

    def put(name: str, data: bytes, *, owner: str = "local", acl: tuple[str, ...] | None = None) -> Received:
        key = f"{UPLOADS}/{owner}/{name}"
        stored = stores.landing.put(key, data)
        with transaction(stores.engine) as connection:
            return register_arrival(
                connection,
                Arrival(
                    landing_key=key,
                    file_name=name,
                    media_type=check_upload(data[:HEAD], len(data), name).name,
                    sha256=stored.sha256,
                    size_bytes=stored.size,
                    object_version=stored.version_id,
                    owner=owner,
                    acl=acl if acl is not None else (f"user:{owner}",),
                    domain="healthcare",
                    source="api",
                ),
            )

    return put


@pytest.fixture
def dagster_instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as made:
        yield made


@pytest.fixture
def run_job(stores: Stores, dagster_instance: dg.DagsterInstance) -> Callable[..., dg.ExecuteInProcessResult]:
    """Run a job in this process; the ingest jobs over today's partition."""
    from pipelines.definitions import defs

    def run(name: str, tags: dict[str, str] | None = None, **config: Any) -> dg.ExecuteInProcessResult:
        partitioned = name in ("ingest", "reindex")
        return defs.resolve_job_def(name).execute_in_process(
            instance=dagster_instance,
            tags=tags,
            run_config={"ops": {"raw_files": {"config": config}}} if config else None,
            partition_key=datetime.now(UTC).strftime("%Y-%m-%d") if partitioned else None,
            raise_on_error=False,
        )

    return run


@pytest.fixture
def client(settings: Settings, stores: Stores) -> Iterator[TestClient]:
    """The service over the same stores, as the local principal on loopback."""
    with TestClient(create_app(settings, stores), base_url="http://127.0.0.1") as made:
        yield made


@pytest.fixture
def key_of(stores: Stores) -> Callable[..., dict[str, str]]:
    """Headers of a new API key for a principal."""

    def make(name: str, groups: tuple[str, ...] = (), scopes: tuple[str, ...] = ("read", "write")) -> dict[str, str]:
        with transaction(stores.engine) as connection:
            return {"Authorization": f"Bearer {create_key(connection, name, groups, scopes)[1]}"}

    return make
