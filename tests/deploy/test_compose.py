"""compose.yaml names what exists: settings of the tree, pinned images, folders of the image, services that it has."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from foundation.settings import Settings
from tests.deploy.dockerfile import ROOT

FILE = ROOT / "deploy" / "compose.yaml"
TEXT = FILE.read_text(encoding="utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load(TEXT)
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = [name for name, service in SERVICES.items() if service["image"].startswith("askline:")]
SECRETS = {"POSTGRES_PASSWORD": "p1", "READER_PASSWORD": "p2", "REDIS_PASSWORD": "p3"}


def environment(service: str) -> dict[str, str]:
    """The service's environment with the passwords in place, as compose puts them there."""
    given = SERVICES[service]["environment"]
    return {name: re.sub(r"\$\{(\w+)[^}]*\}", lambda m: SECRETS[m[1]], str(value)) for name, value in given.items()}


def test_it_has_the_three_servers_and_the_programs() -> None:
    assert {"postgres", "opensearch", "redis"} | set(OURS) == set(SERVICES)
    assert set(OURS) >= {"query-service", "webserver", "daemon", "code-location"}


@pytest.mark.parametrize("service", OURS)
def test_every_setting_of_a_program_exists_and_is_taken(service: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    for name in [name for name in os.environ if name.startswith("ASKLINE_")]:
        monkeypatch.delenv(name)
    given = {name: value for name, value in environment(service).items() if name.startswith("ASKLINE_")}
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    settings = Settings()  # a group's unknown name is refused
    for name in given:
        group, _, field = name.removeprefix("ASKLINE_").lower().partition("__")
        assert group in Settings.model_fields and (not field or hasattr(getattr(settings, group), field)), name
    assert settings.adapter("search") == settings.adapter("cache") == "aws"
    assert settings.adapter("objects") == "embedded"
    assert settings.database.url is not None and settings.database.reader_password is not None


def test_every_image_is_pinned_to_a_version() -> None:
    for name, service in SERVICES.items():
        assert re.fullmatch(r"[a-z/-]+:\d+\.\d+(\.\d+)?(-[a-z]+)?", service["image"]), name


def test_no_password_stands_in_the_file() -> None:
    assert set(re.findall(r"\$\{(\w+)", TEXT)) == set(SECRETS)
    for name in SECRETS:
        assert f"${{{name}:?" in TEXT, f"{name} must be demanded, not be empty when it is forgotten"


def test_only_the_service_and_dagsters_page_have_a_port_and_on_this_machine_only() -> None:
    published = {name: service["ports"] for name, service in SERVICES.items() if service.get("ports")}
    assert set(published) == {"query-service", "webserver"}
    assert all(port.startswith("127.0.0.1:") for ports in published.values() for port in ports)


def test_everyone_waits_for_services_that_say_that_they_are_healthy() -> None:
    for name, service in SERVICES.items():
        for other, how in (service.get("depends_on") or {}).items():
            assert how == {"condition": "service_healthy"} and "healthcheck" in SERVICES[other], (name, other)


def test_folders_that_programs_are_pointed_at_are_in_the_repository() -> None:
    named = set(re.findall(r"/app/[\w./-]+", TEXT))
    assert named
    for path in named:
        assert (ROOT / Path(path).relative_to("/app")).exists(), path


def test_code_locations_are_those_of_the_workspace() -> None:
    workspace = yaml.safe_load((ROOT / "workspace.yaml").read_text(encoding="utf-8"))["load_from"]
    wanted = {(one["python_module"]["module_name"], one["python_module"]["location_name"]) for one in workspace}
    commands = [service["command"] for service in SERVICES.values() if "grpc" in (service.get("command") or [])]
    assert {(c[c.index("-m", 3) + 1], c[c.index("--location-name") + 1]) for c in commands} == wanted
    served = yaml.safe_load((ROOT / "deploy/dagster/workspace.yaml").read_text(encoding="utf-8"))["load_from"]
    by_port = {str(s["grpc_server"]["port"]): s["grpc_server"]["location_name"] for s in served}
    assert {c[c.index("-p") + 1]: c[c.index("--location-name") + 1] for c in commands} == by_port
