"""What a reader holds: one commit of the index, with its vectors in memory, words and vectors of the same commit.

The commit is the only truth. A reader notices a newer one by the identity of tantivy's `meta.json` (replaced by an
atomic rename), asks it which writes it holds, and loads or drops only those that differ.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import tantivy
from tantivy import Query

from foundation.adapters.embedded.search_documents import SCHEMA, from_document, register, require_dimension, rows_of
from foundation.types import SearchFilter, Vector


class Access(NamedTuple):
    """What the filter looks at; the chunks of a version share one."""

    acl: frozenset[str]
    document_ids: frozenset[str]
    document_type: str | None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Arrays are of length n, one entry a slot; a slot whose write is gone is not alive."""

    searcher: tantivy.Searcher
    units: npt.NDArray[np.float32]
    """Shape (n, dimension), each of length 1, so that a dot product is the cosine."""
    rows: npt.NDArray[np.uint64]
    access_of: npt.NDArray[np.int32]
    alive: npt.NDArray[np.bool_]
    access: list[Access]
    blocks: Mapping[str, tuple[int, int]]
    """By write: its first slot and its number of chunks."""

    def nearest(self, vector: Vector, narrow: SearchFilter, limit: int) -> dict[int, float]:
        """Row to cosine of the `limit` nearest chunks within the filter; exact."""
        slots = np.flatnonzero(_passing(self.access, narrow)[self.access_of] & self.alive)
        if not len(slots) or not (norm := float(np.linalg.norm(vector))):
            return {}
        # A gather copies, so it pays only where few slots pass. einsum, not BLAS: with its threads and two busy cores
        # a matrix-vector product of this shape took 8 ms against 1.4.
        few = len(slots) * 4 < len(self.units)
        cosines = np.einsum("ij,j->i", self.units[slots] if few else self.units, vector / np.float32(norm))
        cosines = cosines if few else cosines[slots]
        best = np.argpartition(-cosines, limit - 1)[:limit] if limit < len(cosines) else np.arange(len(cosines))
        return dict(zip(self.rows[slots[best]].tolist(), cosines[best].tolist(), strict=True))


def _passing(access: list[Access], narrow: SearchFilter) -> npt.NDArray[np.bool_]:
    # Sets, since isdisjoint walks the smaller of two sets, but the whole of a tuple.
    grants, document_ids = frozenset(narrow.grants), frozenset(narrow.document_ids or ())
    every_document, every_type = narrow.document_ids is None, narrow.document_type is None
    passing = (
        not one.acl.isdisjoint(grants)
        and (every_document or not one.document_ids.isdisjoint(document_ids))
        and (every_type or one.document_type == narrow.document_type)
        for one in access
    )
    return np.fromiter(passing, np.bool_, len(access))


class SnapshotReader:
    """Keeps the newest snapshot of the index in `folder`; threads may share it."""

    def __init__(self, folder: Path, dimension: int) -> None:
        self._folder = folder
        self._dimension = dimension
        self._lock = threading.Lock()
        self._index: tantivy.Index | None = None
        self._seen: tuple[int, int, int] | None = None
        self._searcher: tantivy.Searcher | None = None
        self._current: Snapshot | None = None
        self._interned: dict[Access, int] = {}
        self._reserve(0)

    def searcher(self) -> tantivy.Searcher | None:
        """Of the newest commit, without its vectors; None while there is no index yet."""
        with self._lock:
            return self._newest()

    def current(self) -> Snapshot | None:
        """The newest commit with its vectors; None while there is no index yet."""
        with self._lock:
            searcher = self._newest()
            if searcher is None:
                return None
            if self._current is None or self._current.searcher is not searcher:
                try:
                    self._current = self._load(searcher)
                except BaseException:
                    self._reset()  # half loaded: begin anew at the next call
                    raise
            return self._current

    def close(self) -> None:
        """Give the memory back; a later call opens the index again."""
        with self._lock:
            self._reset()

    def _reset(self) -> None:
        self._index = self._seen = self._searcher = self._current = None
        self._interned = {}
        self._reserve(0)

    def _newest(self) -> tantivy.Searcher | None:
        try:
            stat = (self._folder / "meta.json").stat()
        except FileNotFoundError:
            self._reset()
            return None
        identity = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
        if identity != self._seen:
            if self._index is None:
                self._index = register(tantivy.Index.open(str(self._folder)))
                self._index.config_reader("manual")
            self._index.reload()
            self._searcher = self._index.searcher()
            # Taken before the reload: a commit in between only means that the next call reloads.
            self._seen = identity
        return self._searcher

    def _load(self, searcher: tantivy.Searcher) -> Snapshot:
        # With a query the counts leave out what is deleted; without one they would not.
        live = dict(searcher.terms_with_prefix("write", "", Query.all_query()))
        blocks = dict(self._current.blocks) if self._current else {}
        for write in blocks.keys() - live.keys():
            del blocks[write]
        added = live.keys() - blocks.keys()
        needed = sum(live[write] for write in added)
        if self._filled + needed > len(self._units):
            blocks = self._move(blocks, needed)
        for write in sorted(added):
            blocks[write] = (self._filled, live[write])
            self._append(searcher, write, live[write])
        alive = np.zeros(self._filled, np.bool_)
        for start, count in blocks.values():
            alive[start : start + count] = True
        n = self._filled
        return Snapshot(searcher, self._units[:n], self._rows[:n], self._access_of[:n], alive, self._access, blocks)

    def _reserve(self, capacity: int) -> None:
        self._filled = 0
        self._units = np.zeros((capacity, self._dimension), np.float32)
        self._rows = np.zeros(capacity, np.uint64)
        self._access_of = np.zeros(capacity, np.int32)
        self._access: list[Access] = []

    def _move(self, blocks: Mapping[str, tuple[int, int]], needed: int) -> dict[str, tuple[int, int]]:
        """Copy what lives into larger arrays. Earlier snapshots keep the old ones, which nobody writes to again."""
        units, rows, access_of, access = self._units, self._rows, self._access_of, self._access
        total = needed + sum(count for _, count in blocks.values())
        self._interned = {}
        self._reserve(total + total // 4 + 256)
        moved = {}
        for write, (start, count) in blocks.items():
            old, new = slice(start, start + count), slice(self._filled, self._filled + count)
            self._units[new], self._rows[new] = units[old], rows[old]
            self._access_of[new] = [self._intern(access[i]) for i in access_of[old].tolist()]
            moved[write] = (self._filled, count)
            self._filled += count
        return moved

    def _append(self, searcher: tantivy.Searcher, write: str, count: int) -> None:
        """Fill the next slots; snapshots taken before end ahead of them."""
        found = searcher.search(Query.term_query(SCHEMA, "write", write), limit=count, count=False)
        addresses = [address for _, address in found.hits]
        rows = rows_of(searcher, addresses)
        for slot, (row, address) in enumerate(zip(rows, addresses, strict=True), self._filled):
            indexed = from_document(searcher.doc(address))
            require_dimension(indexed.vector, self._dimension, self._folder)
            norm = np.linalg.norm(indexed.vector)
            self._units[slot] = indexed.vector / norm if norm else indexed.vector
            self._rows[slot] = row
            self._access_of[slot] = self._intern(
                Access(frozenset(indexed.acl), frozenset(indexed.document_ids), indexed.document_type)
            )
        self._filled += count

    def _intern(self, access: Access) -> int:
        if access not in self._interned:
            self._interned[access] = len(self._access)
            self._access.append(access)
        return self._interned[access]
