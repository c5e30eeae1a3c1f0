"""How every engine runs: a child with a folder and free loopback ports of its own that ends with its parent."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

import platformdirs

from cli.processes import Child, stop_all

REPOSITORY = Path(__file__).parents[2]


class EngineFailed(RuntimeError):
    """An engine did not come up or is not installed; the message has the end of its log, or the fix."""


def cache_folder() -> Path:
    """Where fetched engines lie: ASKLINE_ENGINES, else the user's cache folder."""
    chosen = os.environ.get("ASKLINE_ENGINES")
    return Path(chosen) if chosen else platformdirs.user_cache_path("askline") / "engines"


def free_port() -> int:
    """A loopback port that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Engine:
    """One child process. As a context manager it is up inside, and stopped at the end.

    healthy: asked every 50 ms until it says yes; what it raises counts as no. The log is `folder`/NAME.log.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        folder: Path,
        healthy: Callable[[], bool],
        *,
        env: Mapping[str, str] | None = None,
        timeout_s: float = 300,
    ) -> None:
        self.folder = folder
        self._healthy, self._timeout_s = healthy, timeout_s
        self._child = Child(name, [*command], {**os.environ, **(env or {})}, folder / f"{name}.log", folder)

    def start(self) -> None:
        """Returns when it is healthy; EngineFailed when it ends or is not healthy in time."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._child.start()
        deadline = time.monotonic() + self._timeout_s
        while not self.healthy():
            if not self._child.alive or time.monotonic() > deadline:
                state = "is not healthy" if self._child.alive else "ended"
                self.stop()
                raise EngineFailed(f"{self._child.name} {state}:\n{self._child.log_tail(4000)}")
            time.sleep(0.05)

    def healthy(self) -> bool:
        try:
            return self._child.alive and self._healthy()
        except Exception:  # whatever its client raises while nothing answers
            return False

    @property
    def pid(self) -> int:
        assert self._child.process is not None, f"{self._child.name} was never started"
        return self._child.process.pid

    def signal(self, number: int) -> None:
        """Send it to the engine, if it still runs."""
        if self._child.alive:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """kill -9, as a machine that goes away; its folder stays, so that it can start again."""
        self.signal(signal.SIGKILL)
        if self._child.process is not None:
            self._child.process.wait()

    def stop(self) -> None:
        stop_all([self._child], grace_s=10)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
