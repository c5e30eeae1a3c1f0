"""Turns between processes: no more at once than the cores are for, none is starved, a dead one gives its turn back."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from foundation.adapters.embedded.turns import Turns

_HOLDS = """
import sys, time
from pathlib import Path
from foundation.adapters.embedded.turns import Turns
with Turns(Path(sys.argv[1]), "work", int(sys.argv[2])).turn():
    print("begun", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def cores(monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3})
    return 4


def _most_at_once(folder: Path, threads: int) -> int:
    under_way, most, lock = 0, 0, threading.Lock()

    def work() -> None:
        nonlocal under_way, most
        turns = Turns(folder, "work", threads)
        for _ in range(5):
            with turns.turn():
                with lock:
                    under_way += 1
                    most = max(most, under_way)
                time.sleep(0.02)
                with lock:
                    under_way -= 1

    workers = [threading.Thread(target=work) for _ in range(5)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return most


@pytest.mark.parametrize(("threads", "at_once"), [(2, 2), (4, 1), (9, 1), (1, 4)])
def test_as_many_work_at_once_as_there_are_cores_for(cores: int, tmp_path: Path, threads: int, at_once: int) -> None:
    assert _most_at_once(tmp_path / "turns", threads) == at_once


def test_who_waits_comes_before_who_has_just_had_a_turn(cores: int, tmp_path: Path) -> None:
    busy, other, order = Turns(tmp_path, "work", 4), Turns(tmp_path, "work", 4), []

    def wait() -> None:
        with other.turn():
            order.append("other")

    with busy.turn():
        waiting = threading.Thread(target=wait)
        waiting.start()
        time.sleep(0.1)
    with busy.turn():
        order.append("busy")
    waiting.join()
    assert order == ["other", "busy"]


def test_a_process_that_is_killed_ends_its_turn(tmp_path: Path) -> None:
    threads = len(os.sched_getaffinity(0))
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLDS, str(tmp_path), str(threads)], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None and holder.stdout.readline() == "begun\n"
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    holder.stdout.close()
    with Turns(tmp_path, "work", threads).turn():
        pass
