"""The tantivy half of the two-store candidates: the shipped schema and queries, with an empty vector field."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import tantivy
from tantivy import Query

from foundation.adapters.embedded import search_documents as documents
from foundation.types import Hit, IndexedChunk, SearchFilter

NO_VECTOR = np.zeros(0, np.float32)


class Words:
    def __init__(self, folder: Path) -> None:
        self.folder, self.index, self.writer = folder, None, None

    def write(self, version_id: str, chunks: Sequence[IndexedChunk]) -> tuple[list[int], list[int]]:
        """Commits; returns the rows that went and those that came."""
        if self.writer is None:
            self.folder.mkdir(parents=True, exist_ok=True)
            self.index = documents.register(tantivy.Index(documents.SCHEMA, str(self.folder)))
            self.writer = self.index.writer(64_000_000, 1)
        self.index.reload()
        searcher = self.index.searcher()
        query = Query.term_query(documents.SCHEMA, "version_id", version_id)
        hits = searcher.search(query, limit=100_000, count=False).hits
        old = documents.rows_of(searcher, [address for _, address in hits])
        first = secrets.randbits(43) << documents.ROW_BITS
        self.writer.delete_documents_by_term("version_id", version_id)
        for row, one in enumerate(chunks, first):
            self.writer.add_document(documents.to_document(replace(one, vector=NO_VECTOR), row))
        self.writer.commit()
        return old, list(range(first, first + len(chunks)))

    def searcher(self) -> tantivy.Searcher | None:
        if self.index is None:
            if not (self.folder / "meta.json").exists():
                return None
            self.index = documents.register(tantivy.Index.open(str(self.folder)))
        self.index.reload()
        return self.index.searcher()

    def best(self, searcher: tantivy.Searcher, text: str, filter: SearchFilter, limit: int) -> dict[int, float]:
        query = documents.words_query(text)
        if query is None:
            return {}
        hits = searcher.search(documents.filtered(query, filter), limit=limit, count=False).hits
        rows = documents.rows_of(searcher, [address for _, address in hits])
        return {row: score for row, (score, _) in zip(rows, hits, strict=True)}

    def passing(self, searcher: tantivy.Searcher, rows: list[int], filter: SearchFilter) -> set[int]:
        query = documents.filtered(documents.any_of("row", rows), filter)
        hits = searcher.search(query, limit=max(1, len(rows)), count=False).hits
        return set(documents.rows_of(searcher, [address for _, address in hits]))

    def hits(
        self, searcher: tantivy.Searcher, rows: list[int], rankers: Mapping[str, Mapping[int, float]]
    ) -> list[Hit]:
        if not rows:
            return []
        found = searcher.search(documents.any_of("row", rows), limit=len(rows), count=False).hits
        addresses = [address for _, address in found]
        stored = {
            row: documents.from_document(searcher.doc(address)).chunk
            for row, address in zip(documents.rows_of(searcher, addresses), addresses, strict=True)
        }
        return [
            Hit(chunk.chunk_id, chunk.version_id, 0, 0, chunk.text, rankers["fused"][row],
                {name: found[row] for name, found in rankers.items() if row in found})
            for row in rows
            if (chunk := stored.get(row))
        ]  # fmt: skip
