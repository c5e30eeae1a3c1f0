"""A new search index beside the one that answers: for another embedding model or chunker, until the alias moves to it.

Nothing that answers is touched before the switch: chunks and vectors of the new index lie under their own names in the
derived store, and the registry's chunk rows, on which evidence and citations rest, are exchanged with the alias.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Connection

from foundation.errors import NotFound, StageFailed
from foundation.index_access import write_versions
from foundation.ports.embeddings import Embedder
from foundation.ports.search import SearchIndex
from foundation.registry import claims, content_locks, corpus, search_indexes, stages
from foundation.registry.artefacts import drop_replaced_chunks, exchange_chunks
from foundation.registry.database import transaction
from foundation.registry.documents import active_access
from foundation.registry.search_indexes import PhysicalIndex
from foundation.stores import Stores
from foundation.types import Chunk, ClaimedVersion, Stage, Vector
from pipelines.chunking import chunk_document
from pipelines.code_versions import code_version, embeddings_of, parser
from pipelines.vectors import embed, save_vectors

_TOGETHER = 100
_IDLE_S = 600
"""How long the switch waits for a moment in which no version is in work."""


@dataclass(frozen=True, slots=True)
class Rebuild:
    """The index under construction, and what writes it."""

    target: PhysicalIndex
    embedder: Embedder
    index: SearchIndex


def start(stores: Stores, *, again: bool) -> Rebuild | None:
    """None when the wanted index answers already, or was rejected and `again` is not asked for."""
    with transaction(stores.engine) as connection:
        if not search_indexes.start_building(connection, stores.wanted, again=again):
            return None
    return of(stores)


def of(stores: Stores) -> Rebuild:
    return Rebuild(stores.wanted, stores.embedder_of(stores.wanted.model), stores.index_of(stores.wanted))


def build(stores: Stores, rebuild: Rebuild) -> int:
    """Bring the new index up to what answers now; returns how many versions that took. Safe to run again."""
    done = 0
    for group in _groups(missing(stores, rebuild)):
        with content_locks.shared(stores.engine, [v.version_id for v in group], for_serving=False):
            # What was deleted or replaced since it was listed is not embedded in vain.
            with transaction(stores.engine) as connection:
                access = active_access(connection, [version.version_id for version in group])
            answering = [version for version in group if access[version.version_id].document_ids]
            found = {version.version_id: _embedded(stores, rebuild, version) for version in answering}
            write_versions(stores.engine, rebuild.index, found, active_access)
        done += len(group)
    return done


def missing(stores: Stores, rebuild: Rebuild) -> list[ClaimedVersion]:
    """The versions that answer and are not in the new index, one document for each content."""
    with transaction(stores.engine) as connection:
        answering = corpus.answering_versions(connection)
    by_content = {version.version_id: version for version in answering}
    return [version for version_id, version in by_content.items() if not rebuild.index.count(version_id)]


def _groups(versions: Sequence[ClaimedVersion]) -> Iterator[Sequence[ClaimedVersion]]:
    for start_at in range(0, len(versions), _TOGETHER):
        yield versions[start_at : start_at + _TOGETHER]


def _embedded(stores: Stores, rebuild: Rebuild, version: ClaimedVersion) -> list[tuple[Chunk, Vector]]:
    chunks = _chunks(stores, rebuild, version)
    [made] = embed(rebuild.embedder, [chunks])
    save_vectors(stores.artefacts, rebuild.embedder, version.version_id, chunks, made.vectors)
    return list(zip(chunks, made.vectors, strict=True))


def _chunks(stores: Stores, rebuild: Rebuild, version: ClaimedVersion) -> list[Chunk]:
    try:
        return stores.artefacts.load_chunks(version.version_id, rebuild.target.chunker)
    except NotFound:
        parsed = stores.artefacts.load_parsed(version.version_id, parser(version))
        chunks = chunk_document(parsed, version_id=version.version_id, embedder=rebuild.embedder)
        stores.artefacts.save_chunks(version.version_id, rebuild.target.chunker, chunks)
        return chunks


def drop_retired(stores: Stores, grace: timedelta) -> list[str]:
    """Drop the indexes that were replaced longer ago than `grace`, and what was derived for them; their names."""
    with transaction(stores.engine) as connection:
        late = search_indexes.retired_before(connection, grace)
        contents = corpus.all_contents(connection) if late else []
    for index in late:
        stores.drop_index(index)
        for version_id in contents:
            stores.artefacts.purge_embeddings(version_id, embeddings_of(index.model, index.revision, index.chunker))
        with transaction(stores.engine) as connection:
            search_indexes.forget(connection, index)
            if not search_indexes.others(connection):
                drop_replaced_chunks(connection)
    return [index.name for index in late]


def switch(stores: Stores, rebuild: Rebuild, run_id: str) -> int:
    """Move the alias, in one transaction with the registry's chunks; returns the chunks that answer from then on.

    StageFailed when some version was in work all the time: what a run has begun for the old index must end in it.
    """
    deadline = time.monotonic() + _IDLE_S
    while True:
        build(stores, rebuild)
        with transaction(stores.engine) as connection:
            claims.hold_claims(connection)  # no run begins; what was activated since the build is caught up
            if content_locks.try_alias(connection) and not claims.in_work(connection):
                build(stores, rebuild)
                answering = corpus.answering_versions(connection)
                count = exchange_chunks(connection, _new_chunks(stores, rebuild, answering))
                _record(connection, stores, rebuild, run_id, answering)
                search_indexes.move_alias(connection, rebuild.target)
                return count
        if time.monotonic() > deadline:
            raise StageFailed(
                f"The new index {rebuild.target.name} is ready, but ingest was never idle for {_IDLE_S} s."
            )
        time.sleep(1)


def _new_chunks(
    stores: Stores, rebuild: Rebuild, answering: Sequence[ClaimedVersion]
) -> Iterator[tuple[str, str, list[Chunk]]]:
    """(parser, chunker, chunks) of each content that answers."""
    for version_id, version in {version.version_id: version for version in answering}.items():
        chunks = stores.artefacts.load_chunks(version_id, rebuild.target.chunker)
        yield parser(version), rebuild.target.chunker, chunks


def _record(
    connection: Connection, stores: Stores, rebuild: Rebuild, run_id: str, answering: Sequence[ClaimedVersion]
) -> None:
    """The stages that the new index stands for are done with its model; the graph's are stale, and redone at night."""
    counts = {version.version_id: rebuild.index.count(version.version_id) for version in answering}
    for stage, name in (
        (Stage.CHUNKS, "chunks"),
        (Stage.EMBEDDINGS, "vectors"),
        (Stage.SEARCH_INDEX, "indexed_chunks"),
    ):
        finished = [
            stages.Finished(
                version,
                code_version(stage, version, rebuild.embedder, stores.domain),
                0,
                {name: counts[version.version_id]},
            )
            for version in answering
        ]
        stages.finish_stage(connection, run_id, stage, finished)
