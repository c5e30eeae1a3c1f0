"""OpenSearch on a bad day: too busy, killed within a write, deaf, misconfigured. Nothing is lost, nothing is twice."""

from __future__ import annotations

import functools
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from foundation.adapters.aws import search_client
from foundation.adapters.aws.search import OpenSearchIndex
from foundation.adapters.aws.search_client import connect, patiently
from foundation.adapters.aws.search_query import NAMED_SCORES, hybrid_body, scored, words_query
from foundation.contracts.search_samples import DIMENSION, PUBLIC, direction, make_version
from foundation.errors import ConfigurationError, InvalidInput, Unavailable
from foundation.settings import OpenSearchSettings, Settings
from tests.doubles.aws_faults import Fault, FaultyWire
from tests.engines.opensearch import OpenSearch, opensearch

pytestmark = pytest.mark.engines
LONG = "alpha new " + "beta " * 400
"""Of such chunks 2,000 fill a bulk request."""


def open_index(url: str, name: str, timeout_s: float = 30) -> OpenSearchIndex:
    settings = Settings(opensearch=OpenSearchSettings(url=url, auth="none", replicas=0, timeout_s=timeout_s))
    return OpenSearchIndex(connect(settings), name, DIMENSION, settings.opensearch, settle_s=0)


@pytest.fixture
def wire(opensearch_server: OpenSearch) -> Iterator[FaultyWire]:
    with FaultyWire(opensearch_server.url).running() as running:
        yield running


@pytest.fixture
def index(opensearch_server: OpenSearch, wire: FaultyWire, request: pytest.FixtureRequest) -> Iterator[OpenSearchIndex]:
    """Behind the wire; holds version v1."""
    made = open_index(wire.url, f"faults-{abs(hash(request.node.name))}")
    made.write_version("v1", make_version("v1", ["alpha old"] * 3))
    yield made
    open_index(opensearch_server.url, made.index_name).remove()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many tries as ever, with shorter pauses."""
    monkeypatch.setattr(search_client, "_LONGEST_PAUSE_S", 0.01)


@pytest.fixture
def own_node(tmp_path: Path) -> Iterator[Callable[..., OpenSearch]]:
    """Start a node of this test's own."""
    started: list[OpenSearch] = []

    def start(**settings: str) -> OpenSearch:
        node = opensearch(tmp_path / f"node{len(started)}", settings=settings)
        started.append(node)
        node.start()
        return node

    yield start
    for node in started:
        node.stop()


@pytest.mark.parametrize("status", [429, 502, 503, 504])
@pytest.mark.parametrize("within", ["_bulk", "manifest", "_refresh", "_search"])
def test_a_node_that_is_busy_for_a_moment_is_asked_again(
    index: OpenSearchIndex, wire: FaultyWire, impatient: None, status: int, within: str
) -> None:
    wire.faults = [Fault(method, within, times=2, status=status) for method in ("PUT", "POST", "GET")]
    index.write_version("v1", make_version("v1", ["alpha new"] * 5))
    assert any(fault.times == 0 for fault in wire.faults)
    assert [hit.text for hit in index.search("alpha", direction(0), PUBLIC)] == ["alpha new"] * 5


def test_a_node_that_stays_busy_is_named_with_the_fix_and_the_old_version_goes_on_answering(
    index: OpenSearchIndex, wire: FaultyWire, impatient: None
) -> None:
    wire.faults = [Fault("POST", "_bulk", times=1000, status=429)]
    with pytest.raises(Unavailable, match="takes no more work") as refused:
        index.write_version("v1", make_version("v1", ["alpha new"] * 5))
    assert refused.value.transient and "data nodes" in refused.value.fix
    assert [hit.text for hit in index.search("alpha", direction(0), PUBLIC)] == ["alpha old"] * 3
    wire.faults = []
    index.write_version("v1", make_version("v1", ["alpha new"] * 5))
    assert [hit.text for hit in index.search("alpha", direction(0), PUBLIC)] == ["alpha new"] * 5


@pytest.mark.parametrize(("method", "within"), [("POST", "_bulk"), ("PUT", "manifest"), ("POST", "_delete_by_query")])
@pytest.mark.parametrize("nth", [0, 1])
def test_an_answer_that_is_lost_on_the_way_makes_nothing_twice_and_loses_nothing(
    index: OpenSearchIndex, wire: FaultyWire, impatient: None, method: str, within: str, nth: int
) -> None:
    passes = [Fault(method, within, cut_after=10_000_000)] * nth  # breaks nothing
    wire.faults = [*passes, Fault(method, within, cut_after=5)]
    index.write_versions({v: make_version(v, [f"alpha {v}"] * 40) for v in ("v1", "v2")})
    wire.faults = [*passes, Fault(method, within, cut_after=5)]
    assert index.delete_versions(["v2"]) == 40
    found = Counter(hit.text for hit in index.search("alpha", direction(0), PUBLIC, k=200))
    assert found == {"alpha v1": 40}
    assert index.count() == 40 == _stored(index)


