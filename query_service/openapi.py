"""What FastAPI cannot know of the OpenAPI document: which problems an operation gives, and how all of it looks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel

from foundation import errors
from foundation.errors import AsklineError
from query_service.problems import MEDIA_TYPE, problem_body

EXAMPLES = Path(__file__).with_name("openapi_examples.json")
"""`requests` and `responses` by operation, as they were sent to and given by a service; lists cut to one item."""

_PROBLEMS: dict[int, AsklineError] = {
    400: errors.InvalidInput("limit: Input should be less than or equal to 500"),
    401: errors.Unauthenticated("This API key is unknown or revoked."),
    403: errors.Forbidden("This key lacks the scope write."),
    404: errors.NotFound("There is no document doc_1."),
    409: errors.Conflict("A request with this Idempotency-Key is under way.", fix="Send it again in a moment."),
    413: errors.TooLarge("guideline.pdf has 312.4 MB; at most 200 MB are accepted."),
    415: errors.UnsupportedType("notes.pdf: the name says PDF (.pdf), the content is a program."),
    422: errors.OutOfRange("start: 5 is behind end, 2."),
    503: errors.Unavailable("The registry (Postgres) does not answer."),
}
_WHAT = {
    400: "The request does not fit",
    401: "No key, or one that is not known",
    403: "The key lacks a scope, or the request comes from another site's page",
    404: "It does not exist, or you may not see it",
    409: "The state does not allow it, or the same request is under way",
    413: "Too large",
    415: "A type that is not read",
    422: "Understood, but it cannot be done",
    503: "A part does not answer; try again",
}
_CHANGES_STATE = ("/retry", "/restore")
_TAKES_TEXT = ("/ask", "/search", "/upload", "/sql")
_MAY_NOT_BE_DONE = (*_TAKES_TEXT, "/text", "/pages/{number}", "/feedback")


class Problem(BaseModel):
    """RFC 9457."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    fix: str


def describe(app: FastAPI) -> None:
    """Say in the OpenAPI document what is true: a request that does not validate gives 400, errors are problems."""
    plain = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = plain()
            schemas = document["components"]["schemas"]
            for unused in ("HTTPValidationError", "ValidationError"):
                schemas.pop(unused, None)
            schemas["Problem"] = Problem.model_json_schema()
            examples = json.loads(EXAMPLES.read_text(encoding="utf-8"))
            for path, method, operation in operations(document):
                _add_problems(path, method, operation)
                _add_examples(f"{method} {path}", operation, examples)
        assert app.openapi_schema is not None
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]  # the way that FastAPI documents


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(path, METHOD, operation) of each."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield path, method.upper(), operation


def _add_problems(path: str, method: str, operation: dict[str, Any]) -> None:
    operation["responses"].pop("422", None)  # FastAPI's own, which this service never gives
    for status in _statuses(path, method, operation):
        operation["responses"][str(status)] = _problem(_WHAT[status], problem_body(_PROBLEMS[status]))
    operation["responses"]["default"] = _problem("A problem", None)


def _problem(description: str, example: dict[str, Any] | None) -> dict[str, Any]:
    content: dict[str, Any] = {"schema": {"$ref": "#/components/schemas/Problem"}}
    if example is not None:
        content["example"] = example
    return {"description": description, "content": {MEDIA_TYPE: content}}


def _statuses(path: str, method: str, operation: dict[str, Any]) -> list[int]:
    """Of the problems that the operation itself can answer with; others, such as 500, are under `default`."""
    if path.startswith("/health"):
        return {"/health": [401], "/health/ready": [503]}.get(path, [])
    names = {parameter["name"] for parameter in operation.get("parameters", [])}
    once = "idempotency-key" in names
    found = {400, 401, 503}
    if method != "GET":
        found.add(403)
    if "{" in path or path in ("/ask", "/feedback"):
        found.add(404)
    if once or path.endswith(_CHANGES_STATE):
        found.add(409)
    if path in _TAKES_TEXT[:3]:
        found.add(413)
    if path == "/upload":
        found.add(415)
    if once or method == "PATCH" or path.endswith(_MAY_NOT_BE_DONE):
        found.add(422)
    return sorted(found)


def _add_examples(name: str, operation: dict[str, Any], examples: dict[str, dict[str, Any]]) -> None:
    body = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if body is not None and name in examples["requests"]:
        body["example"] = examples["requests"][name]
    for status, response in operation["responses"].items():
        content = response.get("content", {}).get("application/json")
        if status.startswith("2") and content is not None and name in examples["responses"]:
            content["example"] = examples["responses"][name]
