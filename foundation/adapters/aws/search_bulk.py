"""Bulk requests, item by item: what OpenSearch had no room for is sent again, the rest is not."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from opensearchpy import OpenSearch

from foundation.adapters.aws.search_client import WRITE_TRIES, is_busy, overloaded, patiently, pauses
from foundation.errors import InvalidInput

_MOST_BYTES = 5_000_000
"""Of one request, about; the smallest domains take 10 MiB."""


def send(client: OpenSearch, index_name: str, items: Iterable[bytes]) -> None:
    """Each item is the two lines of an `index` action with its own id, so that sending it twice changes nothing.

    Unavailable when OpenSearch still has no room for some after all tries; InvalidInput when it refuses one.
    """
    for together in _requests(items):
        _send_all(client, f"writing to {index_name}", together)


def _send_all(client: OpenSearch, what: str, items: Sequence[bytes]) -> None:
    busy = ""
    for _ in pauses(WRITE_TRIES):
        body = b"".join(items)
        answer = patiently(what, lambda body=body: client.bulk(body=body), WRITE_TRIES)  # type: ignore[misc]
        if not answer["errors"]:
            return
        results = [next(iter(result.values())) for result in answer["items"]]
        for result in results:
            if result["status"] >= 400 and not is_busy(result["status"]):
                raise _refused(what, result)
        failed = [(item, result) for item, result in zip(items, results, strict=True) if result["status"] >= 400]
        items = [item for item, _ in failed]
        busy = f"{len(failed)} of {len(results)} items: {_said(failed[0][1])}"
    raise overloaded(what, busy)


def _requests(items: Iterable[bytes]) -> Iterator[list[bytes]]:
    together: list[bytes] = []
    size = 0
    for item in items:
        if together and size + len(item) > _MOST_BYTES:
            yield together
            together, size = [], 0
        together.append(item)
        size += len(item)
    if together:
        yield together


def _refused(what: str, result: dict[str, Any]) -> InvalidInput:
    return InvalidInput(
        f"{what}: OpenSearch refused chunk {result['_id'].partition('.')[2]}: {_said(result)}",
        fix="The chunk does not fit the index's mapping: build the index anew by the job rebuild_index.",
    )


def _said(result: dict[str, Any]) -> str:
    error = result.get("error", {})
    cause = error.get("caused_by", error) if isinstance(error, dict) else {"reason": json.dumps(error)}
    return f"{result['status']} {cause.get('type', '')} {cause.get('reason', '')}".strip()
