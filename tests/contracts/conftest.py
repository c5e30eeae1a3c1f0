"""What the contract suites of several adapters share."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest

from foundation.adapters.embedded.embeddings import OnnxEmbedder
from tests.doubles.bedrock import Bedrock


@cache
def local_model() -> OnnxEmbedder:
    return OnnxEmbedder()


@pytest.fixture
def bedrock() -> Iterator[Bedrock]:
    with Bedrock(local_model()).running() as running:
        yield running
