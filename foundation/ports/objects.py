"""Where bytes live: the landing bucket (versioned) and the derived artefacts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO, Protocol

from foundation.types import ObjectVersion


class ObjectStore(Protocol):
    """A bucket. Keys are `/`-separated, relative, NFC; NotFound for a key or version that is not there."""

    versioned: bool

    def put(self, key: str, data: BinaryIO | bytes) -> ObjectVersion:
        """Store whole or not at all; on a versioned store the earlier versions stay."""

    def open(self, key: str, version_id: str | None = None) -> BinaryIO: ...

    def read(self, key: str, version_id: str | None = None) -> bytes: ...

    def local_path(self, key: str, version_id: str | None = None) -> AbstractContextManager[Path]:
        """A read-only file that holds the bytes while the context lasts."""

    def head(self, key: str, version_id: str | None = None) -> ObjectVersion: ...

    def exists(self, key: str) -> bool: ...

    def current(self, prefix: str = "") -> Iterator[ObjectVersion]:
        """The current version of each key. A file that someone copied into the folder counts from when it is whole."""

    def listing(self, prefix: str = "") -> Iterator[tuple[str, str]]:
        """(key, version id) of each that `current` gives, for the many that need no second look."""

    def versions(self, key: str) -> list[ObjectVersion]:
        """Oldest first; empty for an unknown key."""

    def purge(self, key: str, version_id: str | None = None) -> int:
        """Remove one version, or the key with all its versions. Returns how many were removed; 0 is no error."""

    def purge_prefix(self, prefix: str) -> int:
        """Remove every key under `prefix`."""
