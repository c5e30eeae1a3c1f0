"""The search index: lexical (BM25) and dense (cosine) ranking with filters, one physical index per embedding model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from foundation.types import Hit, IndexedChunk, SearchFilter, Vector


class SearchIndex(Protocol):
    """One writer process (a pipeline run) and any number of reader processes.

    A write is visible to a reader in another process within one second, and whole versions only: a reader never sees
    a half-written state (some chunks of a version, or its words without its vectors).
    """

    index_name: str
    """The physical index: model, dimension and chunker are in the name."""
    dimension: int

    def write_version(self, version_id: str, chunks: Sequence[IndexedChunk]) -> None:
        """Replace everything that the index holds of this version, in one step. Idempotent."""

    def write_versions(self, versions: Mapping[str, Sequence[IndexedChunk]]) -> None:
        """`write_version` of several, which may share one commit: a small file costs less so."""

    def delete_versions(self, version_ids: Sequence[str]) -> int:
        """Remove every chunk of these versions; returns how many chunks went. Unknown versions are no error."""

    def update_access(
        self, version_id: str, acl: Sequence[str], document_ids: Sequence[str], document_type: str | None
    ) -> None:
        """Change what filters see of a version: who may find it, as which documents, of which type."""

    def count(self, version_id: str | None = None) -> int:
        """Chunks that a search could return now, of one version or of all."""

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
        """Best first, at most k.

        Each ranker gives its best `candidates` under the filter (applied inside the search, never afterwards). Scores
        are min-max normalised per ranker and summed: dense_weight * dense + (1 - dense_weight) * bm25.
        vector None: words only. text blank: dense only.
        """

    def vectors(self, chunk_ids: Sequence[str]) -> dict[str, Vector]: ...

    def optimize(self) -> None:
        """Compact after many writes; readers keep working."""

    def remove(self) -> None:
        """Delete this physical index with all that it holds. Only after the alias has moved away from it."""

    def close(self) -> None: ...
