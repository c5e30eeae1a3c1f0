"""chunks and embeddings: retrievable spans within the model's token limit, and their vectors."""

import time
from collections.abc import Sequence
from typing import Any

import dagster as dg
import numpy as np

from foundation.errors import NoContent, StageFailed
from foundation.registry.artefacts import replace_chunks
from foundation.registry.database import transaction
from foundation.stores import Stores
from foundation.types import Chunk, ClaimedVersion, Stage
from pipelines.assets.common import made_by, result, stage_asset
from pipelines.assets.parsed_text import parsed_text
from pipelines.batch import Outcome, in_groups, run_stage, side_by_side, versions_of_run
from pipelines.chunking import chunk_document
from pipelines.code_versions import parser
from pipelines.embed_ahead import EmbedAhead
from pipelines.handed_on import HandedOn
from pipelines.partitions import day_of
from pipelines.resources import StoresResource
from pipelines.vectors import embed, save_vectors

_TOGETHER = 256
"""Chunks of several small files are written, and embedded, in one go."""
_Cut = tuple[list[Chunk], float]
"""The chunks of a version, and the seconds that they took."""

CHUNK_COLUMNS = (
    ("chunk_id", "text", "Derived from version, parser, chunker and ordinal"),
    ("version_id", "text", "sha256 of the file"),
    ("start", "int", "First character in the parsed text"),
    ("end", "int", "Character after the last"),
    ("page", "int", "Page on which it starts"),
    ("section", "text", "Headings above it; a table's header row"),
    ("tokens", "int", "By the embedding model's tokenizer"),
)


@stage_asset(
    group="documents",
    kinds={"parquet"},
    deps=[parsed_text],
    description="Sentence-aware spans of the parsed text, each within the embedding model's token limit.",
)
def chunks(context: dg.AssetExecutionContext, stores: StoresResource) -> dg.MaterializeResult[Any]:
    at = stores.stores
    versions = versions_of_run(at, context.run.run_id, day_of(context))
    chosen = context.run.asset_selection
    ahead = stores.ahead if chosen is None or embeddings.key in chosen else None
    # Several small files are written to the registry in one transaction.
    work = in_groups(
        lambda version: _cut(at, version),
        lambda cut: len(cut[0]),
        _TOGETHER,
        lambda group: _register(at, group, ahead, stores.handed_on),
    )
    report = run_stage(context, at, Stage.CHUNKS, versions, work)
    return result(report, {"chunks": "chunks", "tokens": "tokens"}, columns=CHUNK_COLUMNS, chunker=at.chunker)


def _cut(stores: Stores, version: ClaimedVersion) -> _Cut:
    started = time.monotonic()
    parsed = stores.artefacts.load_parsed(version.version_id, parser(version))
    found = chunk_document(parsed, version_id=version.version_id, embedder=stores.embedder)
    if not found:
        raise NoContent(f"{version.file_name}: its text gave no chunk to index.")
    return found, time.monotonic() - started


def chunks_of(stores: Stores, version_id: str, handed_on: HandedOn, *, last: bool = False) -> list[Chunk]:
    """The chunks that this run has cut, or the store's; `last`: no later stage of the run asks for them."""
    cut = handed_on.take("chunks", version_id) if last else handed_on.look("chunks", version_id)
    return stores.artefacts.load_chunks(version_id, stores.chunker) if cut is None else cut


def _register(
    stores: Stores, group: Sequence[tuple[ClaimedVersion, _Cut]], ahead: EmbedAhead | None, handed_on: HandedOn
) -> list[Outcome]:
    if ahead is not None:
        ahead.start(stores.embedder, [chunks for _, (chunks, _) in group])
    save = stores.artefacts.save_chunks
    side_by_side(save, ((version.version_id, stores.chunker, chunks) for version, (chunks, _) in group))
    with transaction(stores.engine) as connection:
        found = {version.version_id: (parser(version), chunks) for version, (chunks, _) in group}
        replace_chunks(connection, found, chunker=stores.chunker)
    for version, (cut, _) in group:
        handed_on.keep("chunks", version.version_id, cut, len(cut))
    return [
        Outcome(version, seconds, {"chunks": len(chunks), "tokens": sum(chunk.tokens for chunk in chunks)})
        for version, (chunks, seconds) in group
    ]


@stage_asset(
    group="documents",
    kinds={made_by("embeddings")},
    deps=[chunks],
    description="A unit vector for each chunk, stored with model, revision and dimension.",
)
def embeddings(context: dg.AssetExecutionContext, stores: StoresResource) -> dg.MaterializeResult[Any]:
    at = stores.stores
    versions = versions_of_run(at, context.run.run_id, day_of(context))
    work = in_groups(
        lambda version: chunks_of(at, version.version_id, stores.handed_on, last=True),
        len,
        _TOGETHER,
        lambda group: _embed(at, group, stores.ahead),
    )
    report = run_stage(context, at, Stage.EMBEDDINGS, versions, work)
    seconds = sum(o.seconds for o in report.done)
    columns = (
        ("chunk_id", "text", "The chunk"),
        ("vector", f"float[{at.embedder.dimension}]", "Unit length"),
        ("model", "text", "Embedding model"),
        ("revision", "text", "Hash of its weights"),
    )
    return result(
        report,
        {"vectors": "vectors"},
        columns=columns,
        model=at.embedder.model,
        revision=at.embedder.revision,
        dimension=at.embedder.dimension,
        chunks_per_second=round(report.total("vectors") / seconds, 1) if seconds else 0.0,
    )


def _embed(stores: Stores, group: Sequence[tuple[ClaimedVersion, list[Chunk]]], ahead: EmbedAhead) -> list[Outcome]:
    embedder = stores.embedder
    made = [ahead.take(chunks) for _, chunks in group]
    missing = [chunks for (_, chunks), found in zip(group, made, strict=True) if found is None]
    new = iter(embed(embedder, missing))
    outcomes, sound = [], []
    for (version, chunks), found in zip(group, made, strict=True):
        found = found or next(new)
        if found.vectors.shape != (len(chunks), embedder.dimension) or not np.isfinite(found.vectors).all():
            error = StageFailed(f"{version.file_name}: the model gave vectors that are not finite or not of its size.")
            outcomes.append(Outcome(version, found.seconds, error))
            continue
        sound.append((stores.artefacts, embedder, version.version_id, chunks, found.vectors))
        outcomes.append(Outcome(version, found.seconds, {"vectors": len(chunks)}))
    side_by_side(save_vectors, sound)
    return outcomes
