"""Vectors that are computed ahead are those that the stage would compute, and nobody waits for what is not wanted."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from foundation.types import Chunk
from pipelines import embed_ahead
from pipelines.embed_ahead import EmbedAhead
from pipelines.vectors import embed


class _Embedder:
    """Says how long each text is, once it may."""

    def __init__(self) -> None:
        self.may = threading.Event()
        self.calls = 0

    def embed_passages(self, texts: Sequence[str]) -> Any:
        self.calls += 1
        assert self.may.wait(10)
        if "broken" in texts:
            raise ValueError
        return np.array([[len(text)] for text in texts], np.float32)


def _chunks(version: str, *texts: str) -> list[Chunk]:
    return [Chunk(f"{version}-{n}", version, n, 0, len(text), text, 1) for n, text in enumerate(texts)]


@pytest.fixture
def embedder() -> _Embedder:
    return _Embedder()


def test_each_version_gets_the_vectors_of_its_own_chunks_once(embedder: _Embedder) -> None:
    ahead, first, second = EmbedAhead(), _chunks("a", "one", "three"), _chunks("b", "seven")
    ahead.start(embedder, [first, second])  # type: ignore[arg-type]
    embedder.may.set()
    taken = ahead.take(second)
    assert taken is not None and taken.vectors.tolist() == [[5]] and taken.seconds >= 0
    taken = ahead.take(first)
    assert taken is not None and taken.vectors.tolist() == [[3], [5]]
    assert ahead.take(first) is None


def test_a_text_that_comes_again_goes_through_the_model_once(embedder: _Embedder) -> None:
    embedder.may.set()
    seen: list[list[str]] = []
    whole = embedder.embed_passages
    embedder.embed_passages = lambda texts: (seen.append(list(texts)), whole(texts))[1]  # type: ignore[method-assign]
    found = embed(embedder, [_chunks("a", "notice", "one"), [], _chunks("b", "notice", "three", "notice")])  # type: ignore[arg-type]
    assert seen == [["notice", "one", "three"]]
    assert [one.vectors.tolist() for one in found] == [[[6], [3]], [], [[6], [5], [6]]]


def test_what_failed_is_left_to_the_stage(embedder: _Embedder) -> None:
    ahead, chunks = EmbedAhead(), _chunks("a", "broken")
    embedder.may.set()
    ahead.start(embedder, [chunks])  # type: ignore[arg-type]
    assert ahead.take(chunks) is None


def test_other_chunks_of_the_version_are_not_taken_for_these(embedder: _Embedder) -> None:
    ahead = EmbedAhead()
    embedder.may.set()
    ahead.start(embedder, [_chunks("a", "one")])  # type: ignore[arg-type]
    assert ahead.take(_chunks("a", "one", "two")) is None


def test_no_more_waits_than_fits_and_what_is_taken_makes_room(
    embedder: _Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embed_ahead, "MOST_CHUNKS", 2)
    embedder.may.set()
    ahead, first, second = EmbedAhead(), _chunks("a", "one", "two"), _chunks("b", "one")
    ahead.start(embedder, [first])  # type: ignore[arg-type]
    ahead.start(embedder, [second])  # type: ignore[arg-type]
    assert ahead.take(second) is None and ahead.take(first) is not None
    ahead.start(embedder, [second])  # type: ignore[arg-type]
    assert ahead.take(second) is not None


def test_the_end_of_a_run_lets_go_of_what_has_not_begun(embedder: _Embedder) -> None:
    ahead = EmbedAhead()
    for version in "abc":
        ahead.start(embedder, [_chunks(version, "one")])  # type: ignore[arg-type]
    ahead.clear()
    embedder.may.set()
    again = _chunks("a", "one")
    assert ahead.take(again) is None
    ahead.start(embedder, [again])  # type: ignore[arg-type]
    assert ahead.take(again) is not None
    assert embedder.calls <= 2  # the one that had begun, and the last
