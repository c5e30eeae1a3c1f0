"""One stack over a folder; a port that is lost while starting is replaced; nobody else's answer counts as ours."""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
import yaml

from cli import stack as module
from cli.processes import Child
from cli.stack import STATE_FILE, Stack, running
from foundation.errors import ConfigurationError, Unavailable
from foundation.settings import DagsterSettings, ServiceSettings, Settings

# Answers like the query service and like Dagster's webserver, under the name that it was given.
SERVER = """
import http.server, json, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.reply({"name": sys.argv[1]})
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.reply({"data": {"repositoriesOrError": {"nodes": [1, 2]}}})
    def reply(self, body):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())
http.server.HTTPServer.allow_reuse_address = False
http.server.HTTPServer(("127.0.0.1", int(sys.argv[2])), Handler).serve_forever()
"""


class SmallStack(Stack):
    """A real supervisor of small programs. `before_start` runs between the choice of the ports and the children."""

    def __init__(self, settings: Settings, before_start: Callable[[SmallStack], None]) -> None:
        self.told: list[str] = []
        super().__init__(settings, self.told.append)
        self.before_start = before_start

    def _start_postgres(self) -> None:
        return

    def _make_children(self) -> None:
        self.before_start(self)
        self.children = []
        for name, (_, port) in self._ports.items():
            command = [sys.executable, "-c", SERVER, name, str(port)]
            self.children.append(Child(name, command, os.environ, self.folder / f"{port}.log", self.folder))


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setattr(module.postgres, "stop", lambda folder: None)
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as two:
        ports = one.getsockname()[1], two.getsockname()[1]
    return Settings(
        data_dir=tmp_path / "data", service=ServiceSettings(port=ports[0]), dagster=DagsterSettings(port=ports[1])
    )


def test_a_port_that_another_stack_takes_meanwhile_is_replaced_and_its_answer_is_not_taken_for_ours(
    settings: Settings, tmp_path: Path
) -> None:
    other: list[Child] = []

    def steal(stack: SmallStack) -> None:
        if other:
            return
        port = stack._ports["query service"][1]
        thief = Child("thief", [sys.executable, "-c", SERVER, "thief", str(port)], os.environ, tmp_path / "t", tmp_path)
        thief.start()
        other.append(thief)
        while not thief.listens_on(port):
            assert thief.alive, thief.log_tail()

    stack = SmallStack(settings, steal)
    try:
        addresses = stack.start()
        assert httpx.get(f"{addresses.service_url}/").json() == {"name": "query service"}
        assert not addresses.service_url.endswith(f":{settings.service.port}")
        assert any("was taken by another program" in line for line in stack.told)
        assert httpx.get(f"http://127.0.0.1:{settings.service.port}/").json() == {"name": "thief"}
        assert running(settings) == addresses
    finally:
        stack.stop()
        for thief in other:
            assert thief.process is not None
            thief.process.kill()
            thief.process.wait()
    assert running(settings) is None


def test_a_second_stack_is_refused_and_its_stop_leaves_the_first_alone(settings: Settings) -> None:
    first = SmallStack(settings, lambda stack: None)
    try:
        addresses = first.start()
        second = SmallStack(settings, lambda stack: None)
        with pytest.raises(ConfigurationError, match="runs already"):
            second.start()
        second.stop()
        assert running(settings) == addresses
        (settings.folder / STATE_FILE).unlink()  # as if the first were still starting
        with pytest.raises(ConfigurationError, match="starting or stopping"):
            SmallStack(settings, lambda stack: None).start()
        assert all(child.alive for child in first.children)
    finally:
        first.stop()


def test_dagster_gives_up_a_run_that_no_worker_begins_when_the_settings_say_so(settings: Settings) -> None:
    impatient = settings.dagster.model_copy(update={"start_timeout_s": 15})
    stack = SmallStack(settings.model_copy(update={"dagster": impatient}), lambda stack: None)
    try:
        stack.start()
        made = yaml.safe_load((settings.folder / "dagster" / "dagster.yaml").read_text())
        assert made["run_monitoring"]["start_timeout_seconds"] == 15
    finally:
        stack.stop()


def test_a_process_that_got_the_number_of_a_dead_stack_is_not_it(settings: Settings) -> None:
    settings.folder.mkdir()
    state = {"pid": os.getpid(), "service_url": "http://x", "dagster_url": "http://y", "started": 1.0}
    (settings.folder / STATE_FILE).write_text(json.dumps(state))
    assert running(settings) is None


def test_postgres_that_does_not_start_at_once_is_tried_again_though_not_for_ever(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: list[bool] = []

    def start_postgres(_: Settings, *, start: bool) -> str:
        tries.append(start)
        if len(tries) == 3:
            return "postgresql://"
        raise Unavailable("Postgres closed the connection.\nIts log.")

    monkeypatch.setattr(module, "registry_url", start_postgres)
    stack = SmallStack(settings, lambda _: None)
    for _ in range(3):
        stack.watch_once()
    stopped, again = "Postgres has stopped: starting it again", "Postgres closed the connection. It is tried again."
    assert stack.told == [stopped, again, stopped, again, stopped]
    with pytest.raises(Unavailable):
        for _ in range(10):
            stack.watch_once()
    assert len(tries) == 13
