"""The OpenSearch index under the contract of its port, against a real node, and what only it promises."""

from __future__ import annotations

import functools
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

pytest.register_assert_rewrite("foundation.contracts.search")

from foundation.adapters.aws import search_manifest  # noqa: E402
from foundation.adapters.aws.search import OpenSearchIndex  # noqa: E402
from foundation.adapters.aws.search_client import IndexRequests, connect  # noqa: E402
from foundation.contracts.search import Child, SearchIndexContract  # noqa: E402
from foundation.contracts.search_samples import (  # noqa: E402
    DIMENSION,
    PUBLIC,
    announce_and_write,
    direction,
    make_chunk,
    make_version,
)
from foundation.errors import ConfigurationError, InvalidInput, Unavailable  # noqa: E402
from foundation.settings import OpenSearchSettings, Settings  # noqa: E402
from foundation.types import SearchFilter  # noqa: E402
from tests.engines.opensearch import OpenSearch  # noqa: E402

pytestmark = pytest.mark.engines
Open = functools.partial[OpenSearchIndex]


def open_index(url: str, name: str, dimension: int = DIMENSION, settle_s: float = 0.0) -> OpenSearchIndex:
    settings = Settings(opensearch=OpenSearchSettings(url=url, auth="none", replicas=0))
    return OpenSearchIndex(connect(settings), name, dimension, settings.opensearch, settle_s=settle_s)


@pytest.fixture
def factory(opensearch_server: OpenSearch) -> Iterator[Open]:
    made = functools.partial(open_index, opensearch_server.url, f"Bge-16-words.{uuid.uuid4().hex[:8]}")
    yield made
    made().remove()


class TestOpenSearchIndex(SearchIndexContract):
    random_writes, random_versions, random_sizes, random_candidates = 40, 8, (1, 5, 30), 300


def test_the_order_of_hybrid_is_neither_that_of_the_words_nor_that_of_the_vectors(factory: Open) -> None:
    texts = ["alpha alpha", "alpha and some words", "alpha and some words and very many more of them", "beta"]
    chunks = [make_chunk("v1", i, texts[i], vector=direction(angle)) for i, angle in enumerate((80, 12, 5, 40))]
    index = factory()
    index.write_version("v1", chunks)
    orders = {
        tuple(hit.chunk_id[-1] for hit in index.search(text, vector, PUBLIC, dense_weight=0.55))
        for text, vector in (("alpha", None), ("", direction(0)), ("alpha", direction(0)))
    }
    assert orders == {("0", "1", "2"), ("2", "1", "3", "0"), ("1", "2", "0", "3")}


def test_a_ranker_of_no_weight_leaves_the_order_to_the_other(factory: Open) -> None:
    texts = ["alpha alpha", "alpha and some words", "alpha and some words and very many more of them"]
    index = factory()
    index.write_version("v1", [make_chunk("v1", i, t, vector=direction(80 - 30 * i)) for i, t in enumerate(texts)])
    for weight, order in ((0, "012"), (1, "210")):
        hits = index.search("alpha", direction(0), PUBLIC, dense_weight=weight)
        assert "".join(hit.chunk_id[-1] for hit in hits) == order


def test_the_filter_stands_inside_each_ranker_so_that_neither_spends_its_candidates_on_what_may_not_be_seen(
    factory: Open,
) -> None:
    index = factory()
    other = [make_chunk("v1", i, "alpha alpha alpha", vector=direction(1), acl=("group:other",)) for i in range(200)]
    index.write_version("v1", other)
    far = make_chunk("v2", 0, "alpha among very many other words about something else", vector=direction(85))
    unlike = make_chunk("v2", 1, "beta", vector=direction(60))
    index.write_version("v2", [far, unlike])
    hits = index.search("alpha", direction(0), PUBLIC, candidates=2)
    assert [(hit.chunk_id, set(hit.scores)) for hit in hits] == [
        ("chk_v2_1", {"dense", "fused"}),
        ("chk_v2_0", {"bm25", "dense", "fused"}),
    ]


def test_writers_of_the_same_versions_at_once_leave_one_whole_write_of_each(factory: Open) -> None:
    def write(name: str, size: int) -> None:
        index = factory()
        for _ in range(4):
            index.write_versions({v: make_version(v, [f"{name} alpha"] * size) for v in ("v1", "v2", name)})

    sizes = (2, 3, 4)
    with ThreadPoolExecutor() as threads:
        list(threads.map(write, [f"writer{size}" for size in sizes], sizes))
    index = factory()
    for version in ("v1", "v2"):
        texts = [hit.text for hit in index.search("alpha", None, PUBLIC, k=100) if hit.version_id == version]
        assert len(set(texts)) == 1 and len(texts) == int(texts[0].split()[0].removeprefix("writer"))
    assert index.count() == index.count("v1") + index.count("v2") + sum(sizes)
    assert _stored(index) == index.count()


