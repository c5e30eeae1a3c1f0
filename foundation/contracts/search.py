"""What every adapter of the search port must do. A test class of an adapter inherits SearchIndexContract.

It gives a fixture `factory`: opens the same index each time it is called, in any process (so it can be pickled), with
vectors of DIMENSION numbers; the index does not exist before the first write. `refresh_s` may be raised where a
store makes writes visible later than its own write returns.
"""

from __future__ import annotations

import multiprocessing
import random
import time
from collections.abc import Callable, Iterable
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
import pytest

from foundation.contracts.search_samples import (
    DIMENSION,
    PUBLIC,
    Factory,
    announce_and_write,
    direction,
    generation,
    generation_size,
    make_chunk,
    make_version,
    rewrite_generations,
    write_and_tell,
)
from foundation.errors import InvalidInput
from foundation.ports.search import SearchIndex
from foundation.types import Hit, IndexedChunk, SearchFilter

UNUSUAL = [
    'He said "no',
    "alpha AND",
    "OR NOT alpha",
    "words:alpha",
    "((alpha",
    "alpha) ]{",
    "a\\ ~2 alpha^3 + - && || ! *? /x/",
    "alpha\0omega",
    "🫀 alpha 👩🏽‍⚕️",
    "' OR 1=1; DROP TABLE x --",
    "alpha " + "x" * 20_000,
    ("alpha beta gamma delta " * 1000)[:20_000],
]
UNUSUAL_IDS = [f"text{i}" for i in range(len(UNUSUAL))]


