"""Writing to an OpenSearch index: hidden until all of it can be read, then shown by one change of the manifest."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from foundation.adapters.aws import search_layout as layout
from foundation.adapters.aws.search_bulk import send
from foundation.adapters.aws.search_client import WRITE_TRIES, AlreadyThere, IndexRequests
from foundation.adapters.aws.search_manifest import Manifest, ManifestStore, runs, written_as
from foundation.errors import AsklineError, Conflict, Unavailable
from foundation.types import IndexedChunk

_TOGETHER = 1000
"""Ids of one request; OpenSearch takes 65,536 terms."""
_DELETIONS = 20
_LONG = {"request_timeout": 3600.0}
"""Seconds that a deletion by query or a merge may take."""


class Overtaken(Conflict):
    """Another writer has replaced the version in the meantime."""


class Writes:
    """What changes an index. Several writers may do so at once; of two that write the same version the later stays."""

    def __init__(self, requests: IndexRequests, manifest: ManifestStore) -> None:
        self._requests, self._manifest = requests, manifest

    def make(self, body: Mapping[str, Any]) -> None:
        """The index, unless another writer was faster."""
        create = self._requests.client.indices.create
        with contextlib.suppress(AlreadyThere):
            self._requests.ask("creation", create, body, tries=WRITE_TRIES)

    def replace(self, versions: Mapping[str, Sequence[IndexedChunk]], expected: set[int] | None = None) -> None:
        """All versions at once. `expected`: the write numbers that they have until then; else Overtaken.

        Unavailable leaves what was sent hidden, since a request that nobody answered may still be carried out.
        """
        before, _ = self._manifest.change(lambda manifest: manifest.begin(len(versions)))
        sizes = {number: len(chunks) for number, chunks in enumerate(versions.values(), before.next)}
        taken = (before.next, before.next + len(versions) - 1)
        numbered = zip(sizes, versions.values(), strict=True)
        items = (
            layout.to_lines(self._requests.physical, indexed, number)
            for number, chunks in numbered
            for indexed in chunks
        )
        try:
            send(self._requests.client, self._requests.physical, items)
            self._confirm(taken, sizes)
            replaced = self._show(taken, list(versions), sizes, expected)
        except AsklineError as error:
            if not error.transient:
                self.drop([taken])
            raise
        if gone := [*runs(replaced), *before.abandoned()]:
            self.drop(gone)

    def delete_versions(self, version_ids: Sequence[str]) -> int:
        """Chunks that readers saw of them until now."""
        return sum(self._delete_together(ids) for ids in batches(list(dict.fromkeys(version_ids))))

    def drop(self, intervals: Sequence[tuple[int, int]]) -> None:
        """Delete what is hidden under these numbers, and then forget them."""
        self._delete({"bool": {"should": written_as(intervals)}})
        self._manifest.change(lambda manifest: manifest.without(intervals))

    def expunge(self, settle_s: float) -> None:
        """Take what was deleted from the disk. OpenSearch keeps it for copies of a shard for half a minute."""
        indices, deadline = self._requests.client.indices, time.monotonic() + settle_s
        while True:
            self._requests.do("flush", indices.flush, params={"force": "true", "wait_if_ongoing": "true", **_LONG})
            self._requests.do("merge", indices.forcemerge, params={"only_expunge_deletes": "true", **_LONG})
            self._requests.do("refresh", indices.refresh)
            left = self._requests.do("statistics", indices.stats)["_all"]["total"]["docs"]["deleted"]
            if not left or time.monotonic() > deadline:
                return
            time.sleep(1)

    def _show(
        self, taken: tuple[int, int], version_ids: Sequence[str], sizes: Mapping[int, int], expected: set[int] | None
    ) -> set[int]:
        """The numbers that these replace, hidden now."""
        replaced: set[int] = set()

        def show(manifest: Manifest) -> Manifest:
            if not manifest.hides(*taken):
                return manifest
            replaced.clear()
            for ids in batches(version_ids):
                replaced.update(self._numbers(manifest, ids))
            if expected is not None and replaced != expected:
                raise Overtaken(f"{', '.join(version_ids)}: written by another while this was written.")
            return manifest.without([taken]).hide(replaced)

        before, after = self._manifest.change(show)
        if before == after:  # an earlier try arrived, but its answer was lost; or all was dropped as abandoned
            self._confirm(taken, sizes)
        return replaced

    def _confirm(self, taken: tuple[int, int], sizes: Mapping[int, int]) -> None:
        """Unavailable unless every chunk of these writes can be read."""
        self._requests.do("refresh", self._requests.client.indices.refresh)
        found = self._by_number(written_as([taken]), len(sizes))
        missing = {number: size for number, size in sizes.items() if found.get(number, 0) != size}
        if missing:
            readable = sum(found.get(number, 0) for number in missing)
            raise Unavailable(
                f"{self._requests.physical}: {readable} of {sum(missing.values())} chunks can be read back.",
                fix="Nothing of this write is seen; its retry writes all of it again.",
            )

    def _numbers(self, manifest: Manifest, version_ids: Sequence[str]) -> dict[int, int]:
        """Chunks by number, of what readers see of these versions: one number a version."""
        return self._by_number([*manifest.visible(), {"terms": {"version_id": list(version_ids)}}], len(version_ids))

    def _by_number(self, clauses: Iterable[dict[str, Any]], most: int) -> dict[int, int]:
        body = {
            "query": {"bool": {"filter": list(clauses)}},
            "size": 0,
            "aggs": {"writes": {"terms": {"field": "write", "size": most}}},
        }
        answer = self._requests.ask("numbers", self._requests.client.search, body, tries=WRITE_TRIES)
        return {bucket["key"]: bucket["doc_count"] for bucket in answer["aggregations"]["writes"]["buckets"]}

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

    def _delete(self, query: Mapping[str, Any]) -> None:
        """Every chunk that meets it, seen by readers or not; gone for each search that begins after this."""
        client, how = self._requests.client, {"refresh": "true", "conflicts": "proceed", **_LONG}
        for _ in range(_DELETIONS):
            self._requests.do("refresh", client.indices.refresh)
            done = self._requests.do("deletion", client.delete_by_query, body={"query": query}, params=dict(how))
            if not done["failures"] and not done["version_conflicts"]:
                return
        raise Unavailable(f"{self._requests.physical}: not all chunks could be deleted: {done['failures'][:1]}")


def batches(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    return (ids[start : start + _TOGETHER] for start in range(0, len(ids), _TOGETHER))
