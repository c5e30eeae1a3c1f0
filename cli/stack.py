"""The whole stack on one machine: Postgres, Dagster's code server, daemon and webserver, the query service."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import httpx
import yaml

from cli.processes import Child, free_port, stop_all
from foundation.adapters.embedded import postgres
from foundation.errors import ConfigurationError, Unavailable
from foundation.registry.database import create_registry_engine, migrate
from foundation.settings import Settings
from foundation.stores import postgres_folder, registry_url

ROOT = Path(__file__).resolve().parent.parent
STATE_FILE = "up.json"
CODE_LOCATIONS = {"askline": "pipelines.definitions", "transform": "pipelines.transform.definitions"}
"""As in workspace.yaml, which plain `dagster dev` reads."""
_START_TIMEOUT_S = 120


@dataclass(frozen=True)
class Addresses:
    pid: int
    service_url: str
    dagster_url: str


def running(settings: Settings) -> Addresses | None:
    """The stack that runs over this data folder, if one does."""
    path = settings.folder / STATE_FILE
    try:
        found = Addresses(**json.loads(path.read_text()))
        os.kill(found.pid, 0)
    except (FileNotFoundError, ProcessLookupError, ValueError, TypeError):
        return None
    except PermissionError:
        pass  # it runs, as somebody else
    return found


class Stack:
    """Starts, watches and stops the programs. `tell` gets a line for each step."""

    def __init__(self, settings: Settings, tell: Callable[[str], None]) -> None:
        self.settings = settings
        self.tell = tell
        self.folder = settings.folder
        self.children: list[Child] = []
        self.addresses: Addresses | None = None

    def start(self) -> Addresses:
        """All programs up and answering. ConfigurationError when a stack runs here already; Unavailable with a log."""
        other = running(self.settings)
        if other is not None:
            raise ConfigurationError(
                f"Askline runs already over {self.folder}: {other.service_url}",
                fix=f"Use it, or stop process {other.pid} first.",
            )
        self.folder.mkdir(parents=True, exist_ok=True)
        self._start_postgres()
        service, dagster = self.settings.service, self.settings.dagster
        service_port = free_port(service.host, service.port)
        dagster_port = free_port(dagster.host, dagster.port, (service_port,))
        self.addresses = Addresses(
            os.getpid(), f"http://{_dialled(service.host)}:{service_port}", f"http://{dagster.host}:{dagster_port}"
        )
        for name, wanted, got in (
            ("query service", service.port, service_port),
            ("Dagster", dagster.port, dagster_port),
        ):
            if wanted != got:
                self.tell(f"port {wanted} is taken: the {name} listens on {got}")
        self._prepare_dagster()
        self._make_children(service_port, dagster_port)
        for child in self.children:
            child.start()
        (self.folder / STATE_FILE).write_text(json.dumps(asdict(self.addresses)))
        self._wait_until_ready()
        return self.addresses

    def watch_once(self) -> None:
        """Start again what has died, Postgres too. Unavailable when something dies over and over."""
        if self.settings.database.url is None and postgres.running_pid(postgres_folder(self.settings)) is None:
            self.tell("Postgres has stopped: starting it again")
            self._start_postgres()
        for child in self.children:
            if child.alive:
                continue
            if child.restarts_too_often:
                raise Unavailable(f"{child.name} dies again and again.\n{child.log_tail()}", fix=f"Read {child.log}.")
            self.tell(f"{child.name} has stopped: starting it again")
            child.start()

    def stop(self) -> None:
        """Stop everything that was started, in order; what a killed program left behind too."""
        stop_all(self.children)
        if self.settings.database.url is None:
            postgres.stop(postgres_folder(self.settings))
        with suppress(FileNotFoundError):
            (self.folder / STATE_FILE).unlink()

    def _start_postgres(self) -> None:
        url = registry_url(self.settings, start=True)
        engine = create_registry_engine(url)
        migrate(engine)
        engine.dispose()

    def _prepare_dagster(self) -> None:
        """DAGSTER_HOME in the data folder: this repository's dagster.yaml, and a code server a location for all."""
        home = self.folder / "dagster"
        home.mkdir(exist_ok=True)
        (home / "dagster.yaml").write_bytes((ROOT / "dagster.yaml").read_bytes())
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

    def _make_children(self, service_port: int, dagster_port: int) -> None:
        assert self.addresses is not None
        env = {
            **os.environ,
            "ASKLINE_DATA_DIR": str(self.folder),
            "ASKLINE_LANDING_DIR": str(self.settings.landing_folder),
            "ASKLINE_SERVICE__PORT": str(service_port),
            "ASKLINE_SERVICE__PUBLIC_URL": self.settings.service.public_url or self.addresses.service_url,
            "ASKLINE_DAGSTER__URL": self.addresses.dagster_url,
            "DAGSTER_HOME": str(self.folder / "dagster"),
            "DAGSTER_DISABLE_TELEMETRY": "1",
            "DO_NOT_TRACK": "1",
        }
        # Where it is set, our own modules would be compiled anew in every spawned run.
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        workspace = str(self.folder / "dagster" / "workspace.yaml")
        python = sys.executable
        commands = {
            **{
                f"code server {name}": [python, "-m", "dagster", "api", "grpc", "--socket", str(self._socket(name)),
                                        "-m", module, "--location-name", name]
                for name, module in CODE_LOCATIONS.items()
            },
            "query service": [python, "-m", "query_service.app"],
            "Dagster daemon": [python, "-m", "dagster._daemon", "run", "-w", workspace],
            "Dagster webserver": [python, "-m", "dagster_webserver", "-h", self.settings.dagster.host, "-p",
                                  str(dagster_port), "-w", workspace],
        }  # fmt: skip
        logs = self.folder / "logs"
        self.children = [
            Child(name, command, env, logs / f"{name.replace(' ', '-').lower()}.log", ROOT)
            for name, command in commands.items()
        ]

    def _wait_until_ready(self) -> None:
        assert self.addresses is not None
        probes = {
            "query service": f"{self.addresses.service_url}/health/ready",
            "Dagster": f"{self.addresses.dagster_url}/graphql",
        }
        deadline = time.monotonic() + _START_TIMEOUT_S
        while probes:
            for child in self.children:
                if not child.alive:
                    raise Unavailable(f"{child.name} did not start.\n{child.log_tail()}", fix=f"Read {child.log}.")
            for name, url in list(probes.items()):
                if _answers(url):
                    self.tell(f"{name} is up")
                    del probes[name]
            if time.monotonic() > deadline:
                raise Unavailable(f"{', '.join(probes)} did not answer within {_START_TIMEOUT_S} s.")
            time.sleep(0.2)


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
