"""Hosts on one machine: network namespaces with an address each, behind a bridge, that reach nothing but services.

The services listen on loopback or a Unix socket of the machine; a relay gives each a port on the bridge.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

from tests.engines.processes import EngineFailed

_SUBNET = "10.213.77"
_BRIDGE = "askline-test"
_HOST = "askline-host-"
_LOCK = Path(tempfile.gettempdir()) / f"{_BRIDGE}.lock"
"""The names are the machine's: one network at a time."""
_BLOCK = 1 << 16


@dataclass(frozen=True)
class Host:
    """`name` is its host name; it has one core of the machine."""

    name: str
    address: str
    core: int

    def command(self, program: Sequence[str]) -> list[str]:
        """The program as it starts there; the process keeps its id through all of these."""
        inside = ("unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"', self.name)
        return ["ip", "netns", "exec", self.name, *inside, "taskset", "-c", str(self.core), *program]

    def crash(self) -> None:
        """Every process of the host ends at once, as when the machine loses its power."""
        found = _ip("netns", "pids", self.name).split()
        for pid in map(int, found):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


class Network:
    """`address` is where hosts find what is relayed."""

    address = f"{_SUBNET}.1"

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._stack = ExitStack()

    @contextmanager
    def running(self) -> Iterator[Network]:
        """EngineFailed where this user may not make a network."""
        thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        thread.start()
        with self._stack as stack:
            stack.callback(self._end_loop, thread)
            stack.enter_context(FileLock(_LOCK))
            _remove_leftovers()
            _ip("link", "add", _BRIDGE, "type", "bridge")
            stack.callback(_ip, "link", "delete", _BRIDGE)
            _ip("addr", "add", f"{self.address}/24", "dev", _BRIDGE)
            _ip("link", "set", _BRIDGE, "up")
            yield self

    def host(self, number: int) -> Host:
        """A new host, on the core with its number if there are so many."""
        cores = sorted(os.sched_getaffinity(0))
        made = Host(f"{_HOST}{number}", f"{_SUBNET}.{10 + number}", cores[number % len(cores)])
        outside, inside = f"askline-o{number}", f"askline-i{number}"
        _ip("netns", "add", made.name)
        self._stack.callback(_ip, "netns", "delete", made.name)
        _ip("link", "add", outside, "type", "veth", "peer", "name", inside)
        _ip("link", "set", outside, "master", _BRIDGE, "up")
        _ip("link", "set", inside, "netns", made.name)
        for command in (("addr", "add", f"{made.address}/24", "dev", inside), ("link", "set", inside, "up")):
            _ip("-n", made.name, *command)
        _ip("-n", made.name, "link", "set", "lo", "up")
        return made

    def relay(self, port: int | None = None, socket: str | None = None) -> int:
        """The port on the bridge of what listens on this loopback port or Unix socket."""

        async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                opened = asyncio.open_unix_connection(socket) if socket else asyncio.open_connection("127.0.0.1", port)
                there, back = await opened
            except OSError:
                writer.close()
                return
            await asyncio.gather(_pump(reader, back), _pump(there, writer))

        server = self._run(asyncio.start_server(connect, self.address, 0))
        given: int = server.sockets[0].getsockname()[1]
        return given

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _end_loop(self, thread: threading.Thread) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        thread.join()


def _remove_leftovers() -> None:
    """What a test that was killed has left."""
    for line in _ip("netns", "list").splitlines():
        if line.startswith(_HOST):
            _ip("netns", "delete", line.split()[0])
    if _BRIDGE in _ip("-brief", "link", "show", "type", "bridge"):
        _ip("link", "delete", _BRIDGE)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while block := await reader.read(_BLOCK):
            writer.write(block)
            await writer.drain()
    writer.close()


def _ip(*arguments: str) -> str:
    program = shutil.which("ip")
    if program is None:
        raise EngineFailed("ip is not installed: apt-get install iproute2")
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise EngineFailed(f"ip {' '.join(arguments)}: {done.stderr.strip()} (network namespaces need root)")
    return done.stdout
