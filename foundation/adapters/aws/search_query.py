"""How a question and its filter become one hybrid query of OpenSearch, and its answer scores.

User text never reaches a query parser: it goes through the analyzer, and only its tokens become query terms.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from foundation.errors import ConfigurationError
from foundation.types import SearchFilter, Vector

MAX_QUERY_TERMS = 512
"""Distinct words of a question that are looked up; OpenSearch refuses more than 1,024 clauses."""
MAX_PHRASES = 32
LEAST_EXPLORED = 100
"""Neighbours that k-NN looks for at least: with k near to what is asked it misses many (recall@10 .37 at k = 10, .95 at
100, on 2,000 random vectors)."""

_PIECE = re.compile(r"[^\W_]+")
NAMED_SCORES = {"include_named_queries_score": "true"}
"""Parameter of the search: each hit then tells its raw score of both rankers."""


class Scored(NamedTuple):
    id: str
    score: float
    scores: dict[str, float]
    """By ranker: `bm25`, `dense` (cosine), `fused`."""


def words_query(text: str) -> dict[str, Any] | None:
    """Any of the words, each BM25-weighted; None when there is none.

    A code such as `RX-1234` is two words to the analyzer; as a phrase on top of them it outranks chunks where both
    merely occur.
    """
    pieces: dict[str, str] = {}
    codes: dict[str, None] = {}
    for word in text.encode("utf-8", "replace").decode().split():
        found = _PIECE.findall(word)
        pieces |= {piece.casefold(): piece for piece in found if piece.casefold() not in pieces}
        if 1 < len(found) <= 8:
            codes[word] = None
    if not pieces:
        return None
    asked = " ".join(list(pieces.values())[:MAX_QUERY_TERMS])
    phrases = [{"match_phrase": {"words": code}} for code in list(codes)[:MAX_PHRASES]]
    return {"bool": {"should": [{"match": {"words": asked}}, *phrases], "_name": "bm25"}}


def hybrid_body(
    words: dict[str, Any] | None,
    vector: Vector | None,
    visible: Sequence[dict[str, Any]],
    narrow: SearchFilter,
    candidates: int,
    dense_weight: float,
) -> dict[str, Any]:
    """At least one of words and vector. `visible` narrows, as `narrow` does, inside each of both rankers.

    The pipeline stands in the request, since its weights are the question's: there is none that could be missing.
    """
    clauses = [*visible, *filter_clauses(narrow)]
    queries: list[dict[str, Any]] = []
    weights = []
    if vector is not None:
        nearest = {
            "vector": vector.tolist(),
            "k": max(candidates, LEAST_EXPLORED),
            "filter": {"bool": {"filter": clauses}},
            "_name": "dense",
        }
        queries.append({"knn": {"vector": nearest}})
        weights.append(dense_weight)
    if words is not None:
        queries.append({"bool": {"must": [words], "filter": clauses}})
        weights.append(1 - dense_weight)
    # A single ranker's score is not weighed: 1 is its best hit either way. OpenSearch fails at a weight without a dot.
    weights = [float(weight) for weight in weights] if len(weights) == 2 else [1.0]
    return {
        "size": candidates,
        "_source": False,
        "query": {"hybrid": {"queries": queries}},
        "search_pipeline": {
            "phase_results_processors": [
                {
                    "normalization-processor": {
                        "normalization": {"technique": "min_max"},
                        "combination": {"technique": "arithmetic_mean", "parameters": {"weights": weights}},
                    }
                }
            ]
        },
    }


def filter_clauses(narrow: SearchFilter) -> list[dict[str, Any]]:
    clauses: list[dict[str, Any]] = [{"terms": {"acl": list(narrow.grants)}}]
    if narrow.document_ids is not None:
        clauses.append({"terms": {"document_ids": list(narrow.document_ids)}})
    if narrow.document_type is not None:
        clauses.append({"term": {"document_type": narrow.document_type}})
    return clauses


def scored(answer: Mapping[str, Any]) -> list[Scored]:
    """The hits of a hybrid query, best first.

    ConfigurationError when no pipeline has normalised them: OpenSearch then answers 200 with marker scores and
    repeated hits.
    """
    found = []
    for hit in answer["hits"]["hits"]:
        score = hit["_score"]
        if score is None or not -1e-6 <= score <= 1 + 1e-6:
            raise ConfigurationError(
                f"OpenSearch answered a hybrid query with a score of {score}: no pipeline has normalised it.",
                fix="Use OpenSearch 2.19 or later, with the plugin neural-search; a request carries its own pipeline.",
            )
        raw = hit.get("matched_queries", {})
        scores = {"bm25": raw["bm25"]} if "bm25" in raw else {}
        if "dense" in raw:
            scores["dense"] = 2 * raw["dense"] - 1  # cosinesimil scores (1 + cosine) / 2
        found.append(Scored(hit["_id"], float(score), {**scores, "fused": float(score)}))
    return found
