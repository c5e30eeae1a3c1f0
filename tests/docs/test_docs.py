"""The docs say what the code has: nothing missing, nothing that is gone. `make check` runs these.

Nothing is started: the app object is built without its lifespan, Dagster's definitions are only loaded.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import typer
from fastapi.testclient import TestClient
from markdown_pages import ROOT, anchors, code, links, pages, read, rows, sections
from settings_page import PAGE, PREFIX, names, replaced, settings

from foundation import media_kinds
from foundation.errors import AsklineError, ProcessingFailed
from foundation.registry.tables import metadata
from foundation.types import Stage
from pipelines.sensors.uploads import landing_events
from query_service.api.records import CARD_IGNORED

pytestmark = pytest.mark.docs

COMMAND = "askline"


# Settings


def test_the_settings_page_is_the_settings_tree() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == replaced(page), "run: python tests/docs/settings_page.py"


def test_every_setting_says_what_it_means() -> None:
    assert [name for _, name, field in settings() if not field.description] == []


def test_every_variable_that_is_named_anywhere_exists_and_is_documented() -> None:
    documented = code(read("docs/settings.md"))
    groups = {name.partition("__")[0] for name in names() if "__" in name}
    unknown = {}
    for path in _sources():
        for variable, more in re.findall(rf"\b({PREFIX}[A-Z0-9_]*[A-Z0-9])(_*)", path.read_text(encoding="utf-8")):
            if variable not in documented and not (more and variable in groups):
                unknown[variable] = path.relative_to(ROOT).as_posix()
    assert unknown == {}


def _sources() -> Iterator[Path]:
    folders = ("foundation", "pipelines", "query_service", "cli", "bench", "dbt_project/models", "docs", "samples")
    found = chain.from_iterable((ROOT / folder).rglob("*") for folder in folders)
    yield from (p for p in found if p.suffix in (".py", ".md", ".js", ".html", ".yml", ".yaml"))
    yield from (ROOT / name for name in ("README.md", "Makefile", "dagster.yaml", "dbt_project/profiles.yml"))


# The API


def _operations(openapi: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {
        f"{method.upper()} {path}": operation
        for path, methods in openapi["paths"].items()
        for method, operation in methods.items()
    }


def _inputs(openapi: dict[str, Any], operation: dict[str, Any]) -> set[str]:
    """Names of an operation's query parameters and of the fields of its body."""
    found = {p["name"] for p in operation.get("parameters", []) if p["in"] == "query"}
    for content in operation.get("requestBody", {}).get("content", {}).values():
        schema = openapi["components"]["schemas"][content["schema"]["$ref"].rpartition("/")[2]]
        found |= set(schema["properties"])
    return found


def test_the_api_page_has_every_route_and_no_other(openapi: dict[str, Any]) -> None:
    documented = {title for title in sections(read("docs/api.md"), 3) if re.match(r"[A-Z]+ /", title)}
    assert documented == set(_operations(openapi))


def test_the_api_page_has_every_input_of_a_route_and_no_other(openapi: dict[str, Any]) -> None:
    documented = sections(read("docs/api.md"), 3)
    differing = {}
    for route, operation in _operations(openapi).items():
        tables = [table for table in _tables(documented[route]) if table[0][0] in ("field", "parameter")]
        named = {row[0] for table in tables for row in table[1:]}
        if named != _inputs(openapi, operation):
            differing[route] = named ^ _inputs(openapi, operation)
    assert differing == {}


def _tables(text: str) -> list[list[list[str]]]:
    """Each table of a section with its header row first."""
    found = []
    for block in re.split(r"\n\s*\n", text):
        lines = block.strip().splitlines()
        if len(lines) > 1 and lines[1].startswith("|---"):
            found.append([[cell.strip() for cell in lines[0].split("|")[1:-1]], *rows("\n".join(lines[1:]))])
    return found