class SearchIndexContract:
    refresh_s = 1.0
    random_writes, random_versions, random_sizes, random_candidates = 80, 12, (1, 5, 90), 100
    """Steps of the test of any order of writes, over so many versions of so many chunks each, and what a search asks
    for; fewer and smaller for a store behind a wire."""

    @pytest.fixture
    def index(self, factory: Factory) -> Iterable[SearchIndex]:
        index = factory()
        yield index
        index.close()

    def test_an_index_that_does_not_exist_yet_is_empty_and_appears_once_it_is_written(self, factory: Factory) -> None:
        reader = factory()
        assert reader.count() == 0
        assert reader.search("alpha", direction(0), PUBLIC) == []
        assert reader.vectors(["chk_v1_0"]) == {}
        factory().write_version("v1", make_version("v1", ["alpha"]))
        self.eventually(lambda: reader.count() == 1)
        assert [hit.chunk_id for hit in reader.search("alpha", None, PUBLIC)] == ["chk_v1_0"]

    def test_a_hit_carries_the_chunk_as_it_was_written(self, index: SearchIndex) -> None:
        written = make_chunk("v1", 3, "The café — 5 µg “daily”", start=17, page=4, section="Dosage")
        index.write_version("v1", [written])
        [hit] = index.search("cafe", direction(0), PUBLIC)
        chunk = written.chunk
        assert (hit.chunk_id, hit.version_id, hit.text) == (chunk.chunk_id, "v1", chunk.text)
        assert (hit.start, hit.end, hit.page, hit.section) == (chunk.start, chunk.end, 4, "Dosage")
        assert set(hit.scores) == {"bm25", "dense", "fused"} and hit.score == hit.scores["fused"]

    def test_the_heading_of_a_chunk_is_searched_with_it(self, index: SearchIndex) -> None:
        index.write_version("v1", [make_chunk("v1", 0, "ten milligrams", section="Contraindications")])
        assert [hit.text for hit in index.search("contraindications", None, PUBLIC)] == ["ten milligrams"]

    def test_writing_a_version_again_replaces_it(self, index: SearchIndex) -> None:
        index.write_version("v1", make_version("v1", ["alpha", "beta", "gamma"]))
        index.write_version("v2", make_version("v2", ["alpha"]))
        for _ in range(2):
            index.write_version("v1", make_version("v1", ["delta", "alpha"]))
            self.eventually(lambda: index.count("v1") == 2)
            assert index.count() == 3
            assert index.search("gamma", None, PUBLIC) == []
            assert {hit.version_id for hit in index.search("alpha", None, PUBLIC)} == {"v1", "v2"}
            assert len(index.search("", direction(0), PUBLIC)) == 3

    def test_writing_a_version_without_chunks_empties_it(self, index: SearchIndex) -> None:
        index.write_version("v1", make_version("v1", ["alpha"]))
        index.write_version("v1", [])
        self.eventually(lambda: index.count() == 0)

    def test_a_deleted_version_is_found_by_neither_ranker(self, index: SearchIndex) -> None:
        for version in ("v1", "v2", "v3"):
            index.write_version(version, make_version(version, ["alpha", "beta"]))
        assert index.delete_versions(["v1", "v3", "unknown", "v1"]) == 4
        self.eventually(lambda: index.count() == 2)
        assert index.count("v1") == 0
        assert {hit.version_id for hit in index.search("alpha beta", None, PUBLIC)} == {"v2"}
        assert {hit.version_id for hit in index.search("", direction(0), PUBLIC)} == {"v2"}
        assert index.vectors(["chk_v1_0"]) == {}
        assert index.delete_versions(["v1", "unknown"]) == 0
        assert index.delete_versions([]) == 0

    def test_only_chunks_that_one_of_the_grants_may_see_are_found(self, index: SearchIndex) -> None:
        index.write_version("v1", make_version("v1", ["alpha"], acl=("group:ward", "user:ann")))
        index.write_version("v2", make_version("v2", ["alpha"], acl=("group:lab",)))
        index.write_version("v3", make_version("v3", ["alpha"], acl=()))
        self.eventually(lambda: index.count() == 3)
        expected = {
            ("user:ann",): {"v1"},
            ("group:lab", "group:ward"): {"v1", "v2"},
            ("public",): set(),
            ("group:war",): set(),
            ("GROUP:LAB",): set(),
            (): set(),
        }
        for grants, versions in expected.items():
            for text, vector in (("alpha", None), ("", direction(0)), ("alpha", direction(0))):
                hits = index.search(text, vector, SearchFilter(grants=grants))
                assert {hit.version_id for hit in hits} == versions, (grants, text)

    def test_document_ids_and_type_narrow_further(self, index: SearchIndex) -> None:
        index.write_version("v1", make_version("v1", ["alpha"], document_ids=("d1", "d9"), document_type="policy"))
        index.write_version("v2", make_version("v2", ["alpha"], document_ids=("d2",), document_type="leaflet"))
        index.write_version("v3", make_version("v3", ["alpha"], document_ids=("d3",), acl=("group:lab",)))
        self.eventually(lambda: index.count() == 3)
        expected: list[tuple[tuple[str, ...] | None, str | None, set[str]]] = [
            (("d1",), None, {"v1"}),
            (("d9", "d2", "d3"), None, {"v1", "v2"}),
            ((), None, set()),
            (None, "leaflet", {"v2"}),
            (("d1",), "leaflet", set()),
            (None, None, {"v1", "v2"}),
        ]
        for document_ids, document_type, versions in expected:
            narrow = SearchFilter(("public",), document_ids, document_type)
            for text, vector in (("alpha", None), ("", direction(0)), ("alpha", direction(0))):
                assert {hit.version_id for hit in index.search(text, vector, narrow)} == versions, narrow

    def test_the_filter_is_applied_before_the_candidates_are_cut(self, index: SearchIndex) -> None:
        index.write_version("v1", make_version("v1", ["alpha alpha alpha"] * 150, acl=("group:other",)))
        low = make_chunk("v2", 0, "alpha and very many other words about something else", vector=direction(80))
        index.write_version("v2", [low])
        self.eventually(lambda: index.count() == 151)
        assert [hit.version_id for hit in index.search("alpha", None, PUBLIC, candidates=5)] == ["v2"]
        assert [hit.version_id for hit in index.search("", direction(0), PUBLIC, candidates=5)] == ["v2"]

    def test_update_access_moves_a_version_to_other_readers_and_keeps_the_rest(self, index: SearchIndex) -> None:
        index.write_version("v1", make_version("v1", ["alpha", "beta"]))
        before = index.vectors(["chk_v1_0", "chk_v1_1"])
        index.update_access("v1", ("group:lab",), ("d7",), "policy")
        index.update_access("unknown", ("public",), ("d7",), None)
        self.eventually(lambda: index.search("alpha", direction(0), PUBLIC) == [])
        narrow = SearchFilter(("group:lab",), ("d7",), "policy")
        assert {hit.text for hit in index.search("alpha", direction(0), narrow)} == {"alpha", "beta"}
        assert index.search("alpha", direction(0), SearchFilter(("group:lab",), ("d7",), "notice")) == []
        assert index.count("v1") == index.count() == 2
        after = index.vectors(["chk_v1_0", "chk_v1_1"])
        assert all(np.array_equal(before[key], after[key]) for key in before) and len(after) == 2

    def test_words_alone_rank_by_bm25_and_stems_meet(self, index: SearchIndex) -> None:
        texts = ["insulin dosing", "insulin is named once in this much longer passage about other matters", "aspirin"]
        index.write_version("v1", make_version("v1", texts))
        hits = index.search("insulins doses dosing", None, PUBLIC)
        assert [hit.text for hit in hits] == texts[:2]
        assert hits[0].scores["bm25"] > hits[1].scores["bm25"] and all("dense" not in hit.scores for hit in hits)

    def test_a_vector_alone_ranks_by_cosine_whatever_its_length(self, index: SearchIndex) -> None:
        angles = [70, 10, 40]
        index.write_version(
            "v1", [make_chunk("v1", i, "alpha", vector=direction(angle) * 3) for i, angle in enumerate(angles)]
        )
        hits = index.search("  ", direction(0) * 7, PUBLIC)
        assert [hit.chunk_id for hit in hits] == ["chk_v1_1", "chk_v1_2", "chk_v1_0"]
        cosines = [hit.scores["dense"] for hit in hits]
        assert np.allclose(cosines, np.cos(np.radians([10, 40, 70])), atol=0.01)
        assert all("bm25" not in hit.scores for hit in hits)

    def test_scores_are_min_max_normalised_and_their_weighted_sum_orders_the_hits(self, index: SearchIndex) -> None:
        filler = "and some other words that make it long"
        texts = ["alpha alpha", f"alpha {filler}", f"alpha {filler} {filler} {filler} {filler}", "beta"]
        vectors = [direction(angle) for angle in (80, 10, 5, 60)]
        index.write_version(
            "v1", [make_chunk("v1", i, t, vector=v) for i, (t, v) in enumerate(zip(texts, vectors, strict=True))]
        )
        words = index.search("alpha", None, PUBLIC)
        dense = index.search("", direction(0), PUBLIC)
        assert _order(words) == ["chk_v1_0", "chk_v1_1", "chk_v1_2"]
        assert _order(dense) == ["chk_v1_2", "chk_v1_1", "chk_v1_3", "chk_v1_0"]
        by_words, by_dense = _normalised(words, "bm25"), _normalised(dense, "dense")
        for weight in (0.45, 0.7):
            fused = index.search("alpha", direction(0), PUBLIC, dense_weight=weight)
            expected = {key: weight * by_dense[key] + (1 - weight) * by_words.get(key, 0.0) for key in by_dense}
            assert {hit.chunk_id: hit.score for hit in fused} == pytest.approx(expected, abs=0.01)
            assert _order(fused) == sorted(expected, key=lambda key: -expected[key])
        assert _order(index.search("alpha", direction(0), PUBLIC, dense_weight=0.45))[0] == "chk_v1_1"

    def test_at_most_k_hits_come_back_best_first(self, index: SearchIndex) -> None:
        index.write_version("v1", [make_chunk("v1", i, "alpha", vector=direction(i)) for i in range(30)])
        hits = index.search("alpha", direction(0), PUBLIC, k=7)
        assert len(hits) == 7 and [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        assert index.search("alpha", direction(0), PUBLIC, k=0) == []

    @pytest.mark.parametrize("code", ["RX-1234", "021000021", "E11.65", "J-7/b"])
    def test_a_code_is_found_by_its_words_ahead_of_its_parts(self, index: SearchIndex, code: str) -> None:
        scattered = " then ".join(reversed(code.replace("-", " ").replace(".", " ").replace("/", " ").split()))
        texts = [f"{scattered} {scattered}" if scattered != code else "021000022", f"form {code} is valid here", "none"]
        index.write_version("v1", make_version("v1", texts))
        assert index.search(f"What is {code.lower()}?", None, PUBLIC)[0].text == texts[1]

    @pytest.mark.parametrize("text", UNUSUAL, ids=UNUSUAL_IDS)
    def test_unusual_text_is_stored_as_it_is_and_asked_as_plain_words(self, index: SearchIndex, text: str) -> None:
        index.write_version("v1", make_version("v1", [text, "plain alpha passage"]))
        by_vector = index.search("", direction(0), PUBLIC)
        assert text in {hit.text for hit in by_vector}
        found = {hit.text for hit in index.search(text, direction(0), PUBLIC)}
        assert found == {text, "plain alpha passage"}
        assert {hit.text for hit in index.search(text, None, PUBLIC)} <= found

    def test_a_question_is_never_read_as_query_syntax(self, index: SearchIndex) -> None:
        index.write_version("v1", make_version("v1", ["alpha alphabet", "beta"]))
        for question in ("alpha AND missing", "-alpha", '"alpha missing"', "+missing alpha", "NOT alpha", "x:alpha"):
            assert [hit.text for hit in index.search(question, None, PUBLIC)] == ["alpha alphabet"], question
        for question in ("bet*", "/be.a/", "bets~", "*", "*:*", "[a TO z]", "\ud800", '"()'):
            assert index.search(question, None, PUBLIC) == [], question

    def test_vectors_come_back_by_chunk_id(self, index: SearchIndex) -> None:
        chunks = [make_chunk("v1", i, "alpha", vector=direction(i * 9)) for i in range(3)]
        index.write_version("v1", chunks)
        found = index.vectors(["chk_v1_2", "chk_v1_0", "unknown"])
        assert set(found) == {"chk_v1_0", "chk_v1_2"} and index.vectors([]) == {}
        assert all(vector.dtype == np.float32 and vector.shape == (DIMENSION,) for vector in found.values())
        assert np.allclose(found["chk_v1_2"], chunks[2].vector, atol=1e-6)

    def test_a_vector_of_another_length_or_not_finite_is_refused_and_changes_nothing(self, index: SearchIndex) -> None:
        index.write_version("v1", make_version("v1", ["alpha"]))
        short, broken = np.ones(DIMENSION - 1, np.float32), np.full(DIMENSION, np.nan, np.float32)
        for vector in (short, broken):
            with pytest.raises(InvalidInput, match="vector"):
                index.write_version("v1", [*make_version("v1", ["beta"]), make_chunk("v1", 1, "gamma", vector=vector)])
            with pytest.raises(InvalidInput, match="vector"):
                index.search("alpha", vector, PUBLIC)
        assert [hit.text for hit in index.search("alpha", direction(0), PUBLIC)] == ["alpha"]

    def test_a_chunk_of_another_version_is_refused(self, index: SearchIndex) -> None:
        with pytest.raises(InvalidInput, match="another version"):
            index.write_version("v1", make_version("v2", ["alpha"]))

    def test_optimize_changes_no_answer_and_open_readers_keep_working(self, factory: Factory) -> None:
        writer, reader = factory(), factory()
        for i in range(12):
            writer.write_version(f"v{i}", make_version(f"v{i}", [f"alpha word{i}", f"beta number{i}"]))
        writer.delete_versions([f"v{i}" for i in range(6)])
        self.eventually(lambda: reader.count() == 12)
        before = reader.search("alpha word7 number9", direction(0), PUBLIC, k=20)
        writer.optimize()
        writer.optimize()
        for index in (reader, factory()):
            after = index.search("alpha word7 number9", direction(0), PUBLIC, k=20)
            assert {hit.chunk_id for hit in after} == {hit.chunk_id for hit in before} and len(after) == 12
            assert index.count() == 12 and index.count("v3") == 0

    def test_another_process_sees_a_write_within_a_second(self, factory: Factory) -> None:
        reader = factory()
        assert reader.count() == 0
        with Child(write_and_tell, factory) as (_, pipe):
            for generation_number in range(3):
                pipe.send(generation_number)
                written_at = pipe.recv()
                while _generations(reader, generation_number) != {generation_number}:
                    assert time.time() - written_at < 1.0, f"generation {generation_number} is not visible"
                    time.sleep(0.01)

    def test_a_reader_never_sees_a_half_written_version(self, factory: Factory) -> None:
        reader, last = factory(), 49
        seen: set[int] = set()
        with Child(rewrite_generations, factory, last) as (child, _):
            while child.is_alive():
                seen |= _assert_whole(reader, max(seen, default=0))
                time.sleep(0.001)
        assert child.exitcode == 0
        self.eventually(lambda: _assert_whole(reader, last) == {last})
        assert len(seen) > 5, f"the reader saw only {seen}: it did not read while the writer wrote"

    def test_a_writer_that_is_killed_leaves_a_whole_version_and_no_lock(self, factory: Factory) -> None:
        factory().write_version("v1", generation(0))
        reader, killed_inside = factory(), 0
        for delay_s in (0.0, 0.02, 0.05, 0.1, 0.2):
            with Child(announce_and_write, factory, 1_500) as (child, pipe):
                pipe.recv()
                time.sleep(delay_s)
                killed_inside += not pipe.poll()
                child.kill()
                child.join()
            for index in (reader, factory()):
                assert index.count() in (generation_size(0), 1_500)
            factory().write_version("v1", generation(0))
            self.eventually(lambda: _assert_whole(reader, 0) == {0})
        assert killed_inside, "every write was over before its process was killed"

    def eventually(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + self.refresh_s
        while not condition():
            assert time.monotonic() < deadline, f"not so within {self.refresh_s} s"
            time.sleep(0.01)

    def test_after_any_order_of_writes_a_reader_ranks_as_a_brute_force_over_what_is_left(
        self, factory: Factory
    ) -> None:
        chance, numbers = random.Random(7), np.random.default_rng(7)
        writer, reader = factory(), factory()
        held: dict[str, list[IndexedChunk]] = {}
        groups = ["group:a", "group:b", "public"]
        for step in range(self.random_writes):
            version = f"v{chance.randrange(self.random_versions)}"
            action = chance.random()
            if action < 0.6:
                acl = tuple(chance.sample(groups, chance.randrange(1, 3)))
                count = chance.choice(self.random_sizes)
                vectors = numbers.standard_normal((count, DIMENSION)).astype(np.float32)
                held[version] = [make_chunk(version, i, "alpha", vector=v, acl=acl) for i, v in enumerate(vectors)]
                writer.write_version(version, held[version])
            elif action < 0.85:
                assert writer.delete_versions([version]) == len(held.pop(version, []))
            else:
                writer.optimize()
            query = numbers.standard_normal(DIMENSION).astype(np.float32)
            grants = (chance.choice(groups),)
            hits = reader.search("", query, SearchFilter(grants), candidates=self.random_candidates)
            seen = [one for chunks in held.values() for one in chunks if set(one.acl) & set(grants)]
            cosines = {one.chunk.chunk_id: float(one.vector @ query / np.linalg.norm(one.vector)) for one in seen}
            assert [hit.chunk_id for hit in hits] == sorted(cosines, key=lambda key: -cosines[key])[:10], step
            assert reader.count() == sum(map(len, held.values()))


class Child:
    """A fresh Python process (spawned: it shares nothing but the store) and a pipe to it; killed at the end."""

    def __init__(self, target: Callable[..., None], *arguments: Any) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe: Connection
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=target, args=(other, *arguments), daemon=True)

    def __enter__(self) -> tuple[Any, Connection]:
        self.process.start()
        return self.process, self.pipe

    def __exit__(self, *_: object) -> None:
        if self.process.is_alive():
            self.process.kill()
        self.process.join()
        self.pipe.close()


def _assert_whole(index: SearchIndex, at_least: int) -> set[int]:
    """The one generation that a search shows, or none before the first; fails on anything mixed or partial."""
    found = _generations(index, at_least)
    assert len(found) <= 1, f"generations {found} at once"
    return found


def _generations(index: SearchIndex, at_least: int) -> set[int]:
    hits = index.search("alpha", direction(0), PUBLIC, k=50)
    generations = {int(hit.text.split()[1]) for hit in hits}
    for hit in hits:
        number = int(hit.text.split()[1])
        assert {"bm25", "dense"} <= set(hit.scores), "words without a vector, or a vector without words"
        angle = np.degrees(np.arccos(hit.scores["dense"]))
        assert abs(angle - (number + 10)) < 0.5, "the words are of another generation than the vector"
        assert len(hits) == generation_size(number), f"{len(hits)} chunks of {generation_size(number)}"
        assert number >= at_least, f"generation {number} after {at_least}"
    return generations


def _order(hits: list[Hit]) -> list[str]:
    return [hit.chunk_id for hit in hits]


def _normalised(hits: list[Hit], ranker: str) -> dict[str, float]:
    scores = {hit.chunk_id: hit.scores[ranker] for hit in hits}
    low, high = min(scores.values()), max(scores.values())
    return {key: (score - low) / (high - low) for key, score in scores.items()}
