"""graph_nodes and graph_edges: entities and typed relations, each with the chunk and span that proves it."""

import time
from collections.abc import Iterator, Sequence
from typing import Any

import dagster as dg

from foundation.stores import Stores
from foundation.types import Chunk, ClaimedVersion, Stage, VersionGraph
from pipelines.assets.chunks import chunks, chunks_of
from pipelines.assets.common import result, stage_asset
from pipelines.batch import Counts, Outcome, in_groups, one_by_one, run_stage, versions_of_run
from pipelines.code_versions import is_table
from pipelines.graph_artefact import extract_tables, extract_versions, load_extraction
from pipelines.handed_on import HandedOn
from pipelines.partitions import day_of
from pipelines.resources import StoresResource

_TOGETHER = 500
"""Chunks that are tagged, or whose graph is written, in one go: it costs less than file by file."""
_MENTIONS_A_CHUNK = 10
_FIRST = {"dagster/priority": "1"}
"""Before the vectors are kept: while the model makes them (pipelines/embed_ahead.py)."""


@stage_asset(
    group="graph",
    kinds={"spacy"},
    deps=[chunks],
    op_tags=_FIRST,
    description="Entities of the domain's lexicon and of stated relations, with aliases; kept with their edges.",
)
def graph_nodes(context: dg.AssetExecutionContext, stores: StoresResource) -> dg.MaterializeResult[Any]:
    at = stores.stores
    versions = versions_of_run(at, context.run.run_id, day_of(context))
    report = run_stage(context, at, Stage.GRAPH_NODES, versions, lambda todo: _nodes(at, todo, stores.handed_on))
    columns = (
        ("node_id", "text", "Derived from type and canonical name"),
        ("type", "text", "Declared by the domain"),
        ("name", "text", "Canonical name"),
        ("aliases", "text[]", "Other names seen"),
    )
    return result(report, {"nodes": "nodes", "mentions": "node_mentions"}, columns=columns)


def _nodes(stores: Stores, versions: Sequence[ClaimedVersion], handed_on: HandedOn) -> Iterator[Outcome]:
    def cut(version: ClaimedVersion) -> list[Chunk]:
        return chunks_of(stores, version.version_id, handed_on)

    # Rows of tables are answered by SQL, unless they declare relations of terms.
    of_table = one_by_one(lambda version: _node_counts(extract_tables(stores, cut(version))))
    yield from of_table([version for version in versions if is_table(version)])
    most = stores.settings.ingestion.extraction_max_chunks
    of_document = in_groups(
        lambda version: cut(version)[:most], len, _TOGETHER, lambda group: _extract(stores, group, handed_on)
    )
    yield from of_document([version for version in versions if not is_table(version)])


def _extract(stores: Stores, group: Sequence[tuple[ClaimedVersion, list[Chunk]]], handed_on: HandedOn) -> list[Outcome]:
    started = time.monotonic()
    graphs = extract_versions(stores, [cut for _, cut in group])
    for (_, cut), graph in zip(group, graphs, strict=True):
        handed_on.keep("extraction", graph.version_id, graph, len(cut))
    share = (time.monotonic() - started) / len(group)
    return [Outcome(version, share, _node_counts(graph)) for (version, _), graph in zip(group, graphs, strict=True)]


def _node_counts(graph: VersionGraph) -> Counts:
    held = {mention.node_id for mention in graph.mentions if mention.node_id is not None}
    mentions = sum(mention.node_id is not None for mention in graph.mentions)
    return {"nodes": sum(node.node_id in held for node in graph.nodes), "node_mentions": mentions}


@stage_asset(
    group="graph",
    kinds={"postgres"},
    deps=[graph_nodes],
    op_tags=_FIRST,
    description="Typed relations, each with the sentence that proves it; written with their nodes at once.",
)
def graph_edges(context: dg.AssetExecutionContext, stores: StoresResource) -> dg.MaterializeResult[Any]:
    at = stores.stores
    versions = versions_of_run(at, context.run.run_id, day_of(context))
    work = in_groups(
        lambda version: (
            stores.handed_on.take("extraction", version.version_id) or load_extraction(at, version.version_id)
        ),
        lambda graph: len(graph.mentions),
        _TOGETHER * _MENTIONS_A_CHUNK,
        lambda group: _write(at, group),
    )
    report = run_stage(context, at, Stage.GRAPH_EDGES, versions, work)
    columns = (
        ("source_id", "text", "Node"),
        ("type", "text", "Relation, declared by the domain"),
        ("target_id", "text", "Node"),
        ("chunk_id", "text", "Evidence"),
    )
    return result(report, {"edges": "edges", "mentions": "edge_mentions"}, columns=columns, activated=report.activated)


def _write(stores: Stores, group: Sequence[tuple[ClaimedVersion, VersionGraph]]) -> list[Outcome]:
    started = time.monotonic()
    stores.graph.write_versions([graph for _, graph in group])
    share = (time.monotonic() - started) / len(group)
    return [Outcome(version, share, _edge_counts(graph)) for version, graph in group]


def _edge_counts(graph: VersionGraph) -> Counts:
    return {
        "mentions": len(graph.mentions),
        "edges": len(graph.edges),
        "edge_mentions": sum(mention.edge_id is not None for mention in graph.mentions),
    }
