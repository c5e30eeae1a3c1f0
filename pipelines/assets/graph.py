"""graph_nodes and graph_edges: entities and typed relations, each with the chunk and span that proves it."""

from typing import Any

import dagster as dg

from foundation.ids import CHUNKER
from foundation.stores import Stores
from foundation.types import ClaimedVersion, Stage
from pipelines.assets.chunks import chunks
from pipelines.assets.common import result, stage_asset
from pipelines.batch import Counts, one_by_one, run_stage, versions_of_run
from pipelines.code_versions import is_table
from pipelines.graph_artefact import extract_version, load_extraction
from pipelines.partitions import day_of
from pipelines.resources import StoresResource


@stage_asset(
    group="graph",
    kinds={"spacy"},
    deps=[chunks],
    description="Entities of the domain's lexicon and of stated relations, with aliases; kept with their edges.",
)
def graph_nodes(context: dg.AssetExecutionContext, stores: StoresResource) -> dg.MaterializeResult[Any]:
    at = stores.stores
    versions = versions_of_run(at, context.run.run_id, day_of(context))
    report = run_stage(context, at, Stage.GRAPH_NODES, versions, one_by_one(lambda version: _nodes(at, version)))
    columns = (
        ("node_id", "text", "Derived from type and canonical name"),
        ("type", "text", "Declared by the domain"),
        ("name", "text", "Canonical name"),
        ("aliases", "text[]", "Other names seen"),
    )
    return result(report, {"nodes": "nodes", "mentions": "node_mentions"}, columns=columns)


def _nodes(stores: Stores, version: ClaimedVersion) -> Counts:
    if is_table(version):  # rows of tables are answered by SQL
        return {"nodes": 0, "node_mentions": 0}
    found = stores.artefacts.load_chunks(version.version_id, CHUNKER)
    extraction = extract_version(stores, version.version_id, found[: stores.settings.ingestion.extraction_max_chunks])
    mentions = [mention for mention in extraction.mentions if mention.node_id is not None]
    held = {mention.node_id for mention in mentions}
    nodes = [node for node in extraction.nodes if node.node_id in held]
    return {"nodes": len(nodes), "node_mentions": len(mentions)}


@stage_asset(
    group="graph",
    kinds={"postgres"},
    deps=[graph_nodes],
    description="Typed relations, each with the sentence that proves it; written with their nodes at once.",
)
def graph_edges(context: dg.AssetExecutionContext, stores: StoresResource) -> dg.MaterializeResult[Any]:
    at = stores.stores
    versions = versions_of_run(at, context.run.run_id, day_of(context))
    report = run_stage(context, at, Stage.GRAPH_EDGES, versions, one_by_one(lambda version: _edges(at, version)))
    columns = (
        ("source_id", "text", "Node"),
        ("type", "text", "Relation, declared by the domain"),
        ("target_id", "text", "Node"),
        ("chunk_id", "text", "Evidence"),
    )
    return result(report, {"edges": "edges", "mentions": "edge_mentions"}, columns=columns, activated=report.activated)


def _edges(stores: Stores, version: ClaimedVersion) -> Counts:
    if is_table(version):
        return {"edges": 0, "edge_mentions": 0}
    extraction = load_extraction(stores, version.version_id)
    stores.graph.write_version(version.version_id, extraction.nodes, extraction.edges, extraction.mentions)
    return {
        "edges": len(extraction.edges),
        "edge_mentions": sum(mention.edge_id is not None for mention in extraction.mentions),
    }
