"""Rounds in several stacks at once. A round mostly waits for leases and for Dagster's looks, so two cores bear more."""

from __future__ import annotations

import multiprocessing
import queue
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rounds import Round, rounds

_LOOK_S = 5.0
_STOP_S = 60.0


def disturbed(seed: int, numbers: Sequence[int], jobs: int, keep: Path | None = None) -> Iterator[Round]:
    """Each numbered round once, as they end. `keep`: folder for the data of stacks in which one differed."""
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
    spawn = multiprocessing.get_context("spawn")
    todo, done = spawn.Queue(), spawn.Queue()
    for number in [*numbers, *[None] * jobs]:
        todo.put(number)
    workers = [spawn.Process(target=_work, args=(seed, todo, done, keep)) for _ in range(min(jobs, len(numbers)))]
    left = len(numbers)
    try:
        for worker in workers:
            worker.start()
        while left:
            try:
                yield done.get(timeout=_LOOK_S)
            except queue.Empty:
                if not any(worker.is_alive() for worker in workers):
                    raise RuntimeError(f"{left} rounds were not run: their processes ended, see above") from None
            else:
                left -= 1
    finally:
        running = [worker for worker in workers if worker.pid is not None]
        while running:
            for worker in running if left else ():
                worker.terminate()  # again and again: one that stops a stack at this moment does not listen
            running[0].join(_STOP_S)
            running = [worker for worker in running if worker.is_alive()]


def _work(seed: int, todo: Any, done: Any, keep: Path | None) -> None:
    """Rounds in one stack until one differs: what that left behind must not be found again in the next."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the stack is stopped in every case
    number = todo.get()
    while number is not None:
        with rounds(seed, keep) as made:
            clean = True
            while clean and number is not None:
                result = made.run(number)
                done.put(result)
                clean, number = not result.found, todo.get()
