"""Titan through Bedrock's wire, played by tests/doubles/bedrock.py."""

from __future__ import annotations

import re

import numpy as np
import pytest

from foundation import aws_stores
from foundation.adapters.aws.embeddings import TitanEmbedder
from foundation.adapters.embedded.embeddings import OnnxEmbedder
from foundation.contracts.embeddings import TEXTS, EmbedderContract
from foundation.errors import ConfigurationError, InvalidInput, Unavailable
from foundation.settings import Settings
from foundation.stores import Stores
from tests.doubles.bedrock import Bedrock

pytestmark = pytest.mark.usefixtures("aws_keys")


def embedder_of(bedrock: Bedrock, **chosen: object) -> TitanEmbedder:
    settings = bedrock.settings(**chosen)
    made = aws_stores.embedder(settings, settings.embedding_model)
    assert isinstance(made, TitanEmbedder)
    return made


@pytest.fixture
def embedder(bedrock: Bedrock) -> TitanEmbedder:
    return embedder_of(bedrock)


class TestTitan(EmbedderContract):
    @pytest.fixture
    def embedder(self, bedrock: Bedrock) -> TitanEmbedder:
        return embedder_of(bedrock)


class TestShortVectors(EmbedderContract):
    @pytest.fixture
    def embedder(self, bedrock: Bedrock) -> TitanEmbedder:
        return embedder_of(bedrock, embedding_model="titan-embed-text-v2-256")


def test_each_length_is_a_model_of_its_own_so_that_an_index_never_mixes_them(bedrock: Bedrock) -> None:
    names = ["titan-embed-text-v2", "titan-embed-text-v2-512", "titan-embed-text-v2-256"]
    made = [embedder_of(bedrock, embedding_model=name) for name in names]
    assert [(one.model, one.dimension) for one in made] == list(zip(names, (1024, 512, 256), strict=True))
    assert [len(one.embed_query("dose")) for one in made] == [1024, 512, 256]


def test_the_settings_choose_it_and_the_index_that_answers_keeps_its_own(bedrock: Bedrock) -> None:
    stores = Stores(bedrock.settings())
    assert isinstance(stores.embedder_of(stores.settings.embedding_model), TitanEmbedder)
    assert isinstance(stores.embedder_of("bge-small-en-v1.5"), OnnxEmbedder)
    assert Settings().embedding_model == "bge-small-en-v1.5"


def test_a_text_of_a_script_with_more_tokens_than_ours_is_cut_until_it_fits(
    bedrock: Bedrock, embedder: TitanEmbedder
) -> None:
    bedrock.tokens_a_character = 12
    vectors = embedder.embed_passages(["fever " * 2000, "Fieber"])
    assert vectors.shape == (2, 1024)
    assert max(map(len, bedrock.answered)) * 12 < 8192


def test_a_text_without_any_space_stays_within_the_limits(bedrock: Bedrock, embedder: TitanEmbedder) -> None:
    embedder.embed_passages(["a" * 200_000, "名" * 60_000, "1" * 60_000, " " * 70_000])
    assert max(map(len, bedrock.answered)) <= 8 * embedder.max_tokens


# Faults


@pytest.mark.parametrize(
    "code",
    [
        "ThrottlingException",
        "ModelTimeoutException",
        "ModelNotReadyException",
        "ServiceUnavailableException",
        "InternalServerException",
        "ModelErrorException",
    ],
)
def test_what_passes_is_tried_again(bedrock: Bedrock, embedder: TitanEmbedder, code: str) -> None:
    expected = embedder.embed_passages(TEXTS)
    bedrock.fail(code, times=3)
    assert np.allclose(embedder.embed_passages(TEXTS), expected, atol=1e-6)


def test_throttling_for_good_is_transient_and_keeps_the_request_id(bedrock: Bedrock) -> None:
    embedder = embedder_of(bedrock, max_attempts=2)
    bedrock.fail("ThrottlingException", times=99)
    with pytest.raises(Unavailable) as raised:
        embedder.embed_query("dose")
    assert re.search(r"InvokeModel gave ThrottlingException.*request [0-9a-f-]{36}", raised.value.message)
    assert "quota" in raised.value.fix


@pytest.mark.parametrize(
    ("code", "kind", "fix"),
    [
        ("AccessDeniedException", ConfigurationError, "bedrock:InvokeModel"),
        ("ValidationException", InvalidInput, "."),
    ],
)
def test_what_does_not_pass_is_said_at_once(
    bedrock: Bedrock, embedder: TitanEmbedder, code: str, kind: type[Exception], fix: str
) -> None:
    bedrock.fail(code)
    with pytest.raises(kind, match=f"{code}.*request ") as raised:
        embedder.embed_passages(TEXTS[:1])
    assert fix in raised.value.fix  # type: ignore[attr-defined]
    assert bedrock.answered == []


def test_an_error_of_one_text_ends_the_batch_and_not_the_embedder(bedrock: Bedrock, embedder: TitanEmbedder) -> None:
    bedrock.fail("AccessDeniedException")
    with pytest.raises(ConfigurationError):
        embedder.embed_passages(["text"] * 200)
    assert len(bedrock.answered) < 200
    assert embedder.embed_passages(["after"]).shape == (1, 1024)


def test_fewer_calls_go_out_at_once_while_it_throttles_and_more_again_afterwards(bedrock: Bedrock) -> None:
    embedder = embedder_of(bedrock, concurrency=16)
    bedrock.latency_s, bedrock.most_at_once = 0.02, 3
    texts = [f"text {number}" for number in range(150)]
    vectors = embedder.embed_passages(texts)
    assert vectors.shape == (150, 1024)
    assert sorted(bedrock.answered) == sorted(texts)  # each was answered once
    assert bedrock.throttled < 150
    slowed = embedder._pace.allowed
    assert slowed < 16
    bedrock.most_at_once = 1000
    embedder.embed_passages(texts)
    assert embedder._pace.allowed > slowed


def test_calls_go_out_beside_each_other(bedrock: Bedrock) -> None:
    embedder = embedder_of(bedrock, concurrency=10)
    embedder.embed_passages(["warm"])
    bedrock.latency_s = 0.1
    embedder.embed_passages(["text"] * 20)
    assert bedrock.peak == 10


def test_no_credentials_are_named(bedrock: Bedrock, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
    with pytest.raises(ConfigurationError, match="no AWS credentials"):
        embedder_of(bedrock).embed_query("dose")


def test_a_model_that_bedrock_does_not_have_is_named(bedrock: Bedrock) -> None:
    with pytest.raises(ConfigurationError, match="titan-embed-image is no model"):
        aws_stores.embedder(bedrock.settings(), "titan-embed-image")
