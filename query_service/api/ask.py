"""POST /ask: one question, answered as JSON or as server-sent events; POST /feedback."""

from __future__ import annotations

import time
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Request
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from foundation.errors import InvalidInput, OutOfRange
from foundation.registry.conversations import get_answer, save_feedback
from foundation.registry.database import reachable, transaction
from foundation.types import Principal
from query_service.answer import Answer
from query_service.api.common import ConnectionDep, PrincipalDep, ServicesDep
from query_service.api.idempotency import OnceDep
from query_service.api.stream import streamed, streamed_again
from query_service.guardrails.input_validation import clean_question
from query_service.prompts.router_prompt import ROUTES
from query_service.services import Services
from query_service.state import QuestionState
from query_service.stored_answers import as_shown

router = APIRouter(tags=["ask"])


class AskRequest(BaseModel):
    question: str
    session_id: str | None = None
    document_ids: list[str] | None = Field(None, max_length=1000)
    document_type: str | None = None
    routes: list[str] | None = Field(None, description="Force these routes; GET /graph/topology lists them")
    deadline_s: float | None = Field(None, gt=0, le=300)


@router.post(
    "/ask",
    summary="Ask a question",
    response_model=Answer,
    responses={200: {"content": {"text/event-stream": {}}}},
)
async def ask(
    asked: AskRequest,
    request: Request,
    services: ServicesDep,
    principal: PrincipalDep,
    once: OnceDep,
    accept: Annotated[str, Header()] = "application/json",
) -> Any:
    """One question, answered with its proof. With `Accept: text/event-stream` the answer comes as events; with an
    Idempotency-Key a repeated request gets the stored answer.
    """
    state = _state(asked, services, principal)
    graph = request.app.state.graph
    if "text/event-stream" in accept:
        known = await once.begin(asked)  # before the stream begins, so that a refusal has a status of its own
        if known is None:
            return streamed(graph, state, once)
        return streamed_again(state, await run_in_threadpool(_stored, services, principal, known["answer_id"]))

    given: dict[str, Answer] = {}

    async def answer() -> dict[str, str]:
        with reachable():
            made: Answer = (await graph.ainvoke(state))["answer"]
        given[made.answer_id] = made
        return {"answer_id": made.answer_id}

    answer_id = (await once(asked, answer))["answer_id"]
    return given.get(answer_id) or await run_in_threadpool(_stored, services, principal, answer_id)


def _stored(services: Services, principal: Principal, answer_id: str) -> dict[str, Any]:
    """The answer as it is stored now: without what has been erased since."""
    with transaction(services.stores.engine) as connection:
        return as_shown(connection, [get_answer(connection, principal, answer_id)["body"]])[0]


def _state(asked: AskRequest, services: Services, principal: Principal) -> QuestionState:
    question = clean_question(asked.question, services.settings.service)
    unknown = [name for name in asked.routes or [] if name not in ROUTES]
    if unknown:
        raise InvalidInput(f"routes: there is no {', '.join(unknown)}.", fix=f"Routes are {', '.join(ROUTES)}.")
    now = time.monotonic()
    return QuestionState(
        principal=principal,
        session_id=asked.session_id or "",
        question=question,
        rewritten_question=question,
        document_ids=asked.document_ids,
        document_type=asked.document_type,
        forced_routes=asked.routes,
        started=now,
        deadline=now + (asked.deadline_s or services.settings.query.deadline_s),
        findings=[],
        timings=[],
    )


class FeedbackRequest(BaseModel):
    answer_id: str
    rating: Literal["up", "down"]
    claim: int | None = Field(None, ge=0)
    comment: str | None = Field(None, max_length=4000)


@router.post("/feedback", status_code=201, summary="Say whether an answer, or one claim of it, is good")
def feedback(
    given: FeedbackRequest, connection: ConnectionDep, principal: PrincipalDep, once: OnceDep
) -> dict[str, str]:
    """One of your own answers, or one statement of it by its place in `claims`."""
    claims = get_answer(connection, principal, given.answer_id)["body"].get("claims", [])
    if given.claim is not None and given.claim >= len(claims):
        raise OutOfRange(f"claim: there is no claim {given.claim}; the answer has {len(claims)}, counted from 0.")

    def act() -> dict[str, str]:
        feedback_id = save_feedback(
            connection,
            principal,
            answer_id=given.answer_id,
            claim=given.claim,
            rating=given.rating,
            comment=given.comment,
        )
        return {"feedback_id": feedback_id}

    saved: dict[str, str] = once.within(connection, given, act)
    return saved
