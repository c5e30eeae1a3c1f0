"""What every embedder must do. A test class inherits and gives the fixture `embedder`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest

from foundation.ports.embeddings import Embedder

TEXTS = [
    "Adults take 400 mg of ibuprofen every six hours, and not more than 1,200 mg a day.",
    "The hip fracture clinic is closed on public holidays.",
    "Metformin lowers blood glucose in people with type 2 diabetes.",
    "",
    "Übelkeit, Café — naïve 你好 🙂 ½ tablet",
]


class EmbedderContract:
    @pytest.fixture
    def embedder(self) -> Embedder:
        raise NotImplementedError

    def test_vectors_have_unit_length_and_the_stated_shape(self, embedder: Embedder) -> None:
        vectors = embedder.embed_passages(TEXTS)
        assert vectors.shape == (len(TEXTS), embedder.dimension)
        assert vectors.dtype == np.float32
        assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
        query = embedder.embed_query("how much ibuprofen")
        assert query.shape == (embedder.dimension,)
        assert query.dtype == np.float32
        assert np.isclose(np.linalg.norm(query), 1, atol=1e-5)

    def test_no_texts_give_no_rows(self, embedder: Embedder) -> None:
        assert embedder.embed_passages([]).shape == (0, embedder.dimension)

    def test_rows_stand_in_the_order_of_their_texts(self, embedder: Embedder) -> None:
        vectors = embedder.embed_passages(TEXTS)
        backwards = embedder.embed_passages(TEXTS[::-1])[::-1]
        assert np.all((vectors * backwards).sum(axis=1) > 0.99)

    def test_a_vector_does_not_depend_on_the_texts_beside_it(self, embedder: Embedder) -> None:
        alone = np.concatenate([embedder.embed_passages([text]) for text in TEXTS])
        beside_a_long_one = embedder.embed_passages([*TEXTS, "word " * 400])[:-1]
        assert np.all((alone * beside_a_long_one).sum(axis=1) > 0.99)

    def test_a_question_is_nearest_to_the_passage_that_answers_it(self, embedder: Embedder) -> None:
        passages = embedder.embed_passages(TEXTS[:3])
        for question, answer in (
            ("What is the dose of ibuprofen?", 0),
            ("When can I not see somebody about a broken hip?", 1),
            ("Which drug is given for high sugar?", 2),
        ):
            assert int(np.argmax(passages @ embedder.embed_query(question))) == answer

    def test_what_lies_beyond_the_limit_is_cut_off_and_raises_nothing(self, embedder: Embedder) -> None:
        full = "fever " * embedder.max_tokens
        vectors = embedder.embed_passages([full, full + "kidney " * 500])
        assert vectors[0] @ vectors[1] > 0.99
        embedder.embed_query(full)

    def test_offsets_point_at_each_token_in_order_and_are_never_truncated(self, embedder: Embedder) -> None:
        text = "Straße, naïve café: 你好 🙂 5.5 mg/kg. " * 200
        offsets = embedder.token_offsets(text)
        assert len(offsets) == embedder.count_tokens(text) > embedder.max_tokens
        assert all(0 <= start < end <= len(text) for start, end in offsets)
        assert all(a[0] <= b[0] and a[1] <= b[1] for a, b in pairwise(offsets))
        covered = {i for start, end in offsets for i in range(start, end)}
        assert all(i in covered for i, character in enumerate(text) if character.isalnum())

    def test_counts_leave_out_the_special_tokens(self, embedder: Embedder) -> None:
        assert embedder.count_tokens("") == 0
        assert embedder.count_tokens("fever") == 1

    def test_counts_and_offsets_of_texts_parted_by_white_space_add_up(self, embedder: Embedder) -> None:
        for parting in " \t\n\r":
            whole = parting.join(TEXTS)
            assert embedder.count_tokens(whole) == sum(embedder.count_tokens(text) for text in TEXTS)
            at, expected = 0, []
            for text in TEXTS:
                expected += [(at + start, at + end) for start, end in embedder.token_offsets(text)]
                at += len(text) + 1
            assert embedder.token_offsets(whole) == expected

    def test_threads_share_one_embedder(self, embedder: Embedder) -> None:
        expected = embedder.embed_passages(TEXTS)
        with ThreadPoolExecutor(4) as pool:
            for vectors in pool.map(lambda _: embedder.embed_passages(TEXTS), range(8)):
                assert np.all((vectors * expected).sum(axis=1) > 0.99)

    def test_the_model_and_its_revision_have_names(self, embedder: Embedder) -> None:
        assert embedder.model
        assert embedder.revision
