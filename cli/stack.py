"""The whole stack on one machine: Postgres, Dagster's code server, daemon and webserver, the query service."""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import httpx
import psutil
import yaml
from filelock import FileLock, Timeout

from cli.nursery import Nursery, Program
from cli.processes import Child, free_port, stop_all
from foundation.adapters.embedded import postgres
from foundation.errors import ConfigurationError, Unavailable
from foundation.registry.address import passwords, postgres_folder, registry_url
from foundation.settings import Settings

ROOT = Path(__file__).resolve().parent.parent
STATE_FILE = "up.json"
CODE_LOCATIONS = {"askline": "pipelines.definitions", "transform": "pipelines.transform.definitions"}
"""As in workspace.yaml, which plain `dagster dev` reads."""
_SERVICE, _WEBSERVER = "query service", "Dagster webserver"
_START_TIMEOUT_S = 300
_POSTGRES_ATTEMPTS = 10
_PORT_ATTEMPTS = 5


@dataclass(frozen=True)
class Addresses:
    pid: int
    service_url: str
    dagster_url: str
    started: float = 0.0
    """When process `pid` began, in seconds since 1970: a later process may get the same number."""


class _PortLost(Exception):
    """Another program took the port between our look at it and our child's."""

    def __init__(self, port: int) -> None:
        super().__init__(f"port {port} was taken by another program")
        self.port = port


def running(settings: Settings) -> Addresses | None:
    """The stack that runs over this data folder, if one does."""
    path = settings.folder / STATE_FILE
    try:
        found = Addresses(**json.loads(path.read_text()))
        process = psutil.Process(found.pid)
    except (FileNotFoundError, NotADirectoryError, psutil.NoSuchProcess, ValueError, TypeError):
        return None
    return found if abs(process.create_time() - found.started) < 1 else None


