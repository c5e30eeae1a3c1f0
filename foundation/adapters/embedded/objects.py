"""Objects in a local folder.

A versioned store keeps, beside the folder that people see, an immutable copy of every version:

    ROOT/uploads/local/report.pdf                     the current version, for people and their tools
    ROOT/.versions/<hash of the key>/<version>        the bytes, read-only, under an id, never under the given name
    ROOT/.versions/<hash of the key>/<version>.json   key, sha256, size, time; written last, it makes the version

    ROOT/.versions/.locks                             one writer of a key at a time, over all processes

A plain store (`versioned=False`) keeps only the current bytes, for artefacts that can be derived again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from filelock import FileLock

from foundation.errors import InvalidInput, NotFound
from foundation.held_files import abandoned, held_file
from foundation.ids import new_id
from foundation.types import ObjectVersion

_HIDDEN = (".versions", ".incoming")
_SETTLE_SECONDS = 1.0  # a copied file counts once it has not changed for so long
_BLOCK = 1 << 20
_FOR_PEOPLE = 0o666  # before the umask


class LocalObjects:
    """Port `objects` over a folder. Safe for several processes: files appear by rename, versions by their JSON."""

    def __init__(self, root: Path, *, versioned: bool) -> None:
        self.root = root
        self.versioned = versioned
        self._incoming = root / ".incoming"
        self._incoming.mkdir(parents=True, exist_ok=True)

    def put(self, key: str, data: BinaryIO | bytes) -> ObjectVersion:
        target = self._visible(key)
        self._sweep()
        with self._received(data) as (temporary, sha256, size):
            if not self.versioned:
                _place(temporary, target)
                return ObjectVersion(key, sha256, sha256, size, datetime.now(UTC))
            with self._writing(key):
                latest = self._latest(key)
                if latest is None or latest.sha256 != sha256:
                    latest = self._store_version(key, temporary, sha256, size)
                self._show(latest, target)
            return latest

    def open(self, key: str, version_id: str | None = None) -> BinaryIO:
        return self._path(key, version_id).open("rb")

    def read(self, key: str, version_id: str | None = None) -> bytes:
        with self.open(key, version_id) as file:
            return file.read()

    @contextlib.contextmanager
    def local_path(self, key: str, version_id: str | None = None) -> Iterator[Path]:
        yield self._path(key, version_id)

    def head(self, key: str, version_id: str | None = None) -> ObjectVersion:
        if not self.versioned:
            path = self._path(key, None)
            with path.open("rb") as file:
                sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            stat = path.stat()
            return ObjectVersion(key, sha256, sha256, stat.st_size, datetime.fromtimestamp(stat.st_mtime, UTC))
        found = self._latest(key) if version_id is None else self._meta(key, version_id)
        if found is None:
            raise NotFound(f"There is no object {key!r} (version {version_id or 'latest'}).")
        return found

    def exists(self, key: str) -> bool:
        return self._visible(key).is_file()

    def current(self, prefix: str = "") -> Iterator[ObjectVersion]:
        for path in sorted(self._start(prefix).rglob("*")):
            relative = path.relative_to(self.root)
            if relative.parts[0] in _HIDDEN or path.is_symlink() or not path.is_file():
                continue
            key = relative.as_posix()
            if key.startswith(prefix):
                try:
                    found = self._adopt(key, path) if self.versioned else self.head(key)
                except FileNotFoundError:  # removed since it was listed
                    continue
                if found is not None:
                    yield found

    def listing(self, prefix: str = "") -> Iterator[tuple[str, str]]:
        return ((version.key, version.version_id) for version in self.current(prefix))

    def versions(self, key: str) -> list[ObjectVersion]:
        found = [self._meta_file(path) for path in self._version_folder(key).glob("*.json")]
        return sorted((v for v in found if v is not None), key=lambda v: (v.stored_at, v.version_id))

    def purge(self, key: str, version_id: str | None = None) -> int:
        folder = self._version_folder(key)
        if version_id is not None:
            _remove(folder / version_id)  # first: bytes without a note would be found by nobody
            return _remove(folder / f"{version_id}.json")
        if not self.versioned:
            removed = _remove(self._visible(key))
        else:
            with self._writing(key):
                _remove(self._visible(key))
                removed = len(list(folder.glob("*.json")))
                if folder.is_dir():
                    shutil.rmtree(folder)
        self._prune(self._visible(key).parent)
        return removed

    def purge_prefix(self, prefix: str) -> int:
        keys = [p.relative_to(self.root).as_posix() for p in sorted(self._start(prefix).rglob("*")) if p.is_file()]
        return sum(self.purge(key) for key in keys if key.startswith(prefix) and key.split("/")[0] not in _HIDDEN)

    def _start(self, prefix: str) -> Path:
        """The folder that holds every key with this prefix, and little else; it need not be there."""
        base = self.root / prefix
        return base if prefix.endswith("/") or not prefix else base.parent

    @contextlib.contextmanager
    def _received(self, data: BinaryIO | bytes) -> Iterator[tuple[Path, str, int]]:
        """The bytes in a temporary file on the same file system: (path, sha256, size)."""
        digest, size = hashlib.sha256(), 0
        with held_file(self._incoming) as (file, path):
            blocks = [data] if isinstance(data, bytes) else iter(lambda: data.read(_BLOCK), b"")
            for block in blocks:
                digest.update(block)
                size += len(block)
                file.write(block)
            file.flush()
            os.fsync(file.fileno())
            yield path, digest.hexdigest(), size

    def _sweep(self) -> None:
        """Remove what processes that were killed left half written: their temporary files, and bytes without a note."""
        for path in abandoned(self._incoming):
            with contextlib.suppress(FileNotFoundError):
                if path.stat().st_nlink > 1:
                    self._remove_unnoted(path.stat().st_ino)
                path.unlink()

    def _remove_unnoted(self, inode: int) -> None:
        for blob in (self.root / ".versions").glob("*/obj_*"):
            if blob.stat().st_ino == inode and not blob.with_name(f"{blob.name}.json").exists():
                blob.unlink()

    def _store_version(self, key: str, source: Path, sha256: str, size: int) -> ObjectVersion:
        folder = self._version_folder(key)
        folder.mkdir(parents=True, exist_ok=True)
        version = ObjectVersion(key, new_id("obj"), sha256, size, datetime.now(UTC))
        blob = folder / version.version_id
        os.link(source, blob)
        blob.chmod(0o444)
        meta = {"key": key, "sha256": sha256, "size": size, "at": version.stored_at.isoformat()}
        self._write(folder / f"{version.version_id}.json", meta)
        return version

    def _show(self, version: ObjectVersion, target: Path) -> None:
        """Put a copy where people see it; a copy, since what they may edit must not be the version itself."""
        with held_file(self._incoming, _FOR_PEOPLE) as (_, copy):
            shutil.copyfile(self._path(version.key, version.version_id), copy)
            _place(copy, target)
        self._remember(version, target)

    def _remember(self, version: ObjectVersion, path: Path) -> None:
        """Note the state of the visible file, so that a scan hashes only what changed."""
        stat = path.stat()
        note = self._version_folder(version.key) / ".seen"
        self._write(note, [version.version_id, stat.st_size, stat.st_mtime_ns, stat.st_ino])

    def _write(self, path: Path, value: object) -> None:
        """Write JSON that appears whole: a reader, or a crash, never sees a part of it."""
        with held_file(self._incoming, _FOR_PEOPLE) as (_, temporary):
            temporary.write_text(json.dumps(value))
            temporary.replace(path)

    def _writing(self, key: str) -> FileLock:
        """The lock of a key's writers: the visible file is the newest version, whoever wrote last."""
        folder = self.root / ".versions" / ".locks"
        folder.mkdir(parents=True, exist_ok=True)
        return FileLock(folder / f"{self._version_folder(key).name[:2]}.lock")

    def _adopt(self, key: str, path: Path) -> ObjectVersion | None:
        """The version of the visible file; a new one if somebody copied it there. None while it is being written."""
        stat = path.stat()
        note = self._version_folder(key) / ".seen"
        if note.is_file():
            seen: list[Any] = json.loads(note.read_text())
            if seen[1:] == [stat.st_size, stat.st_mtime_ns, stat.st_ino]:
                return self._meta(key, seen[0])
        if time.time() - max(stat.st_mtime, stat.st_ctime) < _SETTLE_SECONDS:
            return None
        with path.open("rb") as file, self._received(file) as (temporary, sha256, size), self._writing(key):
            now = path.stat()
            if (now.st_mtime_ns, now.st_ino) != (stat.st_mtime_ns, stat.st_ino):
                return None  # written or replaced while it was read: the next scan takes it
            latest = self._latest(key)
            if latest is None or latest.sha256 != sha256:
                latest = self._store_version(key, temporary, sha256, size)
            self._remember(latest, path)
            return latest

    def _latest(self, key: str) -> ObjectVersion | None:
        found = self.versions(key)
        return found[-1] if found else None

    def _meta(self, key: str, version_id: str) -> ObjectVersion | None:
        return self._meta_file(self._version_folder(key) / f"{version_id}.json")

    def _meta_file(self, path: Path) -> ObjectVersion | None:
        try:
            value = json.loads(path.read_text())
        except FileNotFoundError:
            return None
        return ObjectVersion(
            value["key"], path.stem, value["sha256"], value["size"], datetime.fromisoformat(value["at"])
        )

    def _path(self, key: str, version_id: str | None) -> Path:
        if self.versioned:
            version = self.head(key, version_id)
            path = self._version_folder(key) / version.version_id
        else:
            path = self._visible(key)
        if not path.is_file():
            raise NotFound(f"There is no object {key!r} (version {version_id or 'latest'}).")
        return path

    def _visible(self, key: str) -> Path:
        parts = key.split("/")
        if not key or "\0" in key or any(part in ("", ".", "..") for part in parts) or parts[0] in _HIDDEN:
            raise InvalidInput(f"{key!r} is no object key.")
        return self.root.joinpath(*parts)

    def _version_folder(self, key: str) -> Path:
        return self.root / ".versions" / hashlib.sha256(key.encode()).hexdigest()[:32]

    def _prune(self, folder: Path) -> None:
        """Remove folders that became empty, up to the root."""
        while folder != self.root:
            try:
                folder.rmdir()
            except OSError:
                return
            folder = folder.parent


def _place(file: Path, target: Path) -> None:
    """Rename into a folder that a purge of its last file may remove at the same moment."""
    while True:
        try:
            file.replace(target)
        except FileNotFoundError:
            if not file.exists():
                raise
        else:
            return
        with contextlib.suppress(FileNotFoundError):
            target.parent.mkdir(parents=True, exist_ok=True)


def _remove(path: Path) -> int:
    try:
        path.unlink()
    except FileNotFoundError:
        return 0
    return 1
