"""Vectors that a run has computed in the background since its chunks were cut, for the stage that keeps them.

The model works outside of Python's lock, so that the graph, which is Python, is extracted meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from foundation.ports.embeddings import Embedder
from foundation.types import Chunk
from pipelines.vectors import Embedded, embed

MOST_CHUNKS = 5000
"""So many wait with their text, about 10 MB; of more, the stage that keeps vectors takes care itself."""


class EmbedAhead:
    """What one run has under way. `clear` it at the run's end: nobody takes the rest."""

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None
        self._groups: dict[str, tuple[Future[list[Embedded]], int]] = {}
        self._chunks = 0

    def start(self, embedder: Embedder, cut: Sequence[Sequence[Chunk]]) -> None:
        """Begin with the chunks of these versions, all of one version together; returns at once."""
        count = sum(map(len, cut))
        if self._chunks + count > MOST_CHUNKS:
            return
        self._chunks += count
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, thread_name_prefix="embed-ahead")
        group = self._pool.submit(embed, embedder, cut)
        for place, chunks in enumerate(cut):
            self._groups[_key(chunks)] = (group, place)

    def take(self, chunks: Sequence[Chunk]) -> Embedded | None:
        """The vectors of a version with exactly these chunks, once. None where nobody began with them or it failed:
        whoever does it anew finds out why."""
        begun = self._groups.pop(_key(chunks), None)
        if begun is None:
            return None
        self._chunks -= len(chunks)
        group, place = begun
        return None if group.exception() is not None else group.result()[place]

    def clear(self) -> None:
        """Let go of what was not taken; what has not begun never does."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
        self._pool = None
        self._groups.clear()
        self._chunks = 0


def _key(chunks: Sequence[Chunk]) -> str:
    """A chunk's id says its version, parser and chunker; the last one's also how many there are."""
    return chunks[-1].chunk_id
