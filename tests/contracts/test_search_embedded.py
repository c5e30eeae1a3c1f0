"""The embedded search index under the contract of its port, and what only it promises."""

from __future__ import annotations

import functools
import threading
from pathlib import Path

import numpy as np
import pytest

pytest.register_assert_rewrite("foundation.contracts.search")

from foundation.adapters.embedded.search import EmbeddedSearchIndex  # noqa: E402
from foundation.contracts.search import SearchIndexContract  # noqa: E402
from foundation.contracts.search_samples import DIMENSION, PUBLIC, Factory, make_chunk, make_version  # noqa: E402
from foundation.errors import ConfigurationError, InvalidInput, Unavailable  # noqa: E402


@pytest.fixture
def factory(tmp_path: Path) -> Factory:
    return functools.partial(EmbeddedSearchIndex, tmp_path, "bge-16-words.1", DIMENSION)


class TestEmbeddedSearchIndex(SearchIndexContract):
    pass


def test_an_erased_version_is_gone_from_the_disk_after_optimize(factory: Factory, tmp_path: Path) -> None:
    vector = np.random.default_rng(1).standard_normal(DIMENSION).astype(np.float32)
    kept = make_version("v2", ["quokka7291 stays"])
    index = factory()
    index.write_version("v1", [make_chunk("v1", 0, "zyzzyva8350", vector=vector)])
    index.write_version("v2", kept)
    assert _holds(tmp_path, b"zyzzyva8350") and _holds(tmp_path, vector.tobytes())
    index.delete_versions(["v1"])
    index.optimize()
    assert not _holds(tmp_path, b"zyzzyva8350") and not _holds(tmp_path, vector.tobytes())
    assert not _holds(tmp_path, b"chk_v1_0")
    assert _holds(tmp_path, b"quokka7291")
    assert np.array_equal(factory().vectors(["chk_v2_0"])["chk_v2_0"], kept[0].vector)


def test_writers_take_turns(factory: Factory) -> None:
    def write(name: str) -> None:
        index = factory()
        for i in range(5):
            index.write_version(f"{name}{i}", make_version(f"{name}{i}", ["alpha", "beta"]))

    threads = [threading.Thread(target=write, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert factory().count() == 30


def test_a_writer_that_waits_too_long_for_its_turn_is_told_to_try_again(tmp_path: Path) -> None:
    busy, waiting = (EmbeddedSearchIndex(tmp_path, "index", DIMENSION, lock_timeout_s=0.1) for _ in range(2))
    with busy._exclusive(), pytest.raises(Unavailable, match="another process"):
        waiting.write_version("v1", make_version("v1", ["alpha"]))
    waiting.write_version("v1", make_version("v1", ["alpha"]))
    assert busy.count() == 1


def test_an_index_of_vectors_of_another_length_is_refused(factory: Factory, tmp_path: Path) -> None:
    factory().write_version("v1", make_version("v1", ["alpha"]))
    other = EmbeddedSearchIndex(tmp_path, "bge-16-words.1", 3)
    with pytest.raises(ConfigurationError, match="16 dimensions, not 3"):
        other.search("alpha", None, PUBLIC)
    with pytest.raises(ConfigurationError, match="16 dimensions, not 3"):
        other.write_version("v2", [make_chunk("v2", 0, "beta", vector=np.ones(3, np.float32))])


@pytest.mark.parametrize("name", ["", "..", "../up", "a/b", ".hidden", "x" * 200])
def test_a_name_that_would_leave_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigurationError, match="index name"):
        EmbeddedSearchIndex(tmp_path, name, DIMENSION)


def test_text_that_cannot_be_stored_is_refused_with_the_chunks_name(factory: Factory) -> None:
    index = factory()
    index.write_version("v1", make_version("v1", ["alpha"]))
    with pytest.raises(InvalidInput, match="chk_v1_1"):
        index.write_version("v1", make_version("v1", ["beta", "gam\ud800ma"]))
    assert [hit.text for hit in index.search("alpha beta", None, PUBLIC)] == ["alpha"]


def test_a_removed_index_is_empty_for_its_readers_and_can_be_built_anew(factory: Factory, tmp_path: Path) -> None:
    writer, reader = EmbeddedSearchIndex(tmp_path, "bge-16-words.1", DIMENSION), factory()
    writer.write_version("v1", make_version("v1", ["alpha"]))
    assert reader.count() == 1
    writer.remove()
    assert reader.count() == 0 and reader.search("alpha", None, PUBLIC) == []
    writer.write_version("v2", make_version("v2", ["beta", "alpha"]))
    assert reader.count() == 2


def _holds(folder: Path, needle: bytes) -> bool:
    return any(needle in path.read_bytes() for path in folder.rglob("*") if path.is_file())
