"""The OpenSearch index under the contract of its port, against a real node."""

from __future__ import annotations

import functools
import uuid
from collections.abc import Iterator

import pytest

pytest.register_assert_rewrite("foundation.contracts.search")

from foundation.adapters.aws.search import OpenSearchIndex  # noqa: E402
from foundation.adapters.aws.search_client import connect  # noqa: E402
from foundation.contracts.search import SearchIndexContract  # noqa: E402
from foundation.contracts.search_samples import DIMENSION, Factory  # noqa: E402
from foundation.settings import OpenSearchSettings, Settings  # noqa: E402
from tests.engines.opensearch import OpenSearch  # noqa: E402

pytestmark = pytest.mark.engines


def open_index(url: str, name: str, dimension: int = DIMENSION) -> OpenSearchIndex:
    settings = Settings(opensearch=OpenSearchSettings(url=url, auth="none", replicas=0))
    return OpenSearchIndex(connect(settings), name, dimension, settings.opensearch)


@pytest.fixture
def factory(opensearch_server: OpenSearch) -> Iterator[Factory]:
    made = functools.partial(open_index, opensearch_server.url, f"Bge-16-words.{uuid.uuid4().hex[:8]}")
    yield made
    made().remove()


class TestOpenSearchIndex(SearchIndexContract):
    pass
