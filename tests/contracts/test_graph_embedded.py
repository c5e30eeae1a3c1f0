from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import Engine, event, func, insert, select, update

from foundation.adapters.embedded.graph import PostgresGraph
from foundation.contracts.graph import DIABETES, METFORMIN, TREATS, Corpus, GraphStoreContract, write
from foundation.contracts.graph_merges import GraphMergesContract, lexicon, schema
from foundation.ports.graph import GraphStore
from foundation.registry.tables import chunks, documents, edges, node_aliases, nodes
from foundation.resolution import Resolver


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


class TestPostgresGraphMerges(GraphMergesContract):
    @pytest.fixture
    def graph(self, registry_engine: Engine) -> GraphStore:
        return PostgresGraph(registry_engine, Resolver(lambda: (lexicon(), schema())))

    @pytest.fixture
    def corpus(self, registry_engine: Engine) -> Corpus:
        return RegistryCorpus(registry_engine)


def test_a_deletion_waits_for_a_writer_that_has_only_begun_to_use_its_nodes(registry_engine: Engine) -> None:
    graph, corpus = PostgresGraph(registry_engine), RegistryCorpus(registry_engine)
    for version in ("old", "new"):
        corpus.add(version)
    write(graph, "old", [DIABETES, METFORMIN], [TREATS])
    deletion = threading.Thread(target=graph.delete_versions, args=(["old"],))

    def delete_in_between(*arguments: Any) -> None:
        if arguments[2].startswith("insert into askline.mentions") and not deletion.ident:
            deletion.start()
            deletion.join(1)

    event.listen(registry_engine, "before_cursor_execute", delete_in_between)
    write(graph, "new", [DIABETES, METFORMIN], [TREATS])
    deletion.join(10)
    assert graph.counts("new") == {"nodes": 2, "edges": 1, "mentions": 3}
    assert graph.counts("old")["mentions"] == 0


def test_writers_that_prove_one_edge_at_once_end_and_count_the_evidence_of_both(registry_engine: Engine) -> None:
    """Both have added their mentions before either counts: neither waits for the other in a circle, none is lost."""
    graph, corpus = PostgresGraph(registry_engine), RegistryCorpus(registry_engine)
    versions = ["old", "one", "two"]
    for version in versions:
        corpus.add(version)
    write(graph, "old", [DIABETES, METFORMIN], [TREATS])
    both_have_added = threading.Barrier(2, timeout=10)
    begun: set[int] = set()

    def meet(*arguments: Any) -> None:
        if "from askline.edges where edge_id = any" in arguments[2] and threading.get_ident() not in begun:
            begun.add(threading.get_ident())
            both_have_added.wait()

    event.listen(registry_engine, "before_cursor_execute", meet)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda version: write(graph, version, [DIABETES, METFORMIN], [TREATS]), versions[1:]))
    assert len(begun) == 2
    with registry_engine.connect() as connection:
        assert connection.scalar(select(edges.c.weight)) == 3


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
