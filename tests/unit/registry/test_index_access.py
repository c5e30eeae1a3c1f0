"""What filters of the index see is what the registry says, whatever changes while a version is written."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Engine

from foundation.access import local_principal
from foundation.adapters.embedded.search import EmbeddedSearchIndex
from foundation.index_access import tell_index, write_versions
from foundation.registry import claims, documents, erasures
from foundation.registry.activation import set_active
from foundation.registry.database import transaction
from foundation.registry.intake import Arrival, Received, register_arrival
from foundation.types import Chunk, Hit, SearchFilter

LOCAL = local_principal("local")
FERRY = "The ferry leaves at 06:40."


@pytest.fixture
def document(registry_engine: Engine) -> Received:
    arrival = Arrival(
        landing_key="uploads/local/ferry.txt",
        file_name="ferry.txt",
        media_type="text/plain",
        sha256="a" * 64,
        size_bytes=26,
        object_version="obj_1",
        owner="local",
        acl=("user:local",),
        domain="healthcare",
        source="api",
    )
    with transaction(registry_engine) as connection:
        received = register_arrival(connection, arrival)
        claims.claim(
            connection, "run", received.arrival_day, shard=claims.Shard(), limit=1, lease=timedelta(seconds=60)
        )
        set_active(connection, {received.document_id: received.version_id})
    return received


def seen(index: EmbeddedSearchIndex, *grants: str) -> list[Hit]:
    return index.search("ferry", None, SearchFilter(grants))


def rows_of(document: Received) -> dict[str, list[tuple[Chunk, np.ndarray]]]:
    chunk = Chunk("chk_1", document.version_id, 0, 0, len(FERRY), FERRY, 8, None, None)
    return {document.version_id: [(chunk, np.ones(4, dtype=np.float32) / 2)]}


class _Late(EmbeddedSearchIndex):
    """Somebody does something between the look at the registry and the commit of the index."""

    meanwhile: Callable[[], None]

    def write_versions(self, versions) -> None:  # type: ignore[no-untyped-def]
        self.meanwhile()
        super().write_versions(versions)


@pytest.mark.parametrize("read", [documents.access_of, documents.active_access])
def test_a_change_of_the_acl_while_the_version_is_written_is_not_lost(
    registry_engine: Engine, document: Received, tmp_path: Path, read: Callable[..., dict[str, documents.Access]]
) -> None:
    index = _Late(tmp_path, "words.1", 4)

    def share() -> None:
        with transaction(registry_engine) as connection:
            documents.change_document(connection, document.document_id, {"acl": ["group:ward"]})
        tell_index(registry_engine, index, document.version_id)  # finds nothing yet

    index.meanwhile = share
    assert write_versions(registry_engine, index, rows_of(document), read) == {document.version_id}
    assert [hit.version_id for hit in seen(index, "group:ward")] == [document.version_id]
    assert seen(index, "user:local") == []


def test_a_version_that_is_deleted_while_it_is_written_does_not_stay(
    registry_engine: Engine, document: Received, tmp_path: Path
) -> None:
    index = _Late(tmp_path, "words.1", 4)

    def delete() -> None:
        with transaction(registry_engine) as connection:
            erasures.request_erasure(connection, LOCAL, document.document_id)

    index.meanwhile = delete
    write_versions(registry_engine, index, rows_of(document))
    assert index.count() == 0
    index.meanwhile = lambda: None
    assert write_versions(registry_engine, index, rows_of(document)) == set()
    assert index.count() == 0
