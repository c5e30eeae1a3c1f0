"""Score fusion: each ranker's scores min-max normalised over its own candidates, then a weighted sum.

As in OpenSearch's normalization processor (min_max, arithmetic_mean): a candidate that a ranker did not return counts
0 there, and where all scores are equal each counts 1.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)


def min_max(scores: Mapping[Key, float]) -> dict[Key, float]:
    """The same keys with scores in [0, 1]."""
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    if high == low:
        return dict.fromkeys(scores, 1.0)
    return {key: (score - low) / (high - low) for key, score in scores.items()}


def fuse(dense: Mapping[Key, float], words: Mapping[Key, float], dense_weight: float) -> dict[Key, float]:
    """dense_weight * dense + (1 - dense_weight) * words, over the union of the candidates."""
    by_dense, by_words = min_max(dense), min_max(words)
    return {
        key: dense_weight * by_dense.get(key, 0.0) + (1 - dense_weight) * by_words.get(key, 0.0)
        for key in by_dense | by_words
    }