def test_the_api_page_has_every_field_of_an_answer_and_of_a_document(openapi: dict[str, Any]) -> None:
    from query_service.answer import Answer
    from query_service.api.records import DocumentRecord

    schemas, documented = openapi["components"]["schemas"], sections(read("docs/api.md"), 2)
    answer, record = code(documented["Answer"]), code(documented["Document record"])
    assert set(Answer.model_fields) == {name for row in rows(documented["Answer"]) for name in _listed(row[0])}
    nested = {name for part in ("Claim", "Citation", "SqlEntry", "RouteReport") for name in schemas[part]["properties"]}
    assert nested - answer == set()
    assert set(DocumentRecord.model_fields) == {
        name for row in rows(documented["Document record"]) for name in _listed(row[0])
    }
    assert {"code", "message", "fix"} <= record


def _listed(cell: str) -> list[str]:
    return [name.strip("` ") for name in cell.split(",")]


def test_the_architecture_has_every_node_of_the_question_graph(app: Any) -> None:
    from query_service.question_graph import build_graph, topology

    nodes = set(topology(build_graph(app.state.services))["nodes"]) - {"__start__", "__end__"}
    documented = {row[0] for row in rows(sections(read("docs/architecture.md"), 2)["The question graph"])}
    assert documented == nodes


# Dagster


@pytest.fixture(scope="module")
def repository() -> Any:
    import dagster as dg

    from pipelines import definitions
    from pipelines.transform import definitions as transform

    return dg.Definitions.merge(definitions.defs, transform.defs).get_repository_def()


@pytest.fixture(scope="module")
def assets_page() -> dict[str, str]:
    return sections(read("docs/assets.md"), 2)


def test_the_assets_page_has_every_asset_with_its_group(repository: Any, assets_page: dict[str, str]) -> None:
    graph = repository.asset_graph
    actual = {
        (
            key.to_user_string(),
            graph.get(key).group_name,
            frozenset(p.to_user_string() for p in graph.get(key).parent_keys),
        )
        for key in graph.get_all_asset_keys()
    }
    documented = {(row[0], row[1], frozenset(_parents(row[2]))) for row in rows(assets_page["Assets"])}
    assert documented == actual


def _parents(cell: str) -> list[str]:
    return [name for name in _listed(cell) if " " not in name]


def test_the_assets_page_has_every_check_on_its_asset(repository: Any, assets_page: dict[str, str]) -> None:
    actual = {(key.name, key.asset_key.to_user_string()) for key in repository.asset_graph.asset_check_keys}
    assert {(row[0], row[1]) for row in rows(assets_page["Checks"])} == actual


def test_the_assets_page_has_every_job_sensor_and_schedule(repository: Any, assets_page: dict[str, str]) -> None:
    jobs = {job.name for job in repository.get_all_jobs() if not job.name.startswith("__")}
    assert {row[0] for row in rows(assets_page["Jobs"])} == jobs
    # In the place of another with the objects on AWS.
    found = [*repository.sensor_defs, landing_events]
    sensors = {(sensor.name, str(sensor.minimum_interval_seconds)) for sensor in found}
    assert {(row[0], row[1]) for row in rows(assets_page["Sensors"])} == sensors
    schedules = {(schedule.name, schedule.cron_schedule) for schedule in repository.schedule_defs}
    assert {(row[0], row[1]) for row in rows(assets_page["Schedules"])} == schedules


# The command line


def _commands(command: Any, name: str) -> Iterator[tuple[str, set[str]]]:
    inner = getattr(command, "commands", None)
    if inner:
        for part, found in inner.items():
            yield from _commands(found, f"{name} {part}")
    else:
        options = chain.from_iterable(p.opts for p in command.params if p.param_type_name == "option")
        yield name, {option for option in options if option.startswith("--")}


def test_the_operating_page_has_every_command_with_every_option() -> None:
    from cli.main import app

    documented = {
        title: {row[0] for row in rows(text)}
        for title, text in sections(read("docs/operating.md"), 3).items()
        if title.startswith(f"{COMMAND} ")
    }
    assert documented == dict(_commands(typer.main.get_command(app), COMMAND))


