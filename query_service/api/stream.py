"""An answer as server-sent events: start, node…, token…, citation…; the last one is always done or error."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

from sse_starlette import EventSourceResponse, ServerSentEvent

from foundation.errors import AsklineError
from foundation.registry.database import reachable
from query_service.answer import Answer
from query_service.api.idempotency import Once
from query_service.problems import log_unexpected, problem_body
from query_service.state import QuestionState

_KEEP_ALIVE_S = 15
_AT_WORK: set[asyncio.Task[None]] = set()
"""The event loop itself holds a task only weakly."""

_Event = tuple[str, dict[str, Any]]


def streamed(graph: Any, state: QuestionState, once: Once) -> EventSourceResponse:
    """Run the question graph and tell each step. `once.begin` has said that it is ours to run."""
    return EventSourceResponse(_numbered(_live(graph, state, once)), ping=_KEEP_ALIVE_S)


def streamed_again(state: QuestionState, answer: dict[str, Any]) -> EventSourceResponse:
    """The stored answer of a repeated request, as a stream without the nodes that once ran."""

    async def told() -> AsyncIterator[_Event]:
        yield "start", {"question": state["question"]}
        for event in _told(answer):
            yield event

    return EventSourceResponse(_numbered(told()), ping=_KEEP_ALIVE_S)


async def _numbered(events: AsyncIterator[_Event]) -> AsyncIterator[ServerSentEvent]:
    number = 0
    async for kind, data in events:
        number += 1
        yield ServerSentEvent(json.dumps({"sequence": number, **data}), event=kind, id=str(number))


async def _live(graph: Any, state: QuestionState, once: Once) -> AsyncIterator[_Event]:
    """The work is a task of its own: under an Idempotency-Key it goes on when the client has gone, so that whoever
    comes back with the key gets this answer and not a second one."""
    events: asyncio.Queue[_Event | None] = asyncio.Queue()
    task = asyncio.create_task(_work(graph, state, once, events))
    _AT_WORK.add(task)
    task.add_done_callback(_AT_WORK.discard)
    try:
        while (event := await events.get()) is not None:
            yield event
    finally:
        if not once.keyed:
            task.cancel()


async def _work(graph: Any, state: QuestionState, once: Once, events: asyncio.Queue[_Event | None]) -> None:
    given: list[Answer] = []

    async def act() -> dict[str, str]:
        with reachable():
            async for update in graph.astream(state, stream_mode="updates"):
                for node, added in update.items():
                    for name, ms in (added or {}).get("timings", []):
                        events.put_nowait(("node", {"name": name, "state": "done", "ms": ms}))
                    if added and "answer" in added and node == "closing":
                        given.append(added["answer"])
        if not given:
            raise AsklineError("The question graph ended without an answer.")
        return {"answer_id": given[0].answer_id}

    events.put_nowait(("start", {"question": state["question"]}))
    try:
        await once.run(act)
        for event in _told(given[0].model_dump(mode="json")):
            events.put_nowait(event)
    except AsklineError as error:
        events.put_nowait(("error", problem_body(error)))
    except Exception as error:  # noqa: BLE001  the stream has begun: its last event must say that it failed
        log_unexpected("POST /ask, streamed", error)
        events.put_nowait(("error", problem_body(AsklineError("Something went wrong inside Askline."))))
    finally:
        events.put_nowait(None)


def _told(answer: dict[str, Any]) -> Iterator[_Event]:
    for piece in answer["text"].split("\n\n"):
        yield "token", {"text": piece + "\n\n"}
    for citation in answer["citations"]:
        yield "citation", citation
    yield "done", {"answer": answer}
