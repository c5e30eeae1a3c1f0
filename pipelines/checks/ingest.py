"""The checks of the ingest assets, over the partition's day; those that read files look at what their run worked on.

A day has many runs, and each would read again all that the others have read.
"""

from collections.abc import Callable
from typing import Any

import dagster as dg
import numpy as np

from foundation.errors import NotFound
from foundation.registry.database import transaction
from foundation.registry.documents import day_outcome
from foundation.registry.quality import duplicate_chunk_ids, edges_without_evidence, held_of, unequal_links
from foundation.types import Status
from pipelines.assets.chunks import chunks, embeddings
from pipelines.assets.common import cell, document_link
from pipelines.assets.graph import graph_edges
from pipelines.assets.search_index import search_index
from pipelines.assets.tables import table_links
from pipelines.batch import versions_of_run
from pipelines.code_versions import embedding_name
from pipelines.partitions import ARRIVAL_DAYS, day_of
from pipelines.resources import StoresResource

_LISTED = 50


def _check(
    asset: dg.AssetsDefinition, description: str, **more: Any
) -> Callable[[Callable[..., Any]], dg.AssetChecksDefinition]:
    return dg.asset_check(asset=asset, partitions_def=ARRIVAL_DAYS, blocking=False, description=description, **more)


@_check(
    search_index,
    "Every version of the day is indexed, or failed with a reason.",
    additional_deps=[table_links, graph_edges],
)
def every_version_ended(context: dg.AssetCheckExecutionContext, stores: StoresResource) -> dg.AssetCheckResult:
    with transaction(stores.stores.engine) as connection:
        versions = day_outcome(connection, day_of(context))
    open_ = [v["document_id"] for v in versions if v["status"] not in (Status.FAILED, Status.INDEXED)]
    return dg.AssetCheckResult(
        passed=not open_,
        severity=dg.AssetCheckSeverity.WARN,
        metadata={
            "indexed": sum(v["status"] == Status.INDEXED for v in versions),
            "failed with a reason": sum(v["status"] == Status.FAILED for v in versions),
            "waiting or in work": open_[:_LISTED],
        },
    )


@_check(
    search_index,
    "No version of the day failed; those that did are listed by name with the reason.",
    additional_deps=[table_links, graph_edges],
)
def no_version_failed(context: dg.AssetCheckExecutionContext, stores: StoresResource) -> dg.AssetCheckResult:
    with transaction(stores.stores.engine) as connection:
        versions = day_outcome(connection, day_of(context))
    failed = [v for v in versions if v["status"] == Status.FAILED]
    lines = ["| file | stage | code | reason |", "|---|---|---|---|"]
    for v in failed[:_LISTED]:
        link = document_link(v["document_id"], v["file_name"])
        lines.append(f"| {link} | {v['stage']} | {v['error_code']} | {cell(v['error_message'])} |")
    return dg.AssetCheckResult(
        passed=not failed,
        severity=dg.AssetCheckSeverity.WARN,
        metadata={
            "failed": len(failed),
            **({"failures": dg.MetadataValue.md("\n".join(lines))} if failed else {}),
        },
    )


@_check(chunks, "A chunk's id is unique and says where it comes from.")
def chunk_ids_unique(context: dg.AssetCheckExecutionContext, stores: StoresResource) -> dg.AssetCheckResult:
    with transaction(stores.stores.engine) as connection:
        total, distinct = duplicate_chunk_ids(connection, day_of(context))
    return dg.AssetCheckResult(passed=total == distinct, metadata={"chunks": total, "distinct ids": distinct})


@_check(embeddings, "Every vector is finite, of unit length and of the model's dimension; every chunk has one.")
def vectors_sound(context: dg.AssetCheckExecutionContext, stores: StoresResource) -> dg.AssetCheckResult:
    at = stores.stores
    versions = versions_of_run(at, context.run.run_id, day_of(context))
    with transaction(at.engine) as connection:
        held = held_of(connection, [version.version_id for version in versions])
    unsound, total = [], 0
    for version in versions:
        chunks_of_it, _ = held[version.version_id]
        try:
            ids, vectors = at.artefacts.load_embeddings(version.version_id, embedding_name(at.embedder))
        except NotFound:
            unsound.append(version.document_id)
            continue
        total += len(ids)
        sound = vectors.shape == (chunks_of_it, at.embedder.dimension) and bool(
            np.isfinite(vectors).all() and np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-3)
        )
        if not sound:
            unsound.append(version.document_id)
    return dg.AssetCheckResult(passed=not unsound, metadata={"vectors": total, "unsound": unsound[:_LISTED]})


@_check(table_links, "Rows in the file, in the catalog and in Postgres are equal.")
def rows_equal(context: dg.AssetCheckExecutionContext, stores: StoresResource) -> dg.AssetCheckResult:
    at = stores.stores
    versions = versions_of_run(at, context.run.run_id, day_of(context))
    with transaction(at.engine) as connection:
        links, unequal = unequal_links(connection, [version.version_id for version in versions])
    for link in links:
        if at.relational.row_count(link["postgres_table"]) != link["rows_file"]:
            unequal.append(link["postgres_table"])
    return dg.AssetCheckResult(passed=not unequal, metadata={"tables": len(links), "unequal": unequal})


@_check(graph_edges, "Every edge has evidence: a mention in a chunk.")
def edges_have_evidence(context: dg.AssetCheckExecutionContext, stores: StoresResource) -> dg.AssetCheckResult:
    with transaction(stores.stores.engine) as connection:
        edges, without = edges_without_evidence(connection)
    return dg.AssetCheckResult(passed=without == 0, metadata={"edges": edges, "without evidence": without})


INGEST_CHECKS = [
    every_version_ended,
    no_version_failed,
    chunk_ids_unique,
    vectors_sound,
    rows_equal,
    edges_have_evidence,
]
