"""What extraction found in versions, kept between graph_nodes and graph_edges in the derived store."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from foundation.artefacts import prefix
from foundation.stores import Stores
from foundation.types import Chunk, Edge, Mention, Node, VersionGraph
from pipelines.batch import side_by_side
from pipelines.extraction.extract import draft_version, extract_table, finish, tag
from pipelines.extraction.noun_phrases import load_tagger

_ROWS = {"nodes": Node, "edges": Edge, "mentions": Mention}
"""Kept as rows under the names of their fields: a third of the bytes and of the time of objects with names."""


def extract_versions(stores: Stores, versions: Sequence[Sequence[Chunk]]) -> list[VersionGraph]:
    """Extract from the chunks of each version, tagged together, and keep each result for the edges' asset."""
    lexicon, schema = stores.lexicon, stores.graph_schema
    drafts = [draft_version(chunks, lexicon, schema) for chunks in versions]
    found = [finish(draft, phrases, lexicon, schema) for draft, phrases in zip(drafts, tag(drafts), strict=True)]
    side_by_side(stores.derived.put, ((_key(graph.version_id), _written(graph)) for graph in found))
    return found


def extract_tables(stores: Stores, chunks: Sequence[Chunk]) -> VersionGraph:
    """The same of a table file, most of which declare nothing."""
    graph = extract_table(chunks, stores.lexicon, stores.graph_schema)
    stores.derived.put(_key(graph.version_id), _written(graph))
    return graph


def load_extraction(stores: Stores, version_id: str) -> VersionGraph:
    value = json.loads(stores.derived.read(_key(version_id)))
    rows: dict[str, list[Any]] = {
        name: [kind(**dict(zip(value[f"{name}_fields"], row, strict=True))) for row in value[name]]
        for name, kind in _ROWS.items()
    }
    nodes = [Node(n.node_id, n.type, n.name, n.external_id, tuple(n.aliases)) for n in rows["nodes"]]
    return VersionGraph(version_id, nodes, rows["edges"], rows["mentions"])


def _written(graph: VersionGraph) -> bytes:
    value: dict[str, Any] = {}
    for name, kind in _ROWS.items():
        names = [field.name for field in fields(kind)]
        value[f"{name}_fields"] = names
        value[name] = [[getattr(row, field) for field in names] for row in getattr(graph, name)]
    return json.dumps(value, ensure_ascii=False).encode()


def _key(version_id: str) -> str:
    return f"{prefix(version_id)}graph.json"


def load_extractor(stores: Stores) -> None:
    """Load ahead what extraction loads once per process, about 1 s."""
    _ = (stores.lexicon, stores.graph_schema)
    load_tagger()
