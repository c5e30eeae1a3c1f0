"""Temporary files and folders that do not outlive their process by long, even if that is killed.

Each is locked by whoever made it. The kernel drops the lock of a process that dies; the next one that makes something
in the same place removes what nobody holds.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from foundation.ids import new_id

_SCRATCH = "askline-scratch"
_LOCK = ".lock"


@contextmanager
def held_file(
    folder: Path, mode: int = 0o600, *, prefix: str = "new", suffix: str = ""
) -> Iterator[tuple[BinaryIO, Path]]:
    """A new file, open to write and read, that is gone afterwards unless it was moved. `mode`: before the umask."""
    while True:
        path = folder / f"{new_id(prefix)}{suffix}"
        file = os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode), "w+b")
        fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink:
            break
        file.close()  # swept before it was locked
    try:
        yield file, path
    finally:
        path.unlink(missing_ok=True)  # while it is locked, so that a sweep never meets a file that is whole
        file.close()


def abandoned(folder: Path, pattern: str = "*") -> Iterator[Path]:
    """Files that nobody holds, each locked until the next is asked for. The caller removes them."""
    for path in sorted(folder.glob(pattern)):
        try:
            file = path.open("rb")
        except OSError:  # gone by now, or another user's
            continue
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            yield path


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A temporary folder for what is taken out of documents."""
    home = Path(tempfile.gettempdir())
    for lock in abandoned(home, f"{_SCRATCH}*{_LOCK}"):
        shutil.rmtree(lock.with_suffix(""), ignore_errors=True)
        lock.unlink(missing_ok=True)
    with held_file(home, prefix=_SCRATCH, suffix=_LOCK) as (_, lock):
        path = lock.with_suffix("")
        path.mkdir(0o700)
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)