def test_the_operating_page_has_every_make_target() -> None:
    phony = re.search(r"^\.PHONY: (.+)$", read("Makefile"), re.MULTILINE)
    assert phony is not None
    documented = {row[0] for row in rows(sections(read("docs/operating.md"), 2)["Make targets"])}
    assert documented == {f"make {target}" for target in phony[1].split()}


# Errors, files, tables


def _classes(base: type[AsklineError] = AsklineError) -> Iterator[type[AsklineError]]:
    yield base
    for child in base.__subclasses__():
        yield from _classes(child)


def test_the_operating_page_has_every_error_code_with_its_status() -> None:
    documented = {row[0]: row[1] for row in rows(sections(read("docs/operating.md"), 2)["Error codes"])}
    of_http = {"method_not_allowed", "http_error"}  # query_service.problems and cli.client, not classes
    assert set(documented) == {kind.code for kind in _classes()} | of_http
    for kind in _classes():
        shown = "failed" if issubclass(kind, ProcessingFailed) else str(kind.status)
        assert shown in documented[kind.code], kind.code


def test_what_the_service_says_of_an_unknown_address_or_method_is_documented(app: Any) -> None:
    documented = {row[0]: row[1] for row in rows(sections(read("docs/operating.md"), 2)["Error codes"])}
    client = TestClient(app)  # not entered: the lifespan, which needs Postgres, does not run
    for response in (client.get("/nowhere"), client.put("/health/live")):
        assert documented[response.json()["code"]] == str(response.status_code)


def test_the_operating_page_has_every_warning_of_a_file() -> None:
    raised = set()
    for path in (ROOT / "pipelines" / "parsing").rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and _makes_warning(call.func) and isinstance(call.args[0], ast.Constant):
                raised.add(call.args[0].value)
    raised.add(CARD_IGNORED)  # not of a parser
    documented = {row[0] for row in rows(sections(read("docs/operating.md"), 2)["Warnings of a file"])}
    assert documented == raised


def _makes_warning(function: ast.expr) -> bool:
    if isinstance(function, ast.Attribute):
        owner = function.value
        return function.attr == "add" and isinstance(owner, ast.Name) and owner.id == "warnings"
    return isinstance(function, ast.Name) and function.id == "FileWarning"


def test_the_operating_page_has_every_extension_that_is_read() -> None:
    cells = [row[0] for row in rows(sections(read("docs/operating.md"), 2)["Supported files"])]
    documented = set(re.findall(r"\.([a-z0-9]+)", " ".join(cells)))
    assert documented == set(media_kinds.BY_EXTENSION)


def test_the_architecture_has_every_table_of_the_registry_and_every_stage() -> None:
    page = sections(read("docs/architecture.md"), 2)
    assert {row[0] for row in rows(page["The registry"])} == {table.name for table in metadata.tables.values()}
    assert {str(stage) for stage in Stage} - code(page["The life of a version"]) == set()


# Pages


def test_every_link_into_the_repository_resolves() -> None:
    broken = []
    for page in pages():
        for target, anchor in links(page):
            if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
                broken.append(f"{page.relative_to(ROOT)}: {target.name}{'#' if anchor else ''}{anchor}")
    assert broken == []


def test_the_index_lists_every_page_and_every_decision() -> None:
    listed = {target for target, _ in links(ROOT / "docs" / "README.md")}
    there = set((ROOT / "docs").rglob("*.md")) - {ROOT / "docs" / "README.md"}
    assert there - listed == set()


def test_the_changelog_has_the_version_of_the_project() -> None:
    version = tomllib.loads(read("pyproject.toml"))["project"]["version"]
    assert version in sections(read("CHANGELOG.md"), 2)


def test_the_licence_is_the_one_that_the_project_names() -> None:
    assert tomllib.loads(read("pyproject.toml"))["project"]["license"] == "Apache-2.0"
    assert re.search(r"Apache License\s+Version 2\.0", read("LICENSE"))
