"""The pool of the warm run worker: its children pass locks that the kernel takes back from one that dies.

billiard's children wait for their next task under a semaphore, and whoever is killed while it waits keeps that for
ever: by a person, by the kernel, or by Celery's own autoscaler, which ends idle children. No run would start again.
"""

from __future__ import annotations

import fcntl
import tempfile
import threading
from typing import Any

from celery.concurrency import prefork
from celery.concurrency.prefork import BlockingPool

from foundation.freed_memory import settle


class KernelLock:
    """A record lock, which belongs to a process: it is not inherited by a fork, and ends with its owner."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115  it is open as long as the pool lives

    def acquire(self) -> bool:
        fcntl.lockf(self._file, fcntl.LOCK_EX)
        return True

    def release(self) -> None:
        fcntl.lockf(self._file, fcntl.LOCK_UN)

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


class _Pool(BlockingPool):
    def __init__(self, *args: Any, **more: Any) -> None:
        self._mending = threading.RLock()
        super().__init__(*args, **more)

    def _maintain_pool(self) -> None:
        # The pool's supervisor and Celery's autoscaler are threads that both replace what has died: at the same moment
        # they make too many, at which billiard ends the whole worker.
        with self._mending:
            super()._maintain_pool()

    def _setup_queues(self) -> None:
        super()._setup_queues()
        self._inqueue._rlock = KernelLock()
        self._outqueue._wlock = KernelLock()

    def _create_worker_process(self, i: int) -> Any:
        settle()  # a child shares the pages of what its parent has loaded until one of them writes there
        return super()._create_worker_process(i)


def use_kernel_locks() -> None:
    """For every prefork pool that this process makes from now on."""
    prefork.TaskPool.BlockingPool = _Pool
