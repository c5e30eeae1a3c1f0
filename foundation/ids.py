"""Deterministic ids for what is derived from content; random, time-ordered ids for what people create."""

from __future__ import annotations

import hashlib
import os
import time
from functools import lru_cache

CHUNKER = "sentences/1"
"""The rules of the chunker. Raise it when the same text is cut otherwise."""


def chunker(max_tokens: int) -> str:
    """The chunker for a model that reads so many tokens; part of every chunk's id and of the index's name."""
    return f"{CHUNKER}@{max_tokens}"


def new_id(prefix: str) -> str:
    """A time-ordered unique id such as `doc_0197…`: 48 bits of milliseconds, then 80 random bits (as in UUIDv7)."""
    return f"{prefix}_{time.time_ns() // 1_000_000:012x}{os.urandom(10).hex()}"


def derived_id(prefix: str, *parts: str | int) -> str:
    """The same parts give the same id, on every machine. 128 bits of SHA-256 over the length-prefixed parts."""
    encoded = [str(part).encode() for part in parts]
    digest = hashlib.sha256(b"".join([len(data).to_bytes(4, "big") + data for data in encoded]))
    return f"{prefix}_{digest.hexdigest()[:32]}"


def chunk_id(version_id: str, parser: str, chunker: str, ordinal: int) -> str:
    return derived_id("chk", version_id, parser, chunker, ordinal)


@lru_cache(maxsize=8192)
def node_id(node_type: str, canonical: str) -> str:
    return derived_id("nod", node_type, canonical)


def edge_id(source_id: str, edge_type: str, target_id: str) -> str:
    return derived_id("edg", source_id, edge_type, target_id)


def dataset_id(version_id: str, ordinal: int) -> str:
    return derived_id("dst", version_id, ordinal)
