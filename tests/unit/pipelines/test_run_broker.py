"""What warm run workers rest on: a lock that ends with its owner, and messages that are there whole or not at all."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from pathlib import Path

import pytest
from kombu import Connection, Exchange, Queue

from pipelines.run_broker import SCHEME
from pipelines.run_pool import KernelLock


def _hold(lock: KernelLock, held: multiprocessing.synchronize.Event) -> None:
    lock.acquire()
    held.set()
    signal.pause()


def test_the_lock_of_a_killed_process_is_free_again() -> None:
    fork = multiprocessing.get_context("fork")
    lock, held = KernelLock(), fork.Event()
    holder = fork.Process(target=_hold, args=(lock, held))
    holder.start()
    assert held.wait(20)
    taken = threading.Event()

    def take() -> None:
        with lock:
            taken.set()

    threading.Thread(target=take, daemon=True).start()
    assert not taken.wait(0.3)
    assert holder.pid is not None
    os.kill(holder.pid, signal.SIGKILL)
    holder.join()
    assert taken.wait(20)


@pytest.fixture
def broker(tmp_path: Path) -> Connection:
    options = {"data_folder_in": str(tmp_path), "data_folder_out": str(tmp_path), "control_folder": str(tmp_path / "c")}
    (tmp_path / "c").mkdir()
    return Connection(f"{SCHEME}://", transport_options=options)


def test_messages_come_as_they_were_sent_and_a_half_written_one_is_never_met(
    broker: Connection, tmp_path: Path
) -> None:
    queue = Queue("runs", Exchange("runs"), routing_key="runs")
    (tmp_path / "1_of-a-killed-writer.runs.msg.0.part").touch()
    with broker.SimpleQueue(queue) as sent:
        for number in range(3):
            sent.put({"run": number})
        assert [sent.get(timeout=5).payload["run"] for _ in range(3)] == [0, 1, 2]


def test_bindings_are_kept_and_taken_away(broker: Connection) -> None:
    channel = broker.channel()
    queues = [Queue(name, Exchange("shared"), routing_key=name)(channel) for name in ("a", "b")]
    for queue in queues:
        queue.declare()
    assert {bound.queue for bound in channel.get_table("shared")} == {"a", "b"}
    queues[0].delete()
    assert {bound.queue for bound in channel.get_table("shared")} == {"b"}
