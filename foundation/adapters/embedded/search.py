"""The embedded search index: tantivy for words, filters and storage; an exact vector scan over the same commit.

A version's words, filters and vectors lie in the same documents of one tantivy index, so its commit (an atomic rename
of `meta.json` after fsync) is what makes a write whole, durable and safe against kill -9.
docs/adr/0001-embedded-search.md has the measurements behind this.
"""

from __future__ import annotations

import fcntl
import json
import re
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import tantivy
from tantivy import Query

from foundation.adapters.embedded import search_documents as documents
from foundation.adapters.embedded.search_fusion import fuse
from foundation.adapters.embedded.search_snapshot import SnapshotReader
from foundation.errors import ConfigurationError, InvalidInput, Unavailable
from foundation.types import Hit, IndexedChunk, SearchFilter, Vector

_WRITER_MEMORY = 64_000_000  # bytes; beyond it tantivy spills a segment, which stays unseen until the commit
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,120}")


class EmbeddedSearchIndex:
    """foundation.ports.search.SearchIndex in a local folder.

    folder: holds one subfolder an index; index_name: letters, digits, `.`, `_`, `-`; dimension: length of a vector.
    Opening writes nothing: a reader may open an index before its first write, and sees it from then on.
    Several writer processes take turns; one that waits longer than lock_timeout_s raises Unavailable.
    Threads may share an instance.
    """

    def __init__(self, folder: Path, index_name: str, dimension: int, *, lock_timeout_s: float = 60.0) -> None:
        if not _NAME.fullmatch(index_name):
            raise ConfigurationError(
                f"index name {index_name!r} cannot name a folder", fix="Use letters, digits, dot, dash, underscore."
            )
        self.index_name = index_name
        self.dimension = dimension
        self._folder = Path(folder) / index_name / documents.LAYOUT
        self._lock_timeout_s = lock_timeout_s
        self._reader = SnapshotReader(self._folder, dimension)

    def write_version(self, version_id: str, chunks: Sequence[IndexedChunk]) -> None:
        self.write_versions({version_id: chunks})

    def write_versions(self, versions: Mapping[str, Sequence[IndexedChunk]]) -> None:
        for version_id, chunks in versions.items():
            for indexed in chunks:
                if indexed.chunk.version_id != version_id:
                    raise InvalidInput(f"chunk {indexed.chunk.chunk_id} is of another version than {version_id}")
                self._check(indexed.vector, f"vector of chunk {indexed.chunk.chunk_id}")
            if len(chunks) >= 1 << documents.ROW_BITS:
                raise InvalidInput(f"{version_id}: {len(chunks)} chunks", fix="Chunk it more coarsely.")
        with self._exclusive() as index:
            _replace(index, versions)

    def delete_versions(self, version_ids: Sequence[str]) -> int:
        unique = list(dict.fromkeys(version_ids))
        with self._exclusive() as index:
            gone = _matching(index.searcher(), documents.any_of("version_id", unique))
            if gone:
                with _commit(index) as writer:
                    for version_id in unique:
                        writer.delete_documents_by_term("version_id", version_id)
        return gone

    def update_access(
        self, version_id: str, acl: Sequence[str], document_ids: Sequence[str], document_type: str | None
    ) -> None:
        """Unknown versions are no error."""
        with self._exclusive() as index:
            found = _stored(index.searcher(), _term("version_id", version_id))
            changed = [
                replace(one, acl=tuple(acl), document_ids=tuple(document_ids), document_type=document_type)
                for one in found
            ]
            if [_access(one) for one in changed] != [_access(one) for one in found]:
                _replace(index, {version_id: sorted(changed, key=lambda one: one.chunk.ordinal)})

    def count(self, version_id: str | None = None) -> int:
        searcher = self._reader.searcher()
        if searcher is None:
            return 0
        return searcher.num_docs if version_id is None else _matching(searcher, _term("version_id", version_id))

    def search(
        self,
        text: str,
        vector: Vector | None,
        filter: SearchFilter,
        *,
        k: int = 10,
        candidates: int = 100,
        dense_weight: float = 0.6,
    ) -> list[Hit]:
        if vector is not None:
            self._check(vector, "query vector")
        snapshot = self._reader.current()
        if snapshot is None or not filter.grants or k < 1 or candidates < 1:
            return []
        words = documents.words_query(text)
        by_words = _by_words(snapshot.searcher, words, filter, candidates) if words is not None else {}
        by_dense = snapshot.nearest(vector, filter, candidates) if vector is not None else {}
        # A single ranker's score is not weighed: 1 is its best hit either way.
        weight = 0.0 if vector is None else 1.0 if words is None else dense_weight
        fused = fuse(by_dense, by_words, weight)
        best = sorted(fused, key=lambda row: (-fused[row], row))[:k]
        stored = _by_row(snapshot.searcher, best)
        rankers = {"bm25": by_words, "dense": by_dense, "fused": fused}
        return [
            _hit(stored[row], fused[row], {name: scores[row] for name, scores in rankers.items() if row in scores})
            for row in best
        ]

    def vectors(self, chunk_ids: Sequence[str]) -> dict[str, Vector]:
        """As they were written, float32 of shape (dimension,); ids that the index does not hold are left out."""
        searcher = self._reader.searcher()
        if searcher is None or not chunk_ids:
            return {}
        found = _stored(searcher, documents.any_of("chunk_id", chunk_ids))
        return {indexed.chunk.chunk_id: indexed.vector for indexed in found}

    def optimize(self) -> None:
        """One segment without deleted documents; what was deleted is then gone from the disk.

        Rewrites the whole index in one commit, so its time grows with the index; nothing happens when it is compact.
        """
        with self._exclusive() as index:
            if self._compact():
                return
            everything, searcher = Query.all_query(), index.searcher()
            addresses = _addresses(searcher, everything)
            with _commit(index) as writer:
                writer.delete_documents_by_query(everything)
                for row, address in zip(documents.rows_of(searcher, addresses), addresses, strict=True):
                    indexed = documents.from_document(searcher.doc(address))
                    writer.add_document(documents.to_document(indexed, row))

    def close(self) -> None:
        self._reader.close()

    def remove(self) -> None:
        """Delete this physical index from the disk, after the alias has moved away from it."""
        with self._exclusive():
            shutil.rmtree(self._folder)
        self._reader.close()

    def _check(self, vector: Vector, name: str) -> None:
        if vector.shape != (self.dimension,) or not np.isfinite(vector).all():
            raise InvalidInput(
                f"{name}: shape {vector.shape}, needs ({self.dimension},) of finite numbers",
                fix="Embed with the model that the index is named after.",
            )

    @contextmanager
    def _exclusive(self) -> Iterator[tantivy.Index]:
        """The index, to write to. One process at a time; the kernel drops the lock of a process that dies."""
        self._folder.mkdir(parents=True, exist_ok=True)
        deadline = time.monotonic() + self._lock_timeout_s
        with (self._folder.parent / "writer.lock").open("a") as handle:
            while True:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError as error:
                    if time.monotonic() > deadline:
                        raise Unavailable(
                            f"another process has been writing to the index {self.index_name} for"
                            f" {self._lock_timeout_s:.0f} s",
                            fix="Wait for the run that writes, or stop it.",
                        ) from error
                    time.sleep(0.02)
            yield self._open()

    def _open(self) -> tantivy.Index:
        """To write to: created if it is not there. Refuses an index of vectors of another length."""
        index = documents.register(tantivy.Index(documents.SCHEMA, str(self._folder)))
        searcher = index.searcher()
        for _, address in searcher.search(Query.all_query(), limit=1, count=False).hits:
            documents.require_dimension(documents.vector_of(searcher.doc(address)), self.dimension, self._folder)
        return index

    def _compact(self) -> bool:
        segments = json.loads((self._folder / "meta.json").read_bytes())["segments"]
        return len(segments) < 2 and all(segment["deletes"] is None for segment in segments)