def test_an_access_that_changes_while_the_version_is_written_anew_does_not_bring_the_old_text_back(
    factory: Open,
) -> None:
    index, other = factory(), factory()
    index.write_version("v1", make_version("v1", ["old"] * 300))
    with ThreadPoolExecutor() as threads:
        writing = threads.submit(other.write_version, "v1", make_version("v1", ["new"] * 300))
        index.update_access("v1", ("group:lab",), ("d7",), "policy")
        writing.result()
    assert index.search("old", None, PUBLIC) == index.search("old", None, SearchFilter(("group:lab",))) == []
    assert index.count("v1") == 300 == _stored(index)


def test_a_reader_does_not_see_what_others_write_or_delete_between_its_look_at_the_manifest_and_its_search(
    factory: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, writer, stuck = factory(), factory(), factory()
    writer.write_version("v1", make_version("v1", ["alpha"] * 3))

    def fail(*_: object) -> None:
        raise Unavailable("the writer stops here")

    monkeypatch.setattr(stuck._writes, "_confirm", fail)

    assert reader.count() == 3

    def half_write() -> None:
        with pytest.raises(Unavailable, match="stops here"):
            stuck.write_versions({v: make_version(v, ["alpha half"]) for v in ("v1", "v2")})
        assert _stored(reader) == 5

    _interrupt(monkeypatch, reader, half_write)
    assert [hit.text for hit in reader.search("alpha", direction(0), PUBLIC)] == ["alpha"] * 3
    _interrupt(monkeypatch, reader, lambda: writer.write_version("v1", make_version("v1", ["alpha new"])))
    assert [hit.text for hit in reader.search("alpha", direction(0), PUBLIC)] == ["alpha new"]
    _interrupt(monkeypatch, reader, lambda: writer.write_version("v1", make_version("v1", ["alpha newer"])))
    assert set(reader.vectors(["chk_v1_0"])) == {"chk_v1_0"}
    _interrupt(monkeypatch, reader, lambda: writer.write_version("v1", make_version("v1", ["alpha newest"])))
    assert reader.count() == 1
    unused = factory()
    _interrupt(monkeypatch, unused, lambda: writer.write_version("v1", make_version("v1", ["alpha at last"])))
    assert [hit.text for hit in unused.search("alpha", direction(0), PUBLIC)] == ["alpha at last"]
    _interrupt(monkeypatch, reader, writer.remove)
    assert reader.search("alpha", direction(0), PUBLIC) == []


def test_a_reader_with_the_manifest_of_its_last_search_finds_what_was_written_since(
    factory: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, writer = factory(), factory()
    confirm, counts = writer._writes._confirm, []

    def look_and_confirm(*arguments: Any) -> None:
        counts.append(reader.count())
        confirm(*arguments)

    monkeypatch.setattr(writer._writes, "_confirm", look_and_confirm)
    for number in range(5):
        writer.write_version(f"v{number}", make_version(f"v{number}", ["alpha"]))
        assert len(reader.search("alpha", direction(0), PUBLIC)) == number + 1 == reader.count()
    assert counts == [0, 1, 2, 3, 4]
    assert writer.delete_versions(["v0"]) == 1
    assert len(reader.search("alpha", direction(0), PUBLIC)) == 4
    writer.remove()
    writer.write_version("v9", make_version("v9", ["alpha"]))
    assert [hit.version_id for hit in reader.search("alpha", direction(0), PUBLIC)] == ["v9"]


def test_what_a_killed_writer_left_is_never_seen_and_goes_with_its_version_or_after_a_day(
    factory: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = factory()
    index.write_version("v2", make_version("v2", ["alpha"]))
    for goes in ("with its version", "after a day"):
        with Child(announce_and_write, factory, 8_000) as (child, pipe):
            pipe.recv()
            while _stored(index) < 100:
                time.sleep(0.02)
            child.kill()
        left = 0
        while left < (left := _stored(index)):  # the node has its last request still in hand
            time.sleep(0.5)
        assert index.count() == 1 and index.count("v1") == 0 and left > 100
        if goes == "with its version":
            assert index.delete_versions(["v1"]) == 0
        else:
            index.optimize()
            assert _stored(index) > 100, "its writer might still be at work"
            monkeypatch.setattr(search_manifest, "ABANDONED_S", 0.0)
            index.optimize()
        assert _stored(index) == 1 == index.count()


def test_an_erased_version_is_gone_from_the_disk_after_optimize(factory: Open, opensearch_server: OpenSearch) -> None:
    index = factory(settle_s=60.0)
    index.write_version("v1", make_version("v1", ["zyzzyva8350"]))
    index.write_version("v2", make_version("v2", ["quokka7291 stays"]))
    assert _on_disk(opensearch_server, b"zyzzyva8350") and _on_disk(opensearch_server, b"quokka7291")
    index.delete_versions(["v1"])
    index.optimize()
    assert not _on_disk(opensearch_server, b"zyzzyva8350") and not _on_disk(opensearch_server, b"chk_v1_0")
    assert _on_disk(opensearch_server, b"quokka7291")


def test_the_mapping_is_strict_and_names_the_engine_that_the_node_has(factory: Open) -> None:
    index = factory()
    index.write_version("v1", make_version("v1", ["alpha"]))
    mapping = index._client.indices.get_mapping(index=index.physical)[index.physical]["mappings"]
    assert mapping["dynamic"] == "strict"
    assert mapping["properties"]["vector"]["method"]["engine"] == "lucene"


def test_an_index_of_vectors_of_another_length_is_refused(factory: Open) -> None:
    factory().write_version("v1", make_version("v1", ["alpha"]))
    other = factory(dimension=3)
    with pytest.raises(ConfigurationError, match="16 dimensions, not 3"):
        other.search("alpha", None, PUBLIC)
    with pytest.raises(ConfigurationError, match="16 dimensions, not 3"):
        other.write_version("v2", [make_chunk("v2", 0, "beta", vector=np.ones(3, np.float32))])


def test_names_that_differ_in_case_only_do_not_share_an_index(factory: Open) -> None:
    index = factory()
    index.write_version("v1", make_version("v1", ["alpha"]))
    other = OpenSearchIndex(index._client, index.index_name.upper(), DIMENSION, index._chosen)
    with pytest.raises(ConfigurationError, match="not Askline's BGE"):
        other.count()


@pytest.mark.parametrize("name", ["", "a/b", "a b", "x" * 300, "Ä*"])
def test_a_name_that_opensearch_would_refuse_is_refused(opensearch_server: OpenSearch, name: str) -> None:
    with pytest.raises(ConfigurationError, match="index name"):
        open_index(opensearch_server.url, name)


def test_a_chunk_that_cannot_be_stored_is_refused_by_its_name_and_leaves_nothing(factory: Open) -> None:
    index = factory()
    index.write_version("v1", make_version("v1", ["alpha"]))
    too_long = make_chunk("v1", 1, "beta", acl=("x" * 40_000,))
    for refused in (make_chunk("v1", 1, "gam\ud800ma"), make_chunk("v1", 1, "zero", vector=direction(0) * 0), too_long):
        with pytest.raises(InvalidInput, match="chk_v1_1"):
            index.write_version("v1", [*make_version("v1", ["beta"]), refused])
    assert [hit.text for hit in index.search("alpha beta", None, PUBLIC)] == ["alpha"]
    assert _stored(index) == 1 and index._manifest.read().hidden == ()


def test_a_removed_index_is_empty_for_its_readers_and_can_be_built_anew(factory: Open) -> None:
    writer, reader = factory(), factory()
    writer.write_version("v1", make_version("v1", ["alpha"]))
    assert reader.count() == 1
    writer.remove()
    assert reader.count() == 0 and reader.search("alpha", direction(0), PUBLIC) == []
    writer.remove()
    writer.write_version("v2", make_version("v2", ["beta"]))
    assert [hit.version_id for hit in reader.search("", direction(0), PUBLIC)] == ["v2"]


def _interrupt(monkeypatch: pytest.MonkeyPatch, index: OpenSearchIndex, then: Callable[[], object]) -> None:
    """Let `then` happen when this index next asks OpenSearch, after it has read its manifest."""
    ask, waiting = IndexRequests.ask, [then]

    def then_ask(*arguments: Any, **more: Any) -> dict[str, Any]:
        while waiting:
            waiting.pop()()
        return ask(index._requests, *arguments, **more)

    monkeypatch.setattr(index._requests, "ask", then_ask)


def _stored(index: OpenSearchIndex) -> int:
    """Chunks in OpenSearch, seen by readers or not."""
    index._client.indices.refresh(index=index.physical)
    return int(index._client.count(index=index.physical, body={"query": {"exists": {"field": "write"}}})["count"])


def _on_disk(server: OpenSearch, data: bytes) -> bool:
    """In what the node has written: stored fields are compressed, but a small block holds short text as it is."""
    server_files = (path for path in (server.folder / "data").rglob("*") if path.is_file())
    return any(data in path.read_bytes() for path in server_files)
