"""Which writes of an index its readers see. OpenSearch has no transactions; one document, changed in one step, makes up
for it.

Every version that is written gets a number, and its chunks carry it. The manifest says which number comes next and
which numbers are hidden. A reader reads it first and asks for chunks below `next` that are not hidden: what began to be
written later is not among them. A writer takes its numbers hidden, writes, makes sure that all can be read, and then
shows its numbers and hides those that they replace in one change. Hidden chunks are deleted afterwards; `drops` counts
such deletions, so that a reader whose manifest is older than one asks again. A writer that dies leaves its numbers
hidden.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from opensearchpy import OpenSearch, exceptions

from foundation.adapters.aws.search_client import READ_TRIES, WRITE_TRIES, patiently
from foundation.adapters.aws.search_layout import MANIFEST_ID
from foundation.errors import Unavailable

ABANDONED_S = 86_400.0
_TURNS, _TURN_S = 200, 0.1


class Numbers(NamedTuple):
    """Write numbers from `first` to `last`, both included, hidden at `since` (seconds of the epoch)."""

    first: int
    last: int
    since: float


@dataclass(frozen=True, slots=True)
class Manifest:
    next: int = 1
    drops: int = 0
    hidden: tuple[Numbers, ...] = ()

    def begin(self, count: int) -> Manifest:
        """The next `count` numbers are taken and hidden: `self.next` is the first of them."""
        taken = Numbers(self.next, self.next + count - 1, time.time())
        return replace(self, next=self.next + count, hidden=(*self.hidden, taken))

    def hide(self, numbers: Iterable[int]) -> Manifest:
        """These are about to be deleted."""
        since = time.time()
        hidden = (*self.hidden, *(Numbers(first, last, since) for first, last in runs(numbers)))
        return replace(self, drops=self.drops + 1, hidden=hidden) if hidden != self.hidden else self

    def without(self, gone: Iterable[tuple[int, int]]) -> Manifest:
        """These intervals, by first and last, are not hidden any more: they are shown, or deleted."""
        left = set(gone)
        return replace(self, hidden=tuple(one for one in self.hidden if (one.first, one.last) not in left))

    def hides(self, first: int, last: int) -> bool:
        return any((one.first, one.last) == (first, last) for one in self.hidden)

    def shows_as(self, earlier: Manifest) -> bool:
        """Whether readers of both see the same: nothing was shown or dropped since, at most begun."""
        now, before = ({(one.first, one.last) for one in of.hidden} for of in (self, earlier))
        begun = sum(last - first + 1 for first, last in now - before)
        return self.drops == earlier.drops and before <= now and self.next - earlier.next == begun

    def abandoned(self) -> list[tuple[int, int]]:
        """Intervals whose writer has died: no request of it can still be under way."""
        return [(one.first, one.last) for one in self.hidden if one.since < time.time() - ABANDONED_S]

    def visible(self) -> list[dict[str, Any]]:
        """Clauses of a filter: what a reader of this manifest sees."""
        unseen = written_as((one.first, one.last) for one in self.hidden)
        clauses: list[dict[str, Any]] = [{"range": {"write": {"lt": self.next}}}]
        return [*clauses, {"bool": {"must_not": unseen}}] if unseen else clauses


def written_as(intervals: Iterable[tuple[int, int]]) -> list[dict[str, Any]]:
    """Clauses of which each chunk with one of these numbers meets one."""
    intervals = list(intervals)
    singles = [first for first, last in intervals if first == last]
    ranges: list[dict[str, Any]] = [
        {"range": {"write": {"gte": first, "lte": last}}} for first, last in intervals if first != last
    ]
    return [*ranges, {"terms": {"write": singles}}] if singles else ranges


def runs(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """The same numbers as intervals, by first and last."""
    found: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if found and found[-1][1] == number - 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found


def parsed(document: Mapping[str, Any]) -> Manifest | None:
    """Of the answer of a get; None when there is no such document."""
    if not document.get("found"):
        return None
    held = document["_source"][MANIFEST_ID]
    return Manifest(held["next"], held["drops"], tuple(Numbers(*one) for one in held["hidden"]))


class ManifestStore:
    """The manifest of one index, in a document of that index itself."""

    def __init__(self, client: OpenSearch, physical: str) -> None:
        self._client, self._physical = client, physical

    def read(self) -> Manifest | None:
        """As it is now (OpenSearch's get is in real time); None when there is no such index."""
        found = self._get(READ_TRIES)
        return parsed(found) if found is not None else None

    def create(self) -> None:
        """In an index without one; another writer may have come first."""
        try:
            self._put(Manifest(), {"op_type": "create"})
        except exceptions.ConflictError:
            return

    def change(self, change: Callable[[Manifest], Manifest]) -> tuple[Manifest, Manifest]:
        """(before, after). `change` runs again when another writer came between; it may return what it got."""
        for _ in range(_TURNS):
            found = self._get(WRITE_TRIES)
            before = parsed(found) if found is not None else None
            if found is None or before is None:
                raise Unavailable(
                    f"OpenSearch's index {self._physical} has gone while it was written.",
                    fix="Nothing was lost but this write, which its retry makes again.",
                )
            after = change(before)
            if after == before:
                return before, after
            try:
                self._put(after, {"if_seq_no": found["_seq_no"], "if_primary_term": found["_primary_term"]})
            except exceptions.ConflictError:
                time.sleep(random.uniform(0, _TURN_S))
                continue
            return before, after
        raise Unavailable(
            f"Other writers came first {_TURNS} times in a row at the manifest of {self._physical}.",
            fix="Let fewer runs write at once.",
        )

    def _get(self, tries: int) -> dict[str, Any] | None:
        try:
            found: dict[str, Any] = patiently(
                f"manifest of {self._physical}",
                lambda: self._client.get(index=self._physical, id=MANIFEST_ID),
                tries,
            )
        except exceptions.NotFoundError:
            return None
        return found

    def _put(self, manifest: Manifest, conditions: Mapping[str, Any]) -> None:
        held = {"next": manifest.next, "drops": manifest.drops, "hidden": manifest.hidden}
        patiently(
            f"manifest of {self._physical}",
            lambda: self._client.index(
                index=self._physical, id=MANIFEST_ID, body={MANIFEST_ID: held}, params=dict(conditions)
            ),
            WRITE_TRIES,
        )
