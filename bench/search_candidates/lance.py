"""LanceDB: one table, BM25 and filters inside; both rankers read the same table version."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Sequence
from pathlib import Path

import lancedb
import numpy as np
import pyarrow as pa
from lancedb.index import FTS, BTree, LabelList
from lancedb.query import MatchQuery

from foundation.adapters.embedded.search_fusion import fuse
from foundation.types import Hit, IndexedChunk, SearchFilter, Vector

LABEL = "LanceDB"


class Lance:
    def __init__(self, folder: Path, dimension: int) -> None:
        self.db, self.dimension, self._table = lancedb.connect(str(folder)), dimension, None

    @property
    def table(self):  # type: ignore[no-untyped-def]
        if self._table is None:
            self._table = self.db.open_table("chunks")
        return self._table

    def write_version(self, version_id: str, chunks: Sequence[IndexedChunk]) -> None:
        rows = pa.table(
            {
                "chunk_id": [c.chunk.chunk_id for c in chunks],
                "version_id": [version_id] * len(chunks),
                "acl": pa.array([list(c.acl) for c in chunks], pa.list_(pa.string())),
                "document_ids": pa.array([list(c.document_ids) for c in chunks], pa.list_(pa.string())),
                "text": [c.chunk.text for c in chunks],
                "vector": pa.FixedSizeListArray.from_arrays(
                    pa.array(np.concatenate([c.vector for c in chunks])), self.dimension
                ),
            }
        )
        if "chunks" not in self.db.table_names():
            self._table = self.db.create_table("chunks", rows)
            self.table.create_index("text", config=FTS(with_position=False, stem=True, remove_stop_words=False))
            self.table.create_index("acl", config=LabelList())
            self.table.create_index("document_ids", config=LabelList())
            self.table.create_index("version_id", config=BTree())
            return
        (
            self.table.merge_insert("chunk_id")
            .when_matched_update_all()
            .when_not_matched_insert_all()
            .when_not_matched_by_source_delete(f"version_id = '{version_id}'")
            .execute(rows)
        )

    def delete_versions(self, version_ids: Sequence[str]) -> None:
        self.table.delete(f"version_id IN ({_quoted(version_ids)})")

    def search(self, text: str, vector: Vector, filter: SearchFilter, *, k: int = 10, candidates: int = 100):  # type: ignore[no-untyped-def]
        if self._table is None and "chunks" not in self.db.table_names():
            return []
        self.table.checkout_latest()
        where = f"array_has_any(acl, [{_quoted(filter.grants)}])"
        if filter.document_ids is not None:
            where += f" AND array_has_any(document_ids, [{_quoted(filter.document_ids)}])"
        fields, texts = ["chunk_id", "text"], {}
        by_dense, by_words = {}, {}
        near = self.table.search(vector, vector_column_name="vector").distance_type("cosine")
        for row in near.where(where, prefilter=True).select([*fields, "_distance"]).limit(candidates).to_list():
            by_dense[row["chunk_id"]], texts[row["chunk_id"]] = 1 - row["_distance"], row["text"]
        if text.strip():
            found = self.table.search(MatchQuery(text, "text")).where(where, prefilter=True)
            for row in found.select([*fields, "_score"]).limit(candidates).to_list():
                by_words[row["chunk_id"]], texts[row["chunk_id"]] = row["_score"], row["text"]
        fused = fuse(by_dense, by_words, 0.6 if text.strip() else 1.0)
        best = sorted(fused, key=lambda key: -fused[key])[:k]
        return [_hit(key, texts[key], fused[key], by_dense, by_words) for key in best]

    def optimize(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.table.optimize(cleanup_older_than=datetime.timedelta(0), delete_unverified=True)


def _quoted(values: Sequence[str]) -> str:
    return ",".join("'" + value.replace("'", "''") + "'" for value in values)


def _hit(key: str, text: str, score: float, by_dense: dict[str, float], by_words: dict[str, float]) -> Hit:
    rankers = {"dense": by_dense, "bm25": by_words}
    return Hit(key, "", 0, 0, text, score, {name: found[key] for name, found in rankers.items() if key in found})


def open_index(folder: Path, url: str, dimension: int) -> Lance:
    return Lance(folder, dimension)
