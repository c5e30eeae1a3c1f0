"""What the benches of the whole stack share: one in a temporary folder, its processes' CPU and memory, its Dagster."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import httpx
import psutil
from sqlalchemy import Engine

from cli.client import Client
from cli.processes import Child, stop_all
from cli.stack import Addresses, running
from foundation.adapters.embedded import postgres
from foundation.errors import ConfigurationError, Unavailable
from foundation.registry.address import postgres_folder, registry_url
from foundation.registry.database import create_registry_engine
from foundation.settings import Settings, get_settings

Results = dict[str, dict[str, Any]]
_START_TIMEOUT_S = 180
_STOP_TIMEOUT_S = 90
_PROGRAMS = {
    "grpc": "code server",
    "query_service.app": "query service",
    "dagster._daemon": "Dagster daemon",
    "dagster_webserver": "Dagster webserver",
    "celery": "run workers",
}
_ACTIVE_RUNS = (
    "{ runsOrError(filter: {statuses: [NOT_STARTED, QUEUED, STARTING, STARTED, CANCELING]})"
    " { ... on Runs { results { runId status jobName } } } }"
)


def figure(
    value: float, unit: str, command: str, *, bare: float | None = None, ratio: float | None = None, digits: int = 2
) -> dict[str, Any]:
    """One entry of results.json; `bare` is in the same unit as `value`."""
    rounded = [None if number is None else round(number, digits) for number in (value, bare, ratio)]
    return {"value": rounded[0], "unit": unit, "bare": rounded[1], "ratio": rounded[2], "command": command}


def until(look: Callable[[], Any], what: str, timeout_s: float, every_s: float = 0.1) -> Any:
    """The first true thing that `look` returns; TimeoutError, naming `what`, after `timeout_s`."""
    deadline = time.monotonic() + timeout_s
    while not (seen := look()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not within {timeout_s:.0f} s")
        time.sleep(every_s)
    return seen


class RunningStack:
    """A stack that `askline up` has started over `settings.folder`, seen from outside."""

    def __init__(self, settings: Settings, addresses: Addresses, start_s: float) -> None:
        self.settings, self.addresses = settings, addresses
        self.start_s = start_s
        """Seconds from the command to everything answering: interpreter, Postgres, code location, query service."""
        self.client = Client(addresses.service_url)
        self.http = httpx.Client(timeout=30, trust_env=False)
        """For looks that are repeated: a client of one request reads all certificates first."""

    @cached_property
    def engine(self) -> Engine:
        return create_registry_engine(registry_url(self.settings, start=False))

    def programs(self) -> dict[str, list[psutil.Process]]:
        """The processes of each program, with all that they have started."""
        top = psutil.Process(self.addresses.pid)
        found = {"askline up": [top]}
        for nursery in top.children():
            found["nursery"] = [nursery]
            for program in nursery.children():
                command = program.cmdline()
                name = next((name for word, name in _PROGRAMS.items() if word in command), "other")
                found.setdefault(name, []).extend(tree(program))
        server = postgres.running_pid(postgres_folder(self.settings))
        if server is not None:
            found["Postgres"] = tree(psutil.Process(server))
        return found

    def cpu_seconds(self) -> float:
        """CPU that all programs have used so far; what has ended counts in the process that waited for it."""
        return sum(cpu_seconds(process) for found in self.programs().values() for process in found)

    def active_runs(self) -> list[dict[str, str]]:
        """Dagster's runs that wait or work: runId, status, jobName."""
        answer = self.http.post(f"{self.addresses.dagster_url}/graphql", json={"query": _ACTIVE_RUNS})
        runs: list[dict[str, str]] = answer.json()["data"]["runsOrError"]["results"]
        return runs

    def wait_until_idle(self, timeout_s: float = 120) -> None:
        """Until Dagster has no run that waits or works, twice in a row."""
        quiet = 0

        def idle() -> bool:
            nonlocal quiet
            quiet = 0 if self.active_runs() else quiet + 1
            return quiet == 2

        until(idle, "Dagster is idle", timeout_s, every_s=0.5)


@contextmanager
def running_stack(folder: Path) -> Iterator[RunningStack]:
    """Start `askline up` over `folder` as a user would, on free ports; stopped in every case."""
    if get_settings().database.url is not None:
        raise ConfigurationError(
            "ASKLINE_DATABASE__URL is set, and a bench must not write into that database.",
            fix="Unset it for the bench.",
        )
    settings = get_settings().model_copy(update={"data_dir": folder, "landing_dir": folder / "landing"})
    folder.mkdir(parents=True, exist_ok=True)
    folders = {"ASKLINE_DATA_DIR": str(folder), "ASKLINE_LANDING_DIR": str(settings.landing_folder)}
    env = {**os.environ, **folders, **free_ports()}
    log = folder / "up.log"
    log.unlink(missing_ok=True)
    up = Child("askline up", [sys.executable, "-m", "cli.main", "up", "--json"], env, log, Path(__file__).parents[1])
    started = time.monotonic()
    try:
        up.start()

        def ready() -> bool:
            if not up.alive:
                raise Unavailable(f"The stack did not start.\n{up.log_tail()}")
            return '"dagster_url"' in up.log_tail()

        until(ready, "the stack is ready", _START_TIMEOUT_S, every_s=0.05)
        seconds = time.monotonic() - started
        addresses = running(settings)
        if addresses is None:
            raise Unavailable(f"The stack stopped right after its start.\n{up.log_tail()}")
        stack = RunningStack(settings, addresses, seconds)
        try:
            yield stack
        finally:
            if "engine" in stack.__dict__:
                stack.engine.dispose()
    finally:
        with uninterrupted():
            if up.process is not None:
                stop(up.process, [up])
            postgres.stop(postgres_folder(settings))


@contextmanager
def postgres_of_ones_own() -> Iterator[tuple[str, psutil.Process]]:
    """(URL, postmaster). Not under the user's own folders, which another user that the server runs as cannot enter."""
    with tempfile.TemporaryDirectory(prefix="askline-pg-") as name:
        folder = Path(name) / "pg"
        Path(name).chmod(0o755)
        url = postgres.start(folder)
        try:
            yield url, psutil.Process(postgres.running_pid(folder))
        finally:
            postgres.stop(folder)


def free_ports() -> dict[str, str]:
    """Settings for two ports of the system's choice, away from the defaults, which other stacks here try first."""
    with socket.socket() as one, socket.socket() as other:
        for probe in (one, other):
            probe.bind(("127.0.0.1", 0))
        service, dagster = (str(probe.getsockname()[1]) for probe in (one, other))
    return {"ASKLINE_SERVICE__PORT": service, "ASKLINE_DAGSTER__PORT": dagster}


def stop(process: subprocess.Popen[bytes], children: Sequence[Child] = ()) -> None:
    """Ask the program that owns a stack to end, and give it the time to stop what it has started."""
    with suppress(ProcessLookupError):
        process.send_signal(signal.SIGTERM)
    try:
        process.wait(_STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        stop_all(children)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """A second Ctrl-C must not leave something running."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def pss_bytes(process: psutil.Process) -> int:
    """Proportional set size: private pages, and of shared ones this process's share. 0 for a process that has ended."""
    try:
        lines = Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)


def tree(process: psutil.Process) -> list[psutil.Process]:
    """It and all that it has started; nothing when it has ended."""
    try:
        return [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def cpu_seconds(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return float(times.user + times.system + times.children_user + times.children_system)
