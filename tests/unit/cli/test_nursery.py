"""Programs that are forks of the nursery live and die as children that were started the usual way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from cli.nursery import Nursery, Program
from foundation.errors import Unavailable

ROOT = Path(__file__).parents[3]
PROGRAM = """
import os, sys, time
print("environment", os.environ["COLOUR"], "of", os.environ.get("HOME"), "arguments", sys.argv[1:], flush=True)
print("dagster" in sys.modules, __name__, repr(sys.stdin.read()), file=sys.stderr, flush=True)
if sys.argv[1] == "end":
    sys.exit(3)
time.sleep(60)
"""
HEADLESS = """
import ctypes, platform, threading, time
threading.Thread(target=time.sleep, args=(60,)).start()
print("listening", flush=True)
ctypes.CDLL(None).syscall({"x86_64": 60, "aarch64": 93}[platform.machine()], 0)  # exit, of this thread alone
"""


@pytest.fixture
def nursery(tmp_path: Path) -> Iterator[Nursery]:
    (tmp_path / "some_program.py").write_text(PROGRAM)
    nursery = Nursery({**os.environ, "PYTHONPATH": str(tmp_path)}, tmp_path / "logs" / "nursery.log", ROOT)
    yield nursery
    nursery.close()


def program(nursery: Nursery, tmp_path: Path, *arguments: str) -> Program:
    command = [sys.executable, "-m", "some_program", *arguments]
    made = Program("x", command, {"COLOUR": "green"}, tmp_path / "log", ROOT, nursery=nursery)
    made.start()
    return made


def until_it_says(made: Program, words: str) -> str:
    deadline = time.monotonic() + 20
    while words not in made.log_tail():
        assert time.monotonic() < deadline, made.log_tail()
        time.sleep(0.02)
    return made.log_tail()


def test_a_program_has_its_own_arguments_environment_log_and_command_and_what_the_nursery_has_imported(
    nursery: Nursery, tmp_path: Path
) -> None:
    made = program(nursery, tmp_path, "a", "b c")
    assert made.alive
    assert made.process is not None
    said = until_it_says(made, "__main__")
    assert "environment green of None arguments ['a', 'b c']" in said
    assert "True __main__ ''" in said
    command = psutil.Process(made.process.pid).cmdline()
    assert [word for word in command if word.strip()] == made.command
    made.process.kill()
    made.process.wait(5)
    assert not made.alive


def test_nothing_that_the_nursery_imports_has_started_a_thread_which_a_fork_would_lack(
    nursery: Nursery, tmp_path: Path
) -> None:
    made = program(nursery, tmp_path, "a")
    assert made.process is not None
    parent = psutil.Process(made.process.pid).parent()
    assert parent is not None
    assert parent.num_threads() == 1


def test_a_program_that_ends_is_seen_to_and_can_be_started_again(nursery: Nursery, tmp_path: Path) -> None:
    made = program(nursery, tmp_path, "end")
    assert made.process is not None
    made.process.wait(20)
    assert not made.alive
    made.start()
    made.process.wait(20)
    assert made.log_tail().count("environment") == 2


def test_programs_end_with_the_nursery_and_a_new_one_is_had(nursery: Nursery, tmp_path: Path) -> None:
    made = program(nursery, tmp_path, "a")
    assert made.process is not None
    first = made.process
    parent = psutil.Process(first.pid).parent()
    assert parent is not None
    parent.kill()
    first.wait(5)
    made.start()
    assert made.alive
    assert made.process.pid != first.pid
    nursery.close()
    made.process.wait(5)
    assert not made.alive


def test_a_program_whose_first_thread_has_ended_lives_until_the_last_one_has(nursery: Nursery, tmp_path: Path) -> None:
    (tmp_path / "headless.py").write_text(HEADLESS)
    made = Program("x", [sys.executable, "-m", "headless"], {}, tmp_path / "log", ROOT, nursery=nursery)
    made.start()
    assert made.process is not None
    until_it_says(made, "listening")
    while psutil.Process(made.process.pid).status() != psutil.STATUS_ZOMBIE:
        time.sleep(0.01)
    assert made.alive  # it has its port still: who starts it again now finds that taken
    made.process.kill()
    made.process.wait(5)
    assert not made.alive


def test_a_nursery_that_is_killed_while_a_program_is_asked_of_it_is_had_anew(nursery: Nursery, tmp_path: Path) -> None:
    nursery.start()
    (first,) = (p for p in psutil.Process().children() if "cli.nursery" in p.cmdline())
    threading.Timer(0.2, first.kill).start()  # it imports for longer
    made = program(nursery, tmp_path, "a")
    assert made.alive
    assert made.process is not None
    assert psutil.Process(made.process.pid).ppid() != first.pid


def test_a_child_whose_parent_has_died_before_it_could_ask_to_die_with_it_ends_at_once() -> None:
    said = subprocess.run(
        [sys.executable, "-c", "from cli.processes import die_with_parent; die_with_parent(2**22); print('lives')"],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert (said.stdout, said.returncode) == ("", -signal.SIGKILL)


def test_a_slow_program_is_waited_for_no_longer_than_allowed(nursery: Nursery, tmp_path: Path) -> None:
    made = program(nursery, tmp_path, "a")
    assert made.process is not None
    with pytest.raises(subprocess.TimeoutExpired):
        made.process.wait(0.1)


def test_a_nursery_that_cannot_start_shows_its_log(tmp_path: Path) -> None:
    (tmp_path / "dagster").mkdir()
    (tmp_path / "dagster" / "__init__.py").write_text("raise ImportError('this Dagster is broken')")
    broken = Nursery({**os.environ, "PYTHONPATH": str(tmp_path)}, tmp_path / "nursery.log", ROOT)
    with pytest.raises(Unavailable, match="this Dagster is broken"):
        broken.fork(["some_program"], {}, tmp_path / "log")
    broken.close()
