"""The pool of the run worker: two of its threads that mend it at once make no process too many."""

from __future__ import annotations

import threading
import time
from typing import Any

from pipelines.run_pool import _Pool


class _Slow(_Pool):
    """Tells how many threads mend it at once; no process is started."""

    def __init__(self) -> None:
        self._mending = threading.RLock()
        self.under_way = self.most = 0
        self._putlock = None

    def _join_exited_workers(self, shutdown: bool = False) -> list[Any]:
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        time.sleep(0.02)
        self.under_way -= 1
        return []

    def _repopulate_pool(self, exitcodes: Any) -> None:
        return


def test_one_thread_at_a_time_mends_the_pool() -> None:
    pool = _Slow()
    threads = [threading.Thread(target=pool._maintain_pool) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert pool.most == 1
