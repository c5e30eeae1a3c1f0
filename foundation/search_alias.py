"""The search index behind its alias: questions go to the one that serves, changes to all that lie on the disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from foundation.ports.search import SearchIndex
from foundation.types import Hit, IndexedChunk, SearchFilter, Vector


class AliasedSearch:
    """foundation.ports.search.SearchIndex over the serving index.

    What is deleted, or may be seen by others than before, changes in the indexes beside it too: one that is being
    built must not bring it back, and one that was retired must not keep it.
    """

    def __init__(self, serving: SearchIndex, beside: Callable[[], Sequence[SearchIndex]]) -> None:
        self.serving = serving
        self.index_name = serving.index_name
        self.dimension = serving.dimension
        self._beside = beside

    def everywhere(self) -> list[SearchIndex]:
        return [self.serving, *self._beside()]

    def write_version(self, version_id: str, chunks: Sequence[IndexedChunk]) -> None:
        self.serving.write_version(version_id, chunks)

    def write_versions(self, versions: Mapping[str, Sequence[IndexedChunk]]) -> None:
        self.serving.write_versions(versions)

    def delete_versions(self, version_ids: Sequence[str]) -> int:
        return sum(index.delete_versions(version_ids) for index in self.everywhere())

    def update_access(
        self, version_id: str, acl: Sequence[str], document_ids: Sequence[str], document_type: str | None
    ) -> None:
        for index in self.everywhere():
            index.update_access(version_id, acl, document_ids, document_type)

    def count(self, version_id: str | None = None) -> int:
        return self.serving.count(version_id)

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
        return self.serving.search(text, vector, filter, k=k, candidates=candidates, dense_weight=dense_weight)

    def vectors(self, chunk_ids: Sequence[str]) -> dict[str, Vector]:
        return self.serving.vectors(chunk_ids)

    def optimize(self) -> None:
        for index in self.everywhere():
            index.optimize()

    def remove(self) -> None:
        raise NotImplementedError("the index that serves is not removed; Stores.drop_index removes one beside it")

    def close(self) -> None:
        self.serving.close()
