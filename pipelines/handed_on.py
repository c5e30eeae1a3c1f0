"""What a stage of a run has made, kept in memory for its later stages, which need not read it from the derived store.

On a bucket a reading of a small file takes longer than the work on it. The search index takes nothing from here: it
reads chunks and vectors from the store, so that what answers is what is kept.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

MOST_CHUNKS = 5000
"""So much of each kind is held at once, about 30 MB in all; what is beyond is read from the store."""


class HandedOn:
    """What one run holds. `clear` it at the run's end: nobody takes the rest."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, str], tuple[Any, int]] = {}
        self._chunks: Counter[str] = Counter()

    def keep(self, what: str, version_id: str, made: Any, chunks: int) -> None:
        """`made` for the later stages; `chunks` is of how many it is made, and says how large it is."""
        self.take(what, version_id)
        if self._chunks[what] + chunks <= MOST_CHUNKS:
            self._held[what, version_id] = made, chunks
            self._chunks[what] += chunks

    def look(self, what: str, version_id: str) -> Any:
        """What was kept, which a later stage needs as well, or None."""
        return self._held.get((what, version_id), (None, 0))[0]

    def take(self, what: str, version_id: str) -> Any:
        """What was kept, or None; it is gone then."""
        made, chunks = self._held.pop((what, version_id), (None, 0))
        self._chunks[what] -= chunks
        return made

    def clear(self) -> None:
        self._held.clear()
        self._chunks.clear()