@contextmanager
def _commit(index: tantivy.Index) -> Iterator[tantivy.IndexWriter]:
    """All that happens to the writer within becomes visible at once, or not at all."""
    writer = index.writer(_WRITER_MEMORY, 1)
    try:
        yield writer
        writer.commit()
        writer.garbage_collect_files()
    except BaseException:
        writer.rollback()
        raise
    finally:
        writer.wait_merging_threads()  # releases tantivy's own lock


def _replace(index: tantivy.Index, versions: Mapping[str, Sequence[IndexedChunk]]) -> None:
    """All of them in one commit, each with a write number of its own, from which its rows are counted."""
    searcher = index.searcher()
    with _commit(index) as writer:
        taken: set[int] = set()
        for version_id, chunks in versions.items():
            write = secrets.randbits(43)
            while write in taken or searcher.doc_freq("write", documents.write_term(write)):
                write = secrets.randbits(43)
            taken.add(write)
            writer.delete_documents_by_term("version_id", version_id)
            for row, indexed in enumerate(chunks, write << documents.ROW_BITS):
                writer.add_document(documents.to_document(indexed, row))


def _access(indexed: IndexedChunk) -> tuple[set[str], set[str], str | None]:
    return set(indexed.acl), set(indexed.document_ids), indexed.document_type


def _term(field: str, value: str) -> Query:
    return Query.term_query(documents.SCHEMA, field, value)


def _matching(searcher: tantivy.Searcher, query: Query) -> int:
    return int(searcher.search(query, limit=1, count=True).count)  # type: ignore[attr-defined]  # not in its stubs


def _addresses(searcher: tantivy.Searcher, query: Query) -> list[tantivy.DocAddress]:
    found = searcher.search(query, limit=max(1, searcher.num_docs), count=False)
    return [address for _, address in found.hits]


def _stored(searcher: tantivy.Searcher, query: Query) -> list[IndexedChunk]:
    return [documents.from_document(searcher.doc(address)) for address in _addresses(searcher, query)]


def _by_words(searcher: tantivy.Searcher, words: Query, narrow: SearchFilter, limit: int) -> dict[int, float]:
    """Row to BM25 score (k1 1.2, b 0.75: tantivy's, not adjustable)."""
    hits = searcher.search(documents.filtered(words, narrow), limit=limit, count=False).hits
    rows = documents.rows_of(searcher, [address for _, address in hits])
    return {row: score for row, (score, _) in zip(rows, hits, strict=True)}


def _by_row(searcher: tantivy.Searcher, rows: Sequence[int]) -> dict[int, IndexedChunk]:
    addresses = _addresses(searcher, documents.any_of("row", rows)) if rows else []
    stored = [documents.from_document(searcher.doc(address)) for address in addresses]
    return dict(zip(documents.rows_of(searcher, addresses), stored, strict=True))


def _hit(indexed: IndexedChunk, score: float, scores: dict[str, float]) -> Hit:
    chunk = indexed.chunk
    return Hit(
        chunk_id=chunk.chunk_id,
        version_id=chunk.version_id,
        start=chunk.start,
        end=chunk.end,
        text=chunk.text,
        score=score,
        scores=scores,
        page=chunk.page,
        section=chunk.section,
    )
