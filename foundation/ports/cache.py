"""A cache that may be lost at any moment."""

from __future__ import annotations

from typing import Protocol


class Cache(Protocol):
    def get(self, key: str) -> bytes | None: ...

    def set(self, key: str, value: bytes, ttl_seconds: float) -> None: ...

    def delete(self, key: str) -> None: ...

    def clear(self, prefix: str = "") -> int:
        """Remove every key that starts with `prefix`; returns how many."""
