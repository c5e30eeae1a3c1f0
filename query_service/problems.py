"""Errors as application/problem+json (RFC 9457): the one place where an exception becomes a response."""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from foundation.errors import AsklineError, InvalidInput, SqlRefused, Unauthenticated

logger = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
_LONGEST = 1_000
_MOST_FIELDS = 20


def problem_body(error: AsklineError) -> dict[str, Any]:
    body: dict[str, Any] = {
        "type": f"https://askline.dev/problems/{error.code}",
        "title": error.code.replace("_", " "),
        "status": error.status,
        "code": error.code,
        "detail": _clipped(error.message),
        "fix": error.fix,
    }
    if isinstance(error, SqlRefused):
        body["rule"] = error.rule
    return body


class ProblemResponse(JSONResponse):
    """In ASCII: what was wrong may be quoted, and half of a surrogate pair has no other encoding."""

    media_type = MEDIA_TYPE

    def render(self, content: Any) -> bytes:
        return json.dumps(content).encode()


def problem(error: AsklineError) -> JSONResponse:
    headers = {"WWW-Authenticate": "Bearer"} if isinstance(error, Unauthenticated) else None
    if error.transient:
        headers = {"Retry-After": "2"}
    return ProblemResponse(problem_body(error), error.status, headers=headers)


def _clipped(text: str) -> str:
    """An error quotes what was sent; it does not send all of it back."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} … ({len(text):,} characters)"


def log_unexpected(where: str, error: Exception) -> None:
    """The type and the trace's frames, not the message: it may quote a question or a document."""
    frames = "".join(traceback.format_tb(error.__traceback__))
    logger.error("%s: %s\n%s", where, type(error).__name__, frames)


def install(app: FastAPI) -> None:
    """Every error of every route comes out as a problem."""

    @app.exception_handler(AsklineError)
    async def _ours(request: Request, error: AsklineError) -> JSONResponse:
        if error.status >= 500:
            logger.warning("%s %s: %s", request.method, request.url.path, error.code)
        return problem(error)

    @app.exception_handler(RequestValidationError)
    async def _invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        fields = [
            {"field": _field(item["loc"]), "message": _clipped(item["msg"])} for item in error.errors()[:_MOST_FIELDS]
        ]
        said = "; ".join(f"{f['field']}: {f['message']}" for f in fields)
        return ProblemResponse({**problem_body(InvalidInput(said)), "fields": fields}, InvalidInput.status)

    @app.exception_handler(HTTPException)
    async def _http(request: Request, error: HTTPException) -> JSONResponse:
        # 400 is what FastAPI makes of a body that cannot be taken apart: too deep, or no form.
        code = {400: "invalid_input", 404: "not_found", 405: "method_not_allowed"}.get(error.status_code, "http_error")
        body = {
            "type": f"https://askline.dev/problems/{code}",
            "title": code.replace("_", " "),
            "status": error.status_code,
            "code": code,
            "detail": _clipped(str(error.detail)),
            "fix": "GET /docs lists what there is and what it takes.",
        }
        return ProblemResponse(body, error.status_code, headers=error.headers)

    @app.exception_handler(Exception)
    async def _unexpected(request: Request, error: Exception) -> JSONResponse:
        log_unexpected(f"{request.method} {request.url.path}", error)
        return problem(AsklineError("Something went wrong inside Askline."))


def _field(where: Sequence[str | int]) -> str:
    """`filters.document_ids.0` of (body, filters, document_ids, 0); a body that is no object is named as such."""
    return ".".join(str(part) for part in where[1:])[:_LONGEST] or str(where[0])
