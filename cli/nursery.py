"""Starts Python programs as forks of one process that has imported what they share.

Dagster, SQLAlchemy and what these need are 100 MB in each of five programs. Forks have them in memory once, and start
without importing them again. `python -m cli.nursery` reads a line of JSON for each program, {arguments, env, log}, and
answers with a line that holds the number of its process.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import math
import os
import runpy
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psutil

from cli.processes import Child, die_with_parent
from foundation.errors import Unavailable
from foundation.freed_memory import settle

_SHARED = (
    *("dagster._daemon.cli", "dagster_postgres", "foundation.stores", "networkx", "pyarrow.compute", "requests"),
    *("sqlglot.optimizer", "starlette.applications"),
)
"""What more than one program imports, and what starts no thread when it is imported: a thread is not forked."""
_NO_THREADS = {"OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}
"""NumPy's and Arrow's own would start at import; of NumPy's nothing here is large enough to gain by them."""

_TRIES = 5
_ROOM = 1000
"""Bytes in its command line for those of the programs."""


class Nursery:
    """The process whose forks the programs are, seen from its parent; started by the first program, and anew should it
    have died."""

    def __init__(self, env: Mapping[str, str], log: Path, cwd: Path) -> None:
        self._env, self._log, self._cwd = env, log, cwd
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Without waiting until it has imported."""
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "cli.nursery", " " * _ROOM],
                env={**self._env, **_NO_THREADS},
                cwd=self._cwd,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                preexec_fn=partial(die_with_parent, os.getpid()),
            )

    def fork(self, arguments: Sequence[str], env: Mapping[str, str], log: Path) -> int:
        """The process of `python -m arguments`. Unavailable, with its log, when the nursery cannot start."""
        request = json.dumps({"arguments": [*arguments], "env": {**env}, "log": str(log)})
        for _ in range(_TRIES):  # what kills it may come while it imports or forks
            if self._process is None or self._process.poll() is not None:
                self.start()
            if pid := self._ask(request):
                return pid
        tail = self._log.read_text(errors="replace")[-2000:]
        raise Unavailable(f"No program can be started.\n{tail}", fix=f"Read {self._log}.")

    def _ask(self, request: str) -> int | None:
        """None when the nursery died over it; what it may have forked dies with it."""
        assert self._process is not None and self._process.stdin is not None and self._process.stdout is not None
        answer = ""
        with suppress(BrokenPipeError):
            self._process.stdin.write(f"{request}\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        if answer.endswith("\n"):
            return int(answer)
        self._process.wait()
        return None

    def close(self) -> None:
        """The programs that still run are killed."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


class Forked:
    """What `subprocess.Popen` offers, of a process whose parent is the nursery, which takes its exit code."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._process: psutil.Process | None = None
        with suppress(psutil.NoSuchProcess):  # it has ended already
            self._process = psutil.Process(pid)

    def send_signal(self, sig: int) -> None:
        if self._process is not None:
            with suppress(psutil.NoSuchProcess):
                self._process.send_signal(sig)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def poll(self) -> int | None:
        with suppress(psutil.NoSuchProcess):
            # Whoever inherits the programs of a dead nursery may leave them zombies. One with more threads is not dead:
            # its ports are held until the last of them has ended.
            if self._process is not None and self._process.is_running():
                dead = self._process.status() == psutil.STATUS_ZOMBIE and self._process.num_threads() <= 1
                return 0 if dead else None
        return 0

    def wait(self, timeout: float | None = None) -> int:
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        while self.poll() is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
            time.sleep(0.02)
        return 0


@dataclass(kw_only=True)
class Program(Child):
    """A child whose command is `python -m …`, forked from the nursery."""

    nursery: Nursery

    def _launch(self) -> Forked:
        return Forked(self.nursery.fork(self.command[2:], self.env, self.log))


def _serve() -> list[str]:
    """Forks for each request. Returns in a fork, with its arguments; the nursery itself ends with its parent."""
    for module in _SHARED:
        importlib.import_module(module)
    settle()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no zombies
    nursery = os.getpid()
    while line := sys.stdin.readline():
        request = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _become(nursery, **request)
            return list(request["arguments"])
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()
    sys.exit()


def _become(nursery: int, arguments: list[str], env: dict[str, str], log: str) -> None:
    """What `subprocess` would give a new process: a group, an environment, standard files."""
    die_with_parent(nursery)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.environ.clear()
    os.environ.update(env)
    null = os.open(os.devnull, os.O_RDONLY)
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    for opened, standard in ((null, 0), (out, 1), (out, 2)):
        os.dup2(opened, standard)
    os.close(null)
    os.close(out)
    _show(sys.executable, "-m", *arguments)


def _show(*command: str) -> None:
    """As this process's command in lists of processes, in the place of the nursery's, which has room for it."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    start, end = int(fields[45]), int(fields[46])  # arg_start, arg_end
    shown = b"".join(os.fsencode(word) + b"\0" for word in command).ljust(end - start)
    ctypes.memmove(start, shown[: end - start - 1] + b"\0", end - start)


if __name__ == "__main__":
    arguments = _serve()
    sys.argv = list(arguments)
    runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