class Stack:
    """Starts, watches and stops the programs. `tell` gets a line for each step."""

    def __init__(self, settings: Settings, tell: Callable[[str], None]) -> None:
        self.settings = settings
        self.tell = tell
        self.folder = settings.folder
        self.children: list[Child] = []
        self.addresses: Addresses | None = None
        self._ports: dict[str, tuple[str, int]] = {}
        self._failed_starts = 0
        """Of Postgres, one after another."""
        # Held while the stack lives. The kernel frees it with the process, whatever ended that.
        self._lock = FileLock(self.folder / "up.lock", thread_local=False)
        self._nursery = Nursery(self._environment(), self.folder / "logs" / "nursery.log", ROOT)

    def start(self) -> Addresses:
        """All programs up and answering.

        ConfigurationError when a stack runs here already or the folder cannot be written; Unavailable with a log.
        """
        other = running(self.settings)
        if other is not None:
            raise ConfigurationError(
                f"Askline runs already over {self.folder}: {other.service_url}",
                fix=f"Use it, or stop process {other.pid} first.",
            )
        self._take_folder()
        self._nursery.start()
        self._start_postgres()
        lost: list[int] = []
        while True:
            self.addresses = self._choose_ports(lost)
            self._prepare_dagster()
            self._make_children()
            for child in self.children:
                child.start()
            (self.folder / STATE_FILE).write_text(json.dumps(asdict(self.addresses)))
            try:
                self._wait_until_ready()
            except _PortLost as error:
                lost.append(error.port)
                stop_all(self.children)
                if len(lost) == _PORT_ATTEMPTS:
                    raise Unavailable(f"No port could be kept: {error}.", fix="Set ASKLINE_SERVICE__PORT.") from error
                self.tell(f"{error}: the next free one is tried")
            else:
                return self.addresses

    def watch_once(self) -> None:
        """Start again what has died, Postgres too. Unavailable when something dies over and over."""
        if self.settings.database.url is None and postgres.running_pid(postgres_folder(self.settings)) is None:
            self.tell("Postgres has stopped: starting it again")
            self._start_postgres_again()
        for child in self.children:
            if child.alive:
                continue
            if child.name in self._ports and self._lost_port(child) is not None:
                raise Unavailable(
                    f"{child.name} has stopped and cannot start again: port {self._ports[child.name][1]} is taken now.",
                    fix="End the program that took it, or start Askline again: it takes the next free port.",
                )
            if child.restarts_too_often:
                raise Unavailable(f"{child.name} dies again and again.\n{child.log_tail()}", fix=f"Read {child.log}.")
            self.tell(f"{child.name} has stopped: starting it again")
            child.start()

    def stop(self) -> None:
        """Stop all that was started, in order, and what a killed program left behind; nothing of another stack."""
        if not self._lock.is_locked:
            return
        stop_all(self.children)
        self._nursery.close()
        if self.settings.database.url is None:
            postgres.stop(postgres_folder(self.settings))
        with suppress(FileNotFoundError):
            (self.folder / STATE_FILE).unlink()
        self._lock.release()

    def _take_folder(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock.acquire(timeout=0)
        except Timeout as error:
            raise ConfigurationError(
                f"Another `askline up` is starting or stopping over {self.folder}.", fix="Wait for it, or stop it."
            ) from error
        except OSError as error:
            raise ConfigurationError(
                f"ASKLINE_DATA_DIR: {self.folder} cannot be written: {error.strerror}.",
                fix="Name a folder that you may write, or correct its permissions.",
            ) from error

    def _choose_ports(self, lost: Sequence[int]) -> Addresses:
        """The wanted ports or the next free ones. They may be lost again before a child takes them: see _lost_port."""
        service, dagster = self.settings.service, self.settings.dagster
        service_port = free_port(service.host, service.port, lost)
        dagster_port = free_port(dagster.host, dagster.port, (*lost, service_port))
        self._ports = {_SERVICE: (service.host, service_port), _WEBSERVER: (dagster.host, dagster_port)}
        for name, wanted, got in ((_SERVICE, service.port, service_port), (_WEBSERVER, dagster.port, dagster_port)):
            if wanted != got:
                self.tell(f"port {wanted} is taken: the {name} listens on {got}")
        return Addresses(
            os.getpid(),
            f"http://{_dialled(service.host)}:{service_port}",
            f"http://{dagster.host}:{dagster_port}",
            psutil.Process().create_time(),
        )

    def _lost_port(self, child: Child) -> int | None:
        """The port of a child that has died, where another program has it now."""
        host, port = self._ports[child.name]
        return None if free_port(host, port) == port else port

    def _start_postgres(self) -> None:
        registry_url(self.settings, start=True)
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as apart:
            apart.submit(_migrate, self.settings).result()

    def _start_postgres_again(self) -> None:
        """Its tables are there. What stops it, or a connection to it, while it starts is no reason to end the rest."""
        try:
            registry_url(self.settings, start=True)
        except Unavailable as error:
            self._failed_starts += 1
            if self._failed_starts == _POSTGRES_ATTEMPTS:
                raise
            self.tell(f"{error.message.splitlines()[0]} It is tried again.")
        else:
            self._failed_starts = 0

    def _environment(self) -> dict[str, str]:
        """Of all programs."""
        env = {
            **os.environ,
            "DAGSTER_DISABLE_TELEMETRY": "1",
            "DO_NOT_TRACK": "1",
            "MALLOC_ARENA_MAX": "2",  # glibc's default of 8 a core keeps freed memory in every thread's arena
        }
        # Where it is set, our own modules would be compiled anew in every spawned run.
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        return env

    def _prepare_dagster(self) -> None:
        """DAGSTER_HOME in the data folder: this repository's dagster.yaml with warm run workers, and a code server a
        location for all."""
        home = self.folder / "dagster"
        home.mkdir(exist_ok=True)
        instance = yaml.safe_load((ROOT / "dagster.yaml").read_text())
        instance["run_monitoring"]["start_timeout_seconds"] = self.settings.dagster.start_timeout_s
        if self.settings.dagster.run_workers:
            instance["run_launcher"] = {"module": "pipelines.run_launcher", "class": "WarmRunLauncher", "config": {}}
        (home / "dagster.yaml").write_text(yaml.safe_dump(instance))
        servers = [
            {"grpc_server": {"socket": str(self._socket(name)), "location_name": name}} for name in CODE_LOCATIONS
        ]
        (home / "workspace.yaml").write_text(yaml.safe_dump({"load_from": servers}))
        for name in CODE_LOCATIONS:
            self._socket(name).unlink(missing_ok=True)

    def _socket(self, location: str) -> Path:
        """Unix sockets have short names; a deep data folder gets one under the temporary folder."""
        path = self.folder / "dagster" / f"{location}.sock"
        return path if len(str(path)) < 100 else Path(tempfile.gettempdir()) / f"{location}-{os.getpid()}.sock"

    def _make_children(self) -> None:
        assert self.addresses is not None
        service_port, dagster_port = self._ports[_SERVICE][1], self._ports[_WEBSERVER][1]
        env = {
            **self._environment(),
            "ASKLINE_DATA_DIR": str(self.folder),
            "ASKLINE_LANDING_DIR": str(self.settings.landing_folder),
            "ASKLINE_SERVICE__PORT": str(service_port),
            "ASKLINE_SERVICE__PUBLIC_URL": self.settings.service.public_url or self.addresses.service_url,
            "ASKLINE_DAGSTER__URL": self.addresses.dagster_url,
            "DAGSTER_HOME": str(self.folder / "dagster"),
        }
        workspace = str(self.folder / "dagster" / "workspace.yaml")
        python = sys.executable
        commands = {
            **{
                f"code server {name}": [python, "-m", "dagster", "api", "grpc", "--socket", str(self._socket(name)),
                                        "-m", module, "--location-name", name]
                for name, module in CODE_LOCATIONS.items()
            },
            _SERVICE: [python, "-m", "query_service.app"],
            "Dagster daemon": [python, "-m", "dagster._daemon", "run", "-w", workspace],
            _WEBSERVER: [python, "-m", "dagster_webserver", "-h", self.settings.dagster.host, "-p",
                                  str(dagster_port), "-w", workspace],
        }  # fmt: skip
        if workers := self.settings.dagster.run_workers:
            commands["run workers"] = [
                *(python, "-m", "celery", "-A", "pipelines.run_worker", "worker", "-n", "askline@%h", "-l", "WARNING"),
                *("--pool", "prefork", "--autoscale", f"{workers},1", "--without-gossip", "--without-mingle"),
            ]
        logs = self.folder / "logs"
        self.children = [
            Program(name, command, env, logs / f"{name.replace(' ', '-').lower()}.log", ROOT, nursery=self._nursery)
            for name, command in commands.items()
        ]

    def _wait_until_ready(self) -> None:
        assert self.addresses is not None
        probes = {
            _SERVICE: f"{self.addresses.service_url}/health/ready",
            _WEBSERVER: f"{self.addresses.dagster_url}/graphql",
        }
        by_name = {child.name: child for child in self.children}
        deadline = time.monotonic() + _START_TIMEOUT_S
        while probes:
            for child in self.children:
                if child.alive:
                    continue
                if child.name in self._ports and (port := self._lost_port(child)) is not None:
                    raise _PortLost(port)
                raise Unavailable(f"{child.name} did not start.\n{child.log_tail()}", fix=f"Read {child.log}.")
            for name, url in list(probes.items()):
                # Another stack may answer there: only what our own child says counts.
                if by_name[name].listens_on(self._ports[name][1]) and _answers(url):
                    self.tell(f"{name} is up")
                    del probes[name]
            if time.monotonic() > deadline:
                raise Unavailable(f"{', '.join(probes)} did not answer within {_START_TIMEOUT_S} s.")
            time.sleep(0.2)


def _migrate(settings: Settings) -> None:
    """In a process of its own: SQLAlchemy and Alembic would stay in ours, which waits for days."""
    from foundation.registry.database import create_registry_engine, migrate

    engine = create_registry_engine(registry_url(settings, start=False), password=passwords(settings))
    migrate(engine)
    engine.dispose()


def _answers(url: str) -> bool:
    """Whether the page is there; of Dagster, whether it has loaded the code location, so that it can start runs."""
    try:
        if not url.endswith("/graphql"):
            return httpx.get(url, timeout=2).status_code == 200
        loaded = httpx.post(
            url, json={"query": "{ repositoriesOrError { ... on RepositoryConnection { nodes { id } } } }"}
        )
        return len(loaded.json()["data"]["repositoriesOrError"]["nodes"]) == len(CODE_LOCATIONS)
    except (httpx.HTTPError, KeyError, TypeError, ValueError):
        return False


def _dialled(host: str) -> str:
    """The address by which a listener on every interface is reached from here."""
    return "127.0.0.1" if host in ("0.0.0.0", "::") else host
