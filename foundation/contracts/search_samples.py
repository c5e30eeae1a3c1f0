"""Chunks that the search contract writes, and what its writer processes do (at module level: they are spawned)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection

import numpy as np

from foundation.ports.search import SearchIndex
from foundation.types import Chunk, IndexedChunk, SearchFilter, Vector

DIMENSION = 16
PUBLIC = SearchFilter(grants=("public",))
Factory = Callable[[], SearchIndex]


def direction(degrees: float) -> Vector:
    """A unit vector at this angle from direction(0)."""
    vector = np.zeros(DIMENSION, np.float32)
    vector[:2] = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return vector


def make_chunk(
    version_id: str,
    ordinal: int,
    text: str,
    *,
    vector: Vector | None = None,
    acl: tuple[str, ...] = ("public",),
    document_ids: tuple[str, ...] = ("d1",),
    document_type: str | None = None,
    start: int = 0,
    page: int | None = None,
    section: str | None = None,
) -> IndexedChunk:
    chunk = Chunk(f"chk_{version_id}_{ordinal}", version_id, ordinal, start, start + len(text), text, 9, page, section)
    return IndexedChunk(chunk, direction(30) if vector is None else vector, acl, document_ids, document_type)


def make_version(
    version_id: str,
    texts: Sequence[str],
    *,
    acl: tuple[str, ...] = ("public",),
    document_ids: tuple[str, ...] = ("d1",),
    document_type: str | None = None,
) -> list[IndexedChunk]:
    return [
        make_chunk(version_id, i, text, acl=acl, document_ids=document_ids, document_type=document_type)
        for i, text in enumerate(texts)
    ]


def generation_size(number: int) -> int:
    return 20 + number % 3


def generation(number: int) -> list[IndexedChunk]:
    """One state of version `v1`: its number is in every text, in the vector's angle and in the count of chunks."""
    vector = direction(number + 10)
    return [make_chunk("v1", i, f"alpha {number} chunk{i}", vector=vector) for i in range(generation_size(number))]


def write_and_tell(pipe: Connection, factory: Factory) -> None:
    """Writes each generation that the pipe asks for and answers with the time when the write returned."""
    index = factory()
    while True:
        index.write_version("v1", generation(pipe.recv()))
        pipe.send(time.time())


def rewrite_generations(_: Connection, factory: Factory, last: int) -> None:
    index = factory()
    for number in range(last + 1):
        index.write_version("v1", generation(number))
        if number % 20 == 19:
            index.optimize()


def announce_and_write(pipe: Connection, factory: Factory, count: int) -> None:
    index = factory()
    chunks = [make_chunk("v1", i, f"beta {i} " * 50) for i in range(count)]
    pipe.send("writing")
    index.write_version("v1", chunks)
    pipe.send("written")
    time.sleep(60)  # the parent kills this process
