"""search_index: what makes a chunk retrievable by words and by meaning, under its document's ACL."""

import time
from collections.abc import Sequence
from typing import Any

import dagster as dg

from foundation.errors import StageFailed
from foundation.index_access import tell_index, write_versions
from foundation.registry.database import transaction
from foundation.registry.documents import shared_contents
from foundation.stores import Stores
from foundation.types import Chunk, ClaimedVersion, Stage, Vector
from pipelines.assets.chunks import embeddings
from pipelines.assets.common import made_by, result, stage_asset
from pipelines.batch import Counts, Outcome, in_groups, run_stage, versions_of_run
from pipelines.code_versions import embedding_name
from pipelines.partitions import day_of
from pipelines.resources import StoresResource

_Embedded = list[tuple[Chunk, Vector]]
_TOGETHER = 1000
"""Chunks that go into one commit, about."""


@stage_asset(
    group="documents",
    kinds={made_by("search")},
    deps=[embeddings],
    description="The search index: BM25 and vectors in one commit a version, with what filters need.",
)
def search_index(context: dg.AssetExecutionContext, stores: StoresResource) -> dg.MaterializeResult[Any]:
    at = stores.stores
    versions = versions_of_run(at, context.run.run_id, day_of(context))
    # Several small versions share a commit; each is read back before it counts as indexed.
    work = in_groups(lambda version: _embedded(at, version), len, _TOGETHER, lambda group: _write(at, group))
    report = run_stage(context, at, Stage.SEARCH_INDEX, versions, work)
    # The same bytes under another name are indexed already; only who may find them has changed.
    with transaction(at.engine) as connection:
        shared = shared_contents(connection, [version.version_id for version in versions])
    tell_index(at.engine, at.search, *shared)
    return result(
        report,
        {"chunks": "indexed_chunks"},
        index=at.search.index_name,
        chunks_in_index=at.search.count(),
        activated=report.activated,
    )


def _embedded(stores: Stores, version: ClaimedVersion) -> _Embedded:
    chunks = stores.artefacts.load_chunks(version.version_id, stores.chunker)
    ids, vectors = stores.artefacts.load_embeddings(version.version_id, embedding_name(stores.embedder))
    by_id = dict(zip(ids, vectors, strict=True))
    return [(chunk, by_id[chunk.chunk_id]) for chunk in chunks]


def _write(stores: Stores, group: Sequence[tuple[ClaimedVersion, _Embedded]]) -> list[Outcome]:
    started = time.monotonic()
    written = write_versions(stores.engine, stores.search, {version.version_id: chunks for version, chunks in group})
    share = (time.monotonic() - started) / len(group)
    outcomes = []
    for version, rows in group:
        found = stores.search.count(version.version_id)
        wanted = len(rows) if version.version_id in written else 0  # 0: deleted in the meantime
        result: Counts | Exception = {"indexed_chunks": wanted}
        if found != wanted:
            result = StageFailed(f"{version.file_name}: {found} of {wanted} chunks can be read back from the index.")
        outcomes.append(Outcome(version, share, result))
    return outcomes