def test_a_node_that_rejects_part_of_a_bulk_gets_that_part_again(own_node: Callable[..., OpenSearch]) -> None:
    node = own_node(**{"thread_pool.write.size": "1", "thread_pool.write.queue_size": "1"})

    def write(number: int) -> None:
        index = open_index(node.url, "busy")
        index.write_version(f"v{number}", make_version(f"v{number}", ["alpha " * 200] * 800))

    open_index(node.url, "busy").write_version("v0", make_version("v0", ["alpha"]))
    with ThreadPoolExecutor(12) as threads:
        list(threads.map(write, range(1, 13)))
    index = open_index(node.url, "busy")
    rejected = index._client.nodes.stats(metric="thread_pool")["nodes"]
    assert sum(one["thread_pool"]["write"]["rejected"] for one in rejected.values()) > 0, "the node was never busy"
    assert [index.count(f"v{number}") for number in range(1, 13)] == [800] * 12
    assert index.count() == 1 + 12 * 800 == _stored(index)


def test_a_node_that_is_killed_within_a_write_loses_nothing_and_stores_nothing_twice(
    own_node: Callable[..., OpenSearch], impatient: None
) -> None:
    node = own_node()
    index = open_index(node.url, "killed")
    old, new = make_version("v1", ["alpha old"] * 30), make_version("v1", [LONG] * 6_000)
    index.write_version("v1", old)
    with ThreadPoolExecutor() as threads:
        writing = threads.submit(index.write_version, "v1", new)
        _wait(lambda: _stored(index) > 3_000)  # in the second of its bulks
        node.kill()
        with pytest.raises(Unavailable, match="does not answer") as cut_off:
            writing.result()
    assert cut_off.value.transient and "ASKLINE_OPENSEARCH__URL" in cut_off.value.fix
    with pytest.raises(Unavailable, match="does not answer"):
        index.search("alpha", direction(0), PUBLIC)
    node.start()
    _wait(lambda: index.count() == 30)
    assert {hit.text for hit in index.search("alpha", direction(0), PUBLIC, k=50)} == {"alpha old"}
    assert _stored(index) > 1_000, "what the first bulk wrote is there, and hidden"
    index.write_version("v1", new)
    assert index.count("v1") == index.count() == 6_000
    assert {hit.text for hit in index.search("alpha", direction(0), PUBLIC)} == {LONG}
    index.delete_versions(["v1"])
    assert _stored(index) == 0


def test_a_write_outlasts_a_node_that_is_killed_and_comes_back(own_node: Callable[..., OpenSearch]) -> None:
    node = own_node()
    index = open_index(node.url, "restarted")
    index.write_version("v1", make_version("v1", ["alpha old"] * 30))

    with ThreadPoolExecutor() as threads:
        writing = threads.submit(index.write_version, "v1", make_version("v1", [LONG] * 6_000))
        _wait(lambda: _stored(index) > 3_000)
        node.kill()
        node.start()
        writing.result()
    assert index.count("v1") == 6_000 == _stored(index)


def test_a_hybrid_answer_that_no_pipeline_has_normalised_is_refused(index: OpenSearchIndex) -> None:
    body = hybrid_body(words_query("alpha"), direction(0), [], PUBLIC, 10, 0.6)
    ask = functools.partial(index._client.search, index=index.physical, params=NAMED_SCORES)
    assert len(scored(ask(body=body))) == 3
    del body["search_pipeline"]
    with pytest.raises(ConfigurationError, match="no pipeline has normalised it"):
        scored(ask(body=body))


def test_a_vector_of_the_wrong_length_is_refused_by_us_and_by_the_index(index: OpenSearchIndex) -> None:
    with pytest.raises(InvalidInput, match="query vector"):
        index.search("alpha", direction(0)[:3], PUBLIC)
    body = hybrid_body(None, direction(0)[:3], [], PUBLIC, 10, 0.6)
    with pytest.raises(ConfigurationError, match="dimension") as refused:
        patiently("search", lambda: index._client.search(index=index.physical, body=body), 1)
    assert "k-NN" in refused.value.fix


@pytest.mark.parametrize("status", [401, 403])
def test_refused_credentials_are_named_and_not_tried_again(
    index: OpenSearchIndex, wire: FaultyWire, status: int
) -> None:
    wire.faults = [Fault("POST", "_search", times=9, status=status)]
    with pytest.raises(ConfigurationError, match="credentials") as refused:
        index.search("alpha", None, PUBLIC)
    assert wire.faults[0].times == 8 and "es:ESHttp" in refused.value.fix


def test_a_node_that_does_not_answer_in_time_is_unavailable(
    opensearch_server: OpenSearch, index: OpenSearchIndex, impatient: None
) -> None:
    impatient_index = open_index(opensearch_server.url, index.index_name, timeout_s=0.3)
    assert impatient_index.count() == 3
    opensearch_server.signal(19)
    try:
        with pytest.raises(Unavailable, match="does not answer"):
            impatient_index.search("alpha", direction(0), PUBLIC)
    finally:
        opensearch_server.signal(18)
    _wait(lambda: impatient_index.count() == 3)


def _stored(index: OpenSearchIndex) -> int:
    """Chunks in OpenSearch, seen by readers or not."""
    index._client.indices.refresh(index=index.physical)
    return int(index._client.count(index=index.physical, body={"query": {"exists": {"field": "write"}}})["count"])


def _wait(condition: Callable[[], Any], timeout_s: float = 60) -> None:
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            if condition():
                return
        except Unavailable:
            pass
        assert time.monotonic() < deadline, f"not so within {timeout_s} s"
        time.sleep(0.02)
