"""Child processes that end with their parent, whatever happens to it."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol

import psutil

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)


def free_port(host: str, wanted: int, taken: Sequence[int] = ()) -> int:
    """The wanted port, or the next one that is free on this host."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for port in range(wanted, min(wanted + 200, 65536)):
        if port in taken:
            continue
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError:
                continue
            return port
    raise OSError(f"no free port from {wanted} on {host}")


class Process(Protocol):
    """What is used of `subprocess.Popen`."""

    @property
    def pid(self) -> int: ...
    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def send_signal(self, sig: int) -> None: ...
    def kill(self) -> None: ...


@dataclass
class Child:
    """One program: its command, its log, and the process that runs it now."""

    name: str
    command: list[str]
    env: Mapping[str, str]
    log: Path
    cwd: Path
    process: Process | None = None
    started: list[float] = field(default_factory=list)

    def start(self) -> None:
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self.process = self._launch()
        self.started = [*self.started[-9:], time.monotonic()]

    def _launch(self) -> Process:
        with self.log.open("ab") as log:
            return subprocess.Popen(
                self.command,
                env=dict(self.env),
                cwd=self.cwd,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                preexec_fn=partial(die_with_parent, os.getpid()),
            )

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def listens_on(self, port: int) -> bool:
        """Whether this program itself, or a child of it, listens on the port: an answer from there is then its own."""
        if self.process is None:
            return False
        try:
            top = psutil.Process(self.process.pid)
            family = [top, *top.children(recursive=True)]
            sockets = [socket for process in family for socket in process.net_connections("tcp")]
        except psutil.NoSuchProcess:
            return False
        return any(s.status == psutil.CONN_LISTEN and s.laddr.port == port for s in sockets)

    @property
    def restarts_too_often(self) -> bool:
        """Ten starts within two minutes: something is wrong that a start does not mend."""
        return len(self.started) == 10 and time.monotonic() - self.started[0] < 120

    def log_tail(self, characters: int = 2000) -> str:
        if not self.log.exists():
            return ""
        return self.log.read_text(errors="replace")[-characters:]


def die_with_parent(parent: int) -> None:
    """In the child, right after the fork."""
    # Its own session's Ctrl-C stays with the parent, which stops all in order.
    os.setpgid(0, 0)
    # If the parent is killed nobody is left to ask twice, and Dagster's code server does not heed SIGTERM at once.
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it was killed before this one could ask
        os.kill(os.getpid(), signal.SIGKILL)


def stop_all(children: Sequence[Child], grace_s: float = 5) -> None:
    """Ask every child and all that it started to end; kill what has not within `grace_s`."""
    trees: list[psutil.Process] = []
    for child in children:
        if child.process is None:
            continue
        try:
            top = psutil.Process(child.process.pid)
            trees += [top, *top.children(recursive=True)]
        except psutil.NoSuchProcess:
            continue
    for process in trees:
        _signal(process, signal.SIGTERM)
    _, alive = psutil.wait_procs(trees, timeout=grace_s)
    for process in alive:
        _signal(process, signal.SIGKILL)
    psutil.wait_procs(alive, timeout=5)
    for child in children:
        if child.process is not None:
            child.process.wait()


def _signal(process: psutil.Process, number: int) -> None:
    try:
        process.send_signal(number)
    except psutil.NoSuchProcess:
        return
