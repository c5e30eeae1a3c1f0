"""A cache in this process: bounded in bytes, least recently used goes first."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable


class InProcessCache:
    """A Cache for one process. A value larger than the whole cache is not kept, which is no error.

    `max_bytes` counts keys and values; `clock` gives seconds and is a parameter for tests.
    """

    def __init__(self, max_bytes: int = 64 * 1024 * 1024, clock: Callable[[], float] = time.monotonic) -> None:
        self._max_bytes = max_bytes
        self._clock = clock
        self._entries: OrderedDict[str, tuple[bytes, float]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, key: str) -> bytes | None:
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            if entry[1] <= self._clock():
                self._remove(key)
                return None
            self._entries.move_to_end(key)
            return entry[0]

    def set(self, key: str, value: bytes, ttl_seconds: float) -> None:
        """A time to live of zero or less removes the key."""
        with self._lock:
            if key in self._entries:
                self._remove(key)
            size = _size(key, value)
            if ttl_seconds <= 0 or size > self._max_bytes:
                return
            self._entries[key] = (bytes(value), self._clock() + ttl_seconds)
            self._bytes += size
            while self._bytes > self._max_bytes:
                self._remove(next(iter(self._entries)))

    def delete(self, key: str) -> None:
        with self._lock:
            if key in self._entries:
                self._remove(key)

    def clear(self, prefix: str = "") -> int:
        with self._lock:
            now = self._clock()
            keys = [key for key in self._entries if key.startswith(prefix)]
            alive = sum(self._entries[key][1] > now for key in keys)
            for key in keys:
                self._remove(key)
            return alive

    def _remove(self, key: str) -> None:
        value, _ = self._entries.pop(key)
        self._bytes -= _size(key, value)


def _size(key: str, value: bytes) -> int:
    return len(key.encode()) + len(value)
