"""usearch beside tantivy: words commit in tantivy, then the HNSW file is replaced; filters cut its nearest 1,000."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from usearch.index import Index

from bench.search_candidates.words import Words
from foundation.adapters.embedded.search_fusion import fuse
from foundation.types import IndexedChunk, SearchFilter, Vector

LABEL = "usearch + tantivy"
NEAREST = 1000


class UsearchTantivy:
    def __init__(self, folder: Path, dimension: int) -> None:
        self.words, self.dimension = Words(folder / "words"), dimension
        self.file, self.seen, self.ann = folder / "vectors.usearch", None, None

    def _load(self) -> Index:
        stat = self.file.stat() if self.file.exists() else None
        identity = stat and (stat.st_ino, stat.st_mtime_ns)
        if self.ann is None or identity != self.seen:
            self.ann = Index(ndim=self.dimension, metric="cos", dtype="f32")
            if stat:
                self.ann.load(str(self.file))
            self.seen = identity
        return self.ann

    def write_version(self, version_id: str, chunks: Sequence[IndexedChunk]) -> None:
        ann = self._load()
        old, rows = self.words.write(version_id, chunks)
        self._save(ann, old, rows, chunks)

    def delete_versions(self, version_ids: Sequence[str]) -> None:
        ann = self._load()
        self._save(ann, [row for version_id in version_ids for row in self.words.write(version_id, [])[0]], [], [])

    def _save(self, ann: Index, old: list[int], rows: list[int], chunks: Sequence[IndexedChunk]) -> None:
        if old:
            ann.remove(np.array(old, np.uint64))
        if rows:
            ann.add(np.array(rows, np.uint64), np.stack([c.vector for c in chunks]))
        ann.save(str(self.file) + ".new")
        Path(str(self.file) + ".new").replace(self.file)
        stat = self.file.stat()
        self.seen = (stat.st_ino, stat.st_mtime_ns)

    def search(self, text: str, vector: Vector, filter: SearchFilter, *, k: int = 10, candidates: int = 100):  # type: ignore[no-untyped-def]
        searcher = self.words.searcher()
        if searcher is None:
            return []
        by_words = self.words.best(searcher, text, filter, candidates)
        near = self._load().search(vector, NEAREST)
        passing = self.words.passing(searcher, [int(key) for key in near.keys], filter)
        pairs = zip(near.keys.tolist(), near.distances.tolist(), strict=True)
        by_dense = dict([(key, 1 - distance) for key, distance in pairs if key in passing][:candidates])
        fused = fuse(by_dense, by_words, 0.6 if by_words else 1.0)
        best = sorted(fused, key=lambda key: -fused[key])[:k]
        return self.words.hits(searcher, best, {"dense": by_dense, "bm25": by_words, "fused": fused})

    def optimize(self) -> None:
        """Neither library compacts on demand from Python."""


def open_index(folder: Path, url: str, dimension: int) -> UsearchTantivy:
    return UsearchTantivy(folder, dimension)
