"""The search index in OpenSearch: k-NN and BM25 by its hybrid query, whole versions by a manifest (search_manifest)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from opensearchpy import OpenSearch, exceptions

from foundation.adapters.aws import search_layout as layout
from foundation.adapters.aws.search_client import WRITE_TRIES, IndexRequests
from foundation.adapters.aws.search_manifest import Manifest, ManifestStore, parsed
from foundation.adapters.aws.search_query import NAMED_SCORES, Scored, hybrid_body, scored, words_query
from foundation.adapters.aws.search_writes import Overtaken, Writes, batches
from foundation.errors import InvalidInput, Unavailable
from foundation.settings import OpenSearchSettings
from foundation.types import Hit, IndexedChunk, SearchFilter, Vector

Found = TypeVar("Found")

_LOOKS = 20
_PAGE = 500
_SHOWN = {"_source_excludes": "packed,acl,document_ids"}


class OpenSearchIndex:
    """foundation.ports.search.SearchIndex in one OpenSearch index. Opening writes nothing. Threads may share it.

    settle_s: how long `optimize` waits until OpenSearch lets go of what was deleted.
    """

    def __init__(
        self,
        client: OpenSearch,
        index_name: str,
        dimension: int,
        chosen: OpenSearchSettings,
        *,
        settle_s: float = 60.0,
    ) -> None:
        self.index_name = index_name
        self.dimension = dimension
        self.physical = layout.physical_name(chosen.index_prefix, index_name)
        self._client, self._chosen, self._settle_s = client, chosen, settle_s
        self._requests = IndexRequests(client, self.physical)
        self._manifest = ManifestStore(client, self.physical)
        self._writes = Writes(self._requests, self._manifest)
        self._is_own = False
        self._seen: Manifest | None = None

    def write_version(self, version_id: str, chunks: Sequence[IndexedChunk]) -> None:
        self.write_versions({version_id: chunks})

    def write_versions(self, versions: Mapping[str, Sequence[IndexedChunk]]) -> None:
        for version_id, chunks in versions.items():
            for indexed in chunks:
                if indexed.chunk.version_id != version_id:
                    raise InvalidInput(f"chunk {indexed.chunk.chunk_id} is of another version than {version_id}")
                self._check(indexed.vector, f"vector of chunk {indexed.chunk.chunk_id}")
                if not indexed.vector.any():
                    raise InvalidInput(
                        f"vector of chunk {indexed.chunk.chunk_id}: all zeros, which has no cosine",
                        fix="Embed the chunk again; a text without any token gives such a vector.",
                    )
        if not versions:
            return
        if self._look() is None:
            self._writes.make(layout.index_body(self.index_name, self.dimension, self._chosen))
            self._require_own()
            self._manifest.create()
        self._writes.replace(versions)

    def delete_versions(self, version_ids: Sequence[str]) -> int:
        return self._writes.delete_versions(version_ids) if self._look() is not None else 0

    def update_access(
        self, version_id: str, acl: Sequence[str], document_ids: Sequence[str], document_type: str | None
    ) -> None:
        """Unknown versions are no error. The version is written anew, since an update in place would be seen half."""
        wanted = (set(acl), set(document_ids), document_type)
        for _ in range(_LOOKS):
            held, numbers = self._held(version_id)
            if all(_access(one) == wanted for one in held):
                return
            changed = [
                replace(one, acl=tuple(acl), document_ids=tuple(document_ids), document_type=document_type)
                for one in held
            ]
            try:
                return self._writes.replace({version_id: changed}, numbers)
            except Overtaken:
                continue
        raise Unavailable(f"{version_id} was written again and again while its access was to change.")

    def count(self, version_id: str | None = None) -> int:
        narrow = [] if version_id is None else [{"term": {"version_id": version_id}}]

        def ask(manifest: Manifest) -> tuple[int, Manifest | None]:
            answer = self._requests.ask("count", self._client.count, _filtered(manifest, narrow))
            return int(answer["count"]), self._manifest.read()

        return self._consistently(ask, 0)

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
        """`scores` has the cosine of a hit among the nearest, and the BM25 score of one that has any of the words."""
        if vector is not None:
            self._check(vector, "query vector")
            vector = vector if vector.any() else None
        words = words_query(text)
        if not filter.grants or k < 1 or candidates < 1 or (words is None and vector is None):
            return []

        def ask(manifest: Manifest) -> tuple[list[Hit] | None, Manifest | None]:
            body = hybrid_body(words, vector, manifest.visible(), filter, candidates, dense_weight)
            best = scored(self._requests.ask("search", self._client.search, body, NAMED_SCORES))[:k]
            wanted = {"ids": [layout.MANIFEST_ID, *(one.id for one in best)]}
            last, *found = self._requests.ask("hits", self._client.mget, wanted, _SHOWN)["docs"]
            # One that has gone meanwhile was of a version that was replaced or deleted: look again.
            whole = all(one.get("found") for one in found)
            return ([_hit(*pair) for pair in zip(found, best, strict=True)] if whole else None), parsed(last)

        return self._consistently(ask, [])

    def vectors(self, chunk_ids: Sequence[str]) -> dict[str, Vector]:
        """As they were written, float32 of shape (dimension,); ids that the index does not hold are left out."""

        def ask(manifest: Manifest) -> tuple[dict[str, Vector], Manifest | None]:
            found: dict[str, Vector] = {}
            for ids in batches(list(dict.fromkeys(chunk_ids))):
                body = {
                    **_filtered(manifest, [{"terms": {"chunk_id": list(ids)}}]),
                    "size": len(ids),
                    "_source": ["chunk_id", "packed"],
                }
                for hit in self._requests.ask("vectors", self._client.search, body)["hits"]["hits"]:
                    found[hit["_source"]["chunk_id"]] = layout.vector_of(hit["_source"])
            return found, self._manifest.read()

        return self._consistently(ask, {}) if chunk_ids else {}

    def optimize(self) -> None:
        """What was deleted goes from the disk, also what writers that died had sent more than a day ago."""
        manifest = self._look()
        if manifest is None:
            return
        if late := manifest.abandoned():
            self._writes.drop(late)
        self._writes.expunge(self._settle_s)

    def remove(self) -> None:
        try:
            self._requests.do("removal", self._client.indices.delete)
        except exceptions.NotFoundError:
            return

    def close(self) -> None:
        self._client.close()

    def _held(self, version_id: str) -> tuple[list[IndexedChunk], set[int]]:
        """The chunks of a version that readers see, in any order, and their write numbers."""

        def ask(manifest: Manifest) -> tuple[tuple[list[IndexedChunk], set[int]], Manifest | None]:
            held: list[IndexedChunk] = []
            numbers: set[int] = set()
            body: dict[str, Any] = {
                **_filtered(manifest, [{"term": {"version_id": version_id}}]),
                "size": _PAGE,
                "sort": [{"chunk_id": "asc"}],
            }
            while hits := self._requests.ask("chunks", self._client.search, body, tries=WRITE_TRIES)["hits"]["hits"]:
                held += [layout.from_source(hit["_source"]) for hit in hits]
                numbers |= {hit["_source"]["write"] for hit in hits}
                body["search_after"] = hits[-1]["sort"]
            return (held, numbers), self._manifest.read()

        nothing: tuple[list[IndexedChunk], set[int]] = ([], set())
        return self._consistently(ask, nothing)

    def _consistently(self, ask: Callable[[Manifest], tuple[Found | None, Manifest | None]], nothing: Found) -> Found:
        """What `ask` finds under a manifest under which nothing was dropped while it looked.

        `ask` returns what it found, None to be asked again, and the manifest as it was afterwards. The first one is
        that of the last call, which mostly still holds: reading it again beforehand would cost each search a request.
        """
        of_last_call = self._seen
        manifest = of_last_call or self._look()
        for _ in range(_LOOKS):
            if manifest is None:
                return nothing
            try:
                found, now = ask(manifest)
            except exceptions.NotFoundError:  # removed since
                self._seen = None
                return nothing
            self._seen = now
            if found is not None and now is not None and _holds(manifest, now, manifest is of_last_call):
                return found
            manifest = now
        raise Unavailable(
            f"OpenSearch's index {self.physical} is rewritten faster than it can be read.",
            fix="Try again in a moment; if it stays, let fewer runs write at once.",
        )

    def _look(self) -> Manifest | None:
        manifest = self._manifest.read()
        if manifest is not None and not self._is_own:
            self._require_own()
        return manifest

    def _require_own(self) -> None:
        held = self._requests.do("mapping", self._client.indices.get_mapping)
        layout.require_own(self.physical, held[self.physical]["mappings"], self.index_name, self.dimension)
        self._is_own = True

    def _check(self, vector: Vector, name: str) -> None:
        if vector.shape != (self.dimension,) or not np.isfinite(vector).all():
            raise InvalidInput(
                f"{name}: shape {vector.shape}, needs ({self.dimension},) of finite numbers",
                fix="Embed with the model that the index is named after.",
            )


def _holds(manifest: Manifest, now: Manifest, of_last_call: bool) -> bool:
    """Whether what was found under `manifest` is whole, and, where that is of an earlier call, as new as it can be."""
    return now.shows_as(manifest) if of_last_call else now.drops == manifest.drops


def _filtered(manifest: Manifest, clauses: Iterable[dict[str, Any]]) -> dict[str, Any]:
    return {"query": {"bool": {"filter": [*manifest.visible(), *clauses]}}}


def _access(indexed: IndexedChunk) -> tuple[set[str], set[str], str | None]:
    return set(indexed.acl), set(indexed.document_ids), indexed.document_type


def _hit(document: Mapping[str, Any], one: Scored) -> Hit:
    source = document["_source"]
    return Hit(
        chunk_id=source["chunk_id"],
        version_id=source["version_id"],
        start=source["start"],
        end=source["end"],
        text=source["text"],
        score=one.score,
        scores=one.scores,
        page=source["page"],
        section=source["section"],
    )
