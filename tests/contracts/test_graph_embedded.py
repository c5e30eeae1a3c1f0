from __future__ import annotations

from collections.abc import Sequence

import pytest
from sqlalchemy import Engine, func, insert, select, update

from foundation.adapters.embedded.graph import PostgresGraph
from foundation.contracts.graph import DIABETES, METFORMIN, TREATS, Corpus, GraphStoreContract, write
from foundation.ports.graph import GraphStore
from foundation.registry.tables import chunks, documents, edges, node_aliases, nodes


class RegistryCorpus:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def add(self, version_id: str, acl: Sequence[str] = ("user:ann",)) -> None:
        document = {
            "landing_key": version_id,
            "file_name": "f",
            "media_type": "text/plain",
            "domain": "d",
            "owner": "o",
        }
        rows = [
            {"chunk_id": f"{version_id}-{n}", "version_id": version_id, "ordinal": n, "start_char": 0, "end_char": 99}
            | {"tokens": 1, "parser": "p/1", "chunker": "c/1"}
            for n in range(10)
        ]
        with self._engine.begin() as connection:
            connection.execute(
                insert(documents).values(document_id=version_id, active_version=version_id, acl=list(acl), **document)
            )
            connection.execute(insert(chunks), rows)

    def deactivate(self, version_id: str) -> None:
        with self._engine.begin() as connection:
            connection.execute(
                update(documents).where(documents.c.document_id == version_id).values(active_version="other")
            )


class TestPostgresGraph(GraphStoreContract):
    @pytest.fixture
    def graph(self, registry_engine: Engine) -> GraphStore:
        return PostgresGraph(registry_engine)

    @pytest.fixture
    def corpus(self, registry_engine: Engine) -> Corpus:
        return RegistryCorpus(registry_engine)


def test_nothing_stays_behind_when_the_chunks_went_first(registry_engine: Engine) -> None:
    """A version that is chunked again loses its mentions with its old chunks, before the graph is told."""
    graph = PostgresGraph(registry_engine)
    RegistryCorpus(registry_engine).add("v1")
    write(graph, "v1", [DIABETES, METFORMIN], [TREATS])
    with registry_engine.begin() as connection:
        connection.execute(chunks.delete())
    assert graph.delete_versions(["v1"]) == 0
    with registry_engine.connect() as connection:
        for table in (nodes, edges, node_aliases):
            assert connection.scalar(select(func.count()).select_from(table)) == 0, table.name
