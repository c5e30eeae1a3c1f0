"""The OpenSearch index at 20,000 chunks, next to the bare client calls under it, against a node of its own.

python -m bench.search_opensearch        (make engines fetches the node)

Texts and vectors are those of bench.search. Bare: the same hybrid body straight by the client, and the same documents,
made beforehand, by the client's own bulk helper into an index of the same mapping, with one refresh at the end.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from opensearchpy import OpenSearch, helpers

from bench.common import figure
from bench.search import DIMENSION, NARROW, SIZE, texts_and_questions, unit_vectors, version
from foundation.adapters.aws import search_layout as layout
from foundation.adapters.aws.search import OpenSearchIndex
from foundation.adapters.aws.search_client import connect
from foundation.adapters.aws.search_manifest import Manifest
from foundation.adapters.aws.search_query import NAMED_SCORES, hybrid_body, words_query
from foundation.settings import OpenSearchSettings, Settings
from foundation.types import IndexedChunk, Vector
from tests.engines.opensearch import opensearch

COMMAND = "python -m bench.search_opensearch"
_TOGETHER, _QUESTIONS, _WARM = 1000, 300, 30


def run() -> dict[str, dict[str, Any]]:
    """{name: {value, unit, bare, ratio, command}}."""
    texts, questions = texts_and_questions()
    vectors, asked = unit_vectors(SIZE, 2), unit_vectors(_QUESTIONS, 3)
    groups = [
        version(f"v{first}", first, texts[first : first + _TOGETHER], vectors[first : first + _TOGETHER])
        for first in range(0, SIZE, _TOGETHER)
    ]
    documents = [_document(one, number) for number, group in enumerate(groups) for one in group]
    with tempfile.TemporaryDirectory() as folder, opensearch(Path(folder), heap="1g", full_jit=True) as node:
        settings = Settings(opensearch=OpenSearchSettings(url=node.url, auth="none", replicas=0))
        client = connect(settings)
        _bare_bulk(client, "warm", documents[: SIZE // 5])
        bare = _timed(lambda: _bare_bulk(client, "bare", documents))
        index = OpenSearchIndex(client, "bench", DIMENSION, settings.opensearch)
        ours = _timed(lambda: [index.write_version(group[0].chunk.version_id, group) for group in groups])
        assert index.count() == SIZE == client.count(index="bare")["count"]
        client.indices.delete(index="bare,warm")
        client.indices.forcemerge(index=index.physical, params={"max_num_segments": 1, "request_timeout": 600})
        taken: dict[str, list[float]] = {"ours": [], "bare": []}
        for i in range(-_WARM, _QUESTIONS):
            seconds = _ask(client, index, questions[i % len(questions)], asked[i % _QUESTIONS], ours_first=i % 2 == 0)
            for name in taken if i >= 0 else ():
                taken[name].append(seconds[name])
    p50, p95 = ({name: float(np.percentile(taken[name], q)) * 1000 for name in taken} for q in (50, 95))
    rate, bare_rate = SIZE / ours, SIZE / bare
    return {
        "opensearch_hybrid_filtered_p50_ms": figure(
            p50["ours"], "ms", COMMAND, bare=p50["bare"], ratio=p50["ours"] / p50["bare"]
        ),
        "opensearch_hybrid_filtered_p95_ms": figure(
            p95["ours"], "ms", COMMAND, bare=p95["bare"], ratio=p95["ours"] / p95["bare"]
        ),
        "opensearch_index_chunks_per_s": figure(rate, "1/s", COMMAND, bare=bare_rate, ratio=rate / bare_rate),
    }


def _ask(
    client: OpenSearch, index: OpenSearchIndex, question: str, vector: Vector, *, ours_first: bool
) -> dict[str, float]:
    """Seconds. The second of two equal queries finds more in caches, so they take turns at being it."""
    body = hybrid_body(words_query(question), vector, Manifest(next=SIZE).visible(), NARROW, 100, 0.6)
    asks: dict[str, Callable[[], Any]] = {
        "ours": lambda: index.search(question, vector, NARROW),
        "bare": lambda: client.search(index=index.physical, body=body, params=NAMED_SCORES),
    }
    return {name: _timed(asks[name]) for name in (asks if ours_first else reversed(asks))}


def _timed(run: Callable[[], Any]) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def _document(indexed: IndexedChunk, number: int) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(layout.to_lines("", indexed, number).splitlines()[1])
    return {"_id": indexed.chunk.chunk_id, **document}


def _bare_bulk(client: OpenSearch, name: str, documents: list[dict[str, Any]]) -> None:
    client.indices.create(index=name, body=layout.index_body(name, DIMENSION, OpenSearchSettings(replicas=0)))
    helpers.bulk(client, documents, index=name, request_timeout=120)
    client.indices.refresh(index=name)


def main() -> None:
    print(json.dumps(run(), indent=2))


if __name__ == "__main__":
    main()
