"""pgvector beside tantivy: vectors in one Postgres transaction, around the tantivy commit of the words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import psycopg
from pgvector.psycopg import register_vector

from bench.search_candidates.words import Words
from foundation.adapters.embedded.search_fusion import fuse
from foundation.types import IndexedChunk, SearchFilter, Vector

LABEL = "pgvector + tantivy"


class PgvectorTantivy:
    def __init__(self, folder: Path, url: str, dimension: int) -> None:
        self.words = Words(folder / "words")
        self.db = psycopg.connect(url, autocommit=True)
        self.db.execute("create extension if not exists vector")
        self.db.execute(
            f"create table if not exists chunks (row_id bigint primary key, version_id text, acl text[],"
            f" document_ids text[], embedding vector({dimension}))"
        )
        for column, kind in (("embedding vector_cosine_ops", "hnsw"), ("version_id", "btree"), ("document_ids", "gin")):
            name = f"chunks_{kind}"
            self.db.execute(f"create index if not exists {name} on chunks using {kind} ({column})")
        self.db.execute("set hnsw.iterative_scan = strict_order")
        register_vector(self.db)

    def write_version(self, version_id: str, chunks: Sequence[IndexedChunk]) -> None:
        with self.db.transaction(), self.db.cursor() as cursor:
            _, rows = self.words.write(version_id, chunks)
            cursor.execute("delete from chunks where version_id = %s", (version_id,))
            cursor.executemany(
                "insert into chunks values (%s, %s, %s, %s, %s)",
                [
                    (row, version_id, list(c.acl), list(c.document_ids), c.vector)
                    for row, c in zip(rows, chunks, strict=True)
                ],
            )

    def delete_versions(self, version_ids: Sequence[str]) -> None:
        for version_id in version_ids:
            self.words.write(version_id, [])
        self.db.execute("delete from chunks where version_id = any(%s)", (list(version_ids),))

    def search(self, text: str, vector: Vector, filter: SearchFilter, *, k: int = 10, candidates: int = 100):  # type: ignore[no-untyped-def]
        searcher = self.words.searcher()
        if searcher is None:
            return []
        by_words = self.words.best(searcher, text, filter, candidates)
        where, values = "acl && %s", [list(filter.grants)]
        if filter.document_ids is not None:
            where, values = where + " and document_ids && %s", [*values, list(filter.document_ids)]
        near = self.db.execute(
            f"select row_id, 1 - (embedding <=> %s) from chunks where {where} order by embedding <=> %s limit %s",
            (vector, *values, vector, candidates),
        ).fetchall()
        by_dense = {int(row): float(score) for row, score in near}
        fused = fuse(by_dense, by_words, 0.6 if by_words else 1.0)
        best = sorted(fused, key=lambda key: -fused[key])[:k]
        return self.words.hits(searcher, best, {"dense": by_dense, "bm25": by_words, "fused": fused})

    def optimize(self) -> None:
        self.db.execute("vacuum analyze chunks")


def open_index(folder: Path, url: str, dimension: int) -> PgvectorTantivy:
    return PgvectorTantivy(folder, url, dimension)
