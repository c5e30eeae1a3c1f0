"""Turns of processes that fill the machine's cores: as many work at once as there are cores for.

Two that share a core take the cache from each other at every switch: the model alone costs a twentieth more, and what
runs beside it as well.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

_LOOK_S = 0.01


def of_machine() -> Path:
    """A folder of this user's that no other machine shares, as a data folder may be shared."""
    return Path(tempfile.gettempdir()) / f"askline-turns-{os.getuid()}"


class Turns:
    """`threads` is how many cores one turn fills. Locks of files in `folder`: a process that is killed ends its turn.

    Who waits comes before who has just had a turn.
    """

    def __init__(self, folder: Path, name: str, threads: int) -> None:
        self._folder = folder
        at_once = max(1, len(os.sched_getaffinity(0)) // threads)
        self._turns = [FileLock(folder / f"{name}-{number}.lock") for number in range(at_once)]
        self._next = FileLock(folder / f"{name}-next.lock", poll_interval=_LOOK_S)

    @contextmanager
    def turn(self) -> Iterator[None]:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._next:
            taken = self._wait()
        try:
            yield
        finally:
            taken.release()

    def _wait(self) -> FileLock:
        while True:
            for lock in self._turns:
                try:
                    lock.acquire(blocking=False)
                except Timeout:
                    continue
                return lock
            time.sleep(_LOOK_S)
