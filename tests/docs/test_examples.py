"""What the docs tell people to type works: addresses, statements, questions."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from markdown_pages import ROOT, fences, pages, read, rows, sections

from foundation.media_type import detect_file
from foundation.sql_guard import guard
from pipelines.parsing.dispatch import parse_tables
from pipelines.parsing.table_names import table_name

pytestmark = pytest.mark.docs


def _examples() -> str:
    return "\n".join(fence for page in pages() for fence in fences(page.read_text(encoding="utf-8")))


def test_every_curl_calls_a_route(openapi: dict[str, Any]) -> None:
    known = [re.sub(r"\{\w+\}", "[^/]+", path) for path in openapi["paths"]]
    called = set(re.findall(r"\$ASKLINE(/[^\s?\"']*)", _examples()))
    assert called
    assert [path for path in called if not any(re.fullmatch(route, path) for route in known)] == []


def test_every_body_is_one_that_its_route_takes(openapi: dict[str, Any]) -> None:
    sent = re.findall(r"\$ASKLINE(/[\w/]+)[^$]*?-d '(\{.*?\})'", _examples(), re.DOTALL)
    assert sent
    for path, body in sent:
        content = openapi["paths"][path]["post"]["requestBody"]["content"]["application/json"]
        schema = openapi["components"]["schemas"][content["schema"]["$ref"].rpartition("/")[2]]
        given = set(json.loads(body))
        assert set(schema.get("required", [])) <= given <= set(schema["properties"]), (path, body)


def test_every_statement_passes_the_guard_over_the_samples(tmp_path: Path) -> None:
    tables = _sample_tables(tmp_path)
    statements = [json.loads(body) for body in re.findall(r"-d '(\{\"statement\".*?\})'", _examples())]
    assert statements
    for asked in statements:
        dialect = "duckdb" if asked.get("engine") == "warehouse" else "postgres"
        guard(asked["statement"], dialect=dialect, tables=tables, limit=1000)


def _sample_tables(folder: Path) -> dict[str, list[str]]:
    """Table name → columns, as an upload of the samples gives them."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "samples").iterdir()):
        kind = detect_file(path, path.name).kind if path.is_file() else None
        if kind in ("csv", "xlsx"):
            workbook = parse_tables(path, path.name, kind, folder / path.stem)
            for table in workbook.tables:
                name = table_name(path.name, table.sheet, len(workbook.tables), set(found))
                found[name] = [column.name for column in table.columns]
    return found


def test_the_questions_of_the_readme_are_among_those_that_smoke_checks() -> None:
    checked = {row["question"] for row in yaml.safe_load(read("samples/questions.yaml"))}
    text = sections(read("README.md"), 2)
    shown = {row[0] for row in rows(text["Two commands"])}
    asked = set(re.findall(r"(?:ask \"|\"question\": \")([^\"]+)\"", "\n".join(fences(read("README.md")))))
    assert shown and asked
    assert (shown | asked) - checked == set()
