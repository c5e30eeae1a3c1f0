"""The OpenAPI document says of each operation what it does, what goes wrong, and how a request and an answer look."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from foundation.settings import Settings
from query_service.app import create_app
from query_service.openapi import EXAMPLES, operations
from query_service.problems import MEDIA_TYPE

Operation = tuple[str, str, dict[str, Any]]


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    made: dict[str, Any] = json.loads(json.dumps(create_app(Settings()).openapi()))
    return made


@pytest.fixture(scope="module")
def all_operations(document: dict[str, Any]) -> list[Operation]:
    return list(operations(document))


def test_each_operation_has_a_summary_and_a_description(all_operations: list[Operation]) -> None:
    silent = [f"{m} {p}" for p, m, o in all_operations if not (o.get("summary") and o.get("description"))]
    assert silent == []


def test_each_operation_says_which_problems_it_gives(all_operations: list[Operation]) -> None:
    for path, method, operation in all_operations:
        errors = {s: r for s, r in operation["responses"].items() if not s.startswith("2")}
        assert "default" in errors
        if not path.startswith("/health"):
            assert {"400", "401", "503"} <= errors.keys(), (method, path)
        assert ("404" in errors) >= ("{" in path), (method, path)
        for status, response in errors.items():
            content = response["content"][MEDIA_TYPE]
            assert content["schema"] == {"$ref": "#/components/schemas/Problem"}
            assert status == "default" or content["example"]["status"] == int(status)


def test_each_json_body_and_each_json_answer_has_an_example_that_fits_its_schema(
    document: dict[str, Any], all_operations: list[Operation]
) -> None:
    for path, method, operation in all_operations:
        shown = [operation.get("requestBody", {})] + [r for s, r in operation["responses"].items() if s.startswith("2")]
        for part in shown:
            content = part.get("content", {}).get("application/json")
            if content is None:
                continue
            assert "example" in content, (method, path)
            schema = {**content["schema"], "components": document["components"]}
            wrong = [error.message for error in Draft202012Validator(schema).iter_errors(content["example"])]
            assert wrong == [], (method, path)


def test_no_example_is_of_an_operation_that_is_gone(all_operations: list[Operation]) -> None:
    there = {f"{method} {path}" for path, method, _ in all_operations}
    examples = json.loads(EXAMPLES.read_text(encoding="utf-8"))
    assert (set(examples["requests"]) | set(examples["responses"])) - there == set()
