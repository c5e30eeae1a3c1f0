"""The search index in OpenSearch: k-NN and BM25 by its hybrid query, whole versions by a manifest (search_manifest)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from opensearchpy import OpenSearch, exceptions

from foundation.adapters.aws import search_layout as layout
from foundation.adapters.aws.search_bulk import send
from foundation.adapters.aws.search_client import LONG_S, READ_TRIES, WRITE_TRIES, patiently
from foundation.adapters.aws.search_manifest import Manifest, ManifestStore, parsed, runs, written_as
from foundation.adapters.aws.search_query import NAMED_SCORES, Scored, hybrid_body, scored, words_query
from foundation.errors import AsklineError, Conflict, InvalidInput, Unavailable
from foundation.settings import OpenSearchSettings
from foundation.types import Hit, IndexedChunk, SearchFilter, Vector

Found = TypeVar("Found")

_LOOKS = 20
_TOGETHER = 1000
"""Ids of one request; OpenSearch takes 65,536 terms."""
_PAGE = 500
_ABANDONED_S = 86_400.0
"""Numbers hidden for so long are of a writer that has died: no request of it can still be under way."""


class OpenSearchIndex:
    """foundation.ports.search.SearchIndex in one OpenSearch index. Opening writes nothing. Threads may share it.

    What a write has sent is hidden until all of it can be read; then one change of the manifest shows it and hides what
    it replaces. Several writers may write at once; of two that write the same version the later one stays.
    """

    def __init__(self, client: OpenSearch, index_name: str, dimension: int, chosen: OpenSearchSettings) -> None:
        self.index_name = index_name
        self.dimension = dimension
        self.physical = layout.physical_name(chosen.index_prefix, index_name)
        self._client, self._chosen = client, chosen
        self._manifest = ManifestStore(client, self.physical)
        self._is_own = False

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
        if versions:
            self._make()
            self._write(versions)

    def delete_versions(self, version_ids: Sequence[str]) -> int:
        if self._look() is None:
            return 0
        return sum(self._delete_together(ids) for ids in _batches(list(dict.fromkeys(version_ids))))

    def update_access(
        self, version_id: str, acl: Sequence[str], document_ids: Sequence[str], document_type: str | None
    ) -> None:
        """Unknown versions are no error. The version is written anew, since an update in place would be seen half."""
        access = (tuple(acl), tuple(document_ids), document_type)
        for _ in range(_LOOKS):
            held, numbers = self._held(version_id)
            if all(_access(one) == (set(acl), set(document_ids), document_type) for one in held):
                return
            changed = [replace(one, acl=access[0], document_ids=access[1], document_type=access[2]) for one in held]
            try:
                return self._write({version_id: sorted(changed, key=lambda one: one.chunk.ordinal)}, numbers)
            except _Overtaken:
                continue
        raise Unavailable(f"{version_id} was written again and again while its access was to change.")

    def count(self, version_id: str | None = None) -> int:
        narrow = [] if version_id is None else [{"term": {"version_id": version_id}}]

        def ask(manifest: Manifest) -> tuple[int, Manifest | None]:
            answer = self._read("count", self._client.count, _filtered(manifest, narrow))
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
            best = scored(self._read("search", self._client.search, body, NAMED_SCORES))[:k]
            wanted = {"ids": [layout.MANIFEST_ID, *(one.id for one in best)]}
            last, *found = self._read("hits", self._client.mget, wanted, _WITHOUT_VECTORS)["docs"]
            # One that has gone meanwhile was of a version that was replaced or deleted: look again.
            whole = all(one.get("found") for one in found)
            return ([_hit(*pair) for pair in zip(found, best, strict=True)] if whole else None), parsed(last)

        return self._consistently(ask, [])

    def vectors(self, chunk_ids: Sequence[str]) -> dict[str, Vector]:
        """As they were written, float32 of shape (dimension,); ids that the index does not hold are left out."""

        def ask(manifest: Manifest) -> tuple[dict[str, Vector], Manifest | None]:
            found: dict[str, Vector] = {}
            for together in _batches(list(dict.fromkeys(chunk_ids))):
                body = {
                    **_filtered(manifest, [{"terms": {"chunk_id": together}}]),
                    "size": len(together),
                    "_source": ["chunk_id", "packed"],
                }
                for hit in self._read("vectors", self._client.search, body)["hits"]["hits"]:
                    found[hit["_source"]["chunk_id"]] = layout.vector_of(hit["_source"])
            return found, self._manifest.read()

        return self._consistently(ask, {}) if chunk_ids else {}

    def optimize(self) -> None:
        """What was deleted goes from the disk, also what writers that died had sent more than a day ago."""
        manifest = self._look()
        if manifest is None:
            return
        late = [(n.first, n.last) for n in manifest.hidden if n.since < time.time() - _ABANDONED_S]
        if late:
            self._drop(late)
        self._patiently("flush", lambda: self._client.indices.flush(index=self.physical))
        merge: dict[str, Any] = {"only_expunge_deletes": "true", "request_timeout": LONG_S}
        self._patiently("merge", lambda: self._client.indices.forcemerge(index=self.physical, params=merge))

    def remove(self) -> None:
        try:
            self._patiently("removal", lambda: self._client.indices.delete(index=self.physical))
        except exceptions.NotFoundError:
            return

    def close(self) -> None:
        self._client.close()

    # Writing

    def _delete_together(self, version_ids: Sequence[str]) -> int:
        numbers: dict[int, int] = {}

        def hide(manifest: Manifest) -> Manifest:
            # Those of an earlier try, whose answer was lost, are hidden already and stay in `numbers`.
            numbers.update(self._numbers(manifest, version_ids))
            return manifest.hide(numbers)

        self._manifest.change(hide)
        # Also what a writer that died had sent of them.
        self._delete({"terms": {"version_id": list(version_ids)}})
        self._manifest.change(lambda manifest: manifest.without(runs(numbers)))
        return sum(numbers.values())

    def _write(self, versions: Mapping[str, Sequence[IndexedChunk]], replaces: set[int] | None = None) -> None:
        """`replaces`: the numbers that the versions must have until they are replaced; else _Overtaken."""
        before, _ = self._manifest.change(lambda manifest: manifest.begin(len(versions)))
        sizes = {number: len(chunks) for number, chunks in enumerate(versions.values(), before.next)}
        first, last = before.next, before.next + len(versions) - 1
        try:
            send(
                self._client,
                self.index_name,
                (
                    layout.to_lines(self.physical, indexed, number)
                    for number, chunks in zip(sizes, versions.values(), strict=True)
                    for indexed in chunks
                ),
            )
            self._confirm(first, last, sizes)
            replaced: set[int] = set()

            def show(manifest: Manifest) -> Manifest:
                if not manifest.hides(first, last):
                    return manifest
                replaced.clear()
                for together in _batches(list(versions)):
                    replaced.update(self._numbers(manifest, together))
                if replaces is not None and replaced != replaces:
                    raise _Overtaken(f"{self.index_name}: a version was written while its access was changed")
                return manifest.without([(first, last)]).hide(replaced)

            seen, shown = self._manifest.change(show)
            if (
                seen == shown
            ):  # an earlier try was answered by nobody, but arrived; or it took so long that it was swept
                self._confirm(first, last, sizes)
        except AsklineError as error:
            if not error.transient:  # every request was answered: nothing of it can arrive later
                self._drop([(first, last)])
            raise
        if replaced:
            self._drop(runs(replaced))

    def _confirm(self, first: int, last: int, sizes: Mapping[int, int]) -> None:
        """Unavailable unless every chunk of these writes can be read."""
        self._patiently("refresh", lambda: self._client.indices.refresh(index=self.physical))
        body = {
            "query": {"bool": {"filter": written_as([(first, last)])}},
            "size": 0,
            "aggs": {"writes": {"terms": {"field": "write", "size": len(sizes)}}},
        }
        found = _buckets(self._read("confirmation", self._client.search, body, tries=WRITE_TRIES))
        missing = {number: size for number, size in sizes.items() if found.get(number, 0) != size}
        if missing:
            readable = sum(found.get(number, 0) for number in missing)
            raise Unavailable(
                f"OpenSearch's index {self.physical}: {readable} of {sum(missing.values())} chunks can be read back.",
                fix="Nothing of this write is seen; its retry writes all of it again.",
            )

    def _numbers(self, manifest: Manifest, version_ids: Sequence[str]) -> dict[int, int]:
        """Chunks by number, of what readers see of these versions: one number a version."""
        body = {
            **_filtered(manifest, [{"terms": {"version_id": list(version_ids)}}]),
            "size": 0,
            "aggs": {"writes": {"terms": {"field": "write", "size": len(version_ids)}}},
        }
        return _buckets(self._read("versions", self._client.search, body, tries=WRITE_TRIES))

    def _held(self, version_id: str) -> tuple[list[IndexedChunk], set[int]]:
        def ask(manifest: Manifest) -> tuple[tuple[list[IndexedChunk], set[int]], Manifest | None]:
            held: list[IndexedChunk] = []
            numbers: set[int] = set()
            body: dict[str, Any] = {
                **_filtered(manifest, [{"term": {"version_id": version_id}}]),
                "size": _PAGE,
                "sort": [{"chunk_id": "asc"}],
            }
            while hits := self._read("chunks", self._client.search, body, tries=WRITE_TRIES)["hits"]["hits"]:
                held += [layout.from_source(hit["_source"]) for hit in hits]
                numbers |= {hit["_source"]["write"] for hit in hits}
                body["search_after"] = hits[-1]["sort"]
            return (held, numbers), self._manifest.read()

        nothing: tuple[list[IndexedChunk], set[int]] = ([], set())
        return self._consistently(ask, nothing)

    def _drop(self, intervals: Sequence[tuple[int, int]]) -> None:
        """Delete what is hidden under these numbers, and then forget them."""
        self._delete({"bool": {"should": written_as(intervals)}})
        self._manifest.change(lambda manifest: manifest.without(intervals))

    def _delete(self, query: dict[str, Any]) -> None:
        """Every chunk that meets it, seen by readers or not; gone for each search that begins after this."""
        how: dict[str, Any] = {"refresh": "true", "conflicts": "proceed", "request_timeout": LONG_S}

        def once() -> dict[str, Any]:
            self._client.indices.refresh(index=self.physical)
            answer: dict[str, Any] = self._client.delete_by_query(
                index=self.physical, body={"query": query}, params=how
            )
            return answer

        for _ in range(_LOOKS):
            done = self._patiently("deletion", once)
            if not done["failures"] and not done["version_conflicts"]:
                return
        raise Unavailable(
            f"OpenSearch's index {self.physical}: not all chunks could be deleted: {done['failures'][:1]}"
        )

    def _make(self) -> None:
        """The index with its manifest, where there is none yet."""
        if self._look() is not None:
            return
        body = layout.index_body(self.index_name, self.dimension, self._chosen)
        self._patiently(
            "creation",
            # 400: another writer was faster; _look tells whether it is ours
            lambda: self._client.indices.create(index=self.physical, body=body, params={"ignore": 400}),
        )
        self._require_own()
        self._manifest.create()

    # Reading

    def _look(self) -> Manifest | None:
        manifest = self._manifest.read()
        if manifest is not None and not self._is_own:
            self._require_own()
        return manifest

    def _require_own(self) -> None:
        held = self._patiently("mapping", lambda: self._client.indices.get_mapping(index=self.physical))
        layout.require_own(self.physical, held[self.physical]["mappings"], self.index_name, self.dimension)
        self._is_own = True

    def _consistently(self, ask: Callable[[Manifest], tuple[Found | None, Manifest | None]], nothing: Found) -> Found:
        """What `ask` finds under a manifest under which nothing was dropped while it looked.

        `ask` returns what it found, None to be asked again, and the manifest as it was afterwards.
        """
        manifest = self._look()
        for _ in range(_LOOKS):
            if manifest is None:
                return nothing
            found, now = ask(manifest)
            if found is not None and now is not None and now.drops == manifest.drops:
                return found
            manifest = now
        raise Unavailable(
            f"OpenSearch's index {self.physical} is rewritten faster than it can be read.",
            fix="Try again in a moment; if it stays, let fewer runs write at once.",
        )

    def _read(
        self,
        what: str,
        request: Callable[..., Any],
        body: Mapping[str, Any],
        params: Mapping[str, str] | None = None,
        tries: int = READ_TRIES,
    ) -> dict[str, Any]:
        answer: dict[str, Any] = patiently(
            f"{what} in {self.index_name}",
            lambda: request(index=self.physical, body=body, params=dict(params or {})),
            tries,
        )
        return answer

    def _patiently(self, what: str, request: Callable[[], Any]) -> Any:
        return patiently(f"{what} of {self.index_name}", request, WRITE_TRIES)

    def _check(self, vector: Vector, name: str) -> None:
        if vector.shape != (self.dimension,) or not np.isfinite(vector).all():
            raise InvalidInput(
                f"{name}: shape {vector.shape}, needs ({self.dimension},) of finite numbers",
                fix="Embed with the model that the index is named after.",
            )


class _Overtaken(Conflict):
    """Another writer has replaced the version in the meantime."""


_WITHOUT_VECTORS = {"_source_excludes": "packed,acl,document_ids"}


def _filtered(manifest: Manifest, clauses: Iterable[dict[str, Any]]) -> dict[str, Any]:
    return {"query": {"bool": {"filter": [*manifest.visible(), *clauses]}}}


def _buckets(answer: Mapping[str, Any]) -> dict[int, int]:
    return {bucket["key"]: bucket["doc_count"] for bucket in answer["aggregations"]["writes"]["buckets"]}


def _batches(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    return (ids[start : start + _TOGETHER] for start in range(0, len(ids), _TOGETHER))


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
