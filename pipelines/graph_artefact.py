"""What extraction found in a version, kept between graph_nodes and graph_edges in the derived store."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from functools import cache

from foundation.artefacts import prefix
from foundation.domain import Domain
from foundation.graph_schema import GraphSchema, load_graph_schema
from foundation.lexicon import Lexicon, load_lexicon
from foundation.stores import Stores
from foundation.types import Chunk, Edge, Mention, Node
from pipelines.extraction.extract import extract
from pipelines.extraction.resolution import Extraction


def extract_version(stores: Stores, version_id: str, chunks: Sequence[Chunk]) -> Extraction:
    """Extract, and keep the result for the edges' asset."""
    lexicon, schema = _domain_data(stores.domain)
    extraction = extract(chunks, lexicon=lexicon, graph_schema=schema)
    value = {
        "nodes": [asdict(node) for node in extraction.nodes],
        "edges": [asdict(edge) for edge in extraction.edges],
        "mentions": [asdict(mention) for mention in extraction.mentions],
    }
    stores.derived.put(_key(version_id), json.dumps(value, ensure_ascii=False).encode())
    return extraction


def load_extraction(stores: Stores, version_id: str) -> Extraction:
    value = json.loads(stores.derived.read(_key(version_id)))
    return Extraction(
        nodes=[Node(**{**node, "aliases": tuple(node["aliases"])}) for node in value["nodes"]],
        edges=[Edge(**edge) for edge in value["edges"]],
        mentions=[Mention(**mention) for mention in value["mentions"]],
    )


def _key(version_id: str) -> str:
    return f"{prefix(version_id)}graph.json"


@cache
def _domain_data(domain: Domain) -> tuple[Lexicon, GraphSchema]:
    return load_lexicon(domain.folder), load_graph_schema(domain.file("graph.yaml"))
