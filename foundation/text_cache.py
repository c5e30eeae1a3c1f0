"""Parsed texts in memory: the last few, and none whose version has been erased."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection

_ENTRIES = 64
_TRUSTED_S = 5.0
"""An erasure in another process is noticed so long after it, at the next look at any text."""

Key = tuple[str, str]
"""(version id, parser)"""


class TextCache:
    """`read` gives the text of a version, `exists` says whether it is still there. Safe for threads."""

    def __init__(
        self,
        read: Callable[[str, str], str],
        exists: Callable[[str, str], bool],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._read, self._exists, self._clock = read, exists, clock
        self._texts: OrderedDict[Key, str] = OrderedDict()
        self._lock = threading.Lock()
        self._looked = clock()

    def get(self, version_id: str, parser: str) -> str:
        self._drop_erased()
        key = (version_id, parser)
        with self._lock:
            found = self._texts.get(key)
            if found is not None:
                self._texts.move_to_end(key)
                return found
        text = self._read(version_id, parser)
        with self._lock:
            self._texts[key] = text
            while len(self._texts) > _ENTRIES:
                self._texts.popitem(last=False)
        return text

    def count(self, version_id: str) -> int:
        with self._lock:
            return sum(key[0] == version_id for key in self._texts)

    def forget(self, version_id: str) -> int:
        with self._lock:
            return self._drop([key for key in self._texts if key[0] == version_id])

    def _drop_erased(self) -> None:
        with self._lock:
            if self._clock() - self._looked < _TRUSTED_S:
                return
            self._looked = self._clock()
            self._drop([key for key in self._texts if not self._exists(*key)])

    def _drop(self, keys: Collection[Key]) -> int:
        for key in keys:
            del self._texts[key]
        return len(keys)
