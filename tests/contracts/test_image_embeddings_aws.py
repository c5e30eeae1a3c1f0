"""Titan Multimodal through Bedrock's wire, played by tests/doubles/bedrock.py."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

import numpy as np
import pytest
from PIL import Image

from cli import doctor_aws
from foundation import aws_stores
from foundation.adapters.aws import permissions
from foundation.adapters.aws.clients import client
from foundation.adapters.aws.image_embeddings import MODEL_ID, TitanImageEmbedder
from foundation.contracts.image_embeddings import IMAGES, SAME, ImageEmbedderContract, drawn, saved
from foundation.errors import ConfigurationError, InvalidInput, ResourceLimit, Unavailable
from foundation.settings import OcrSettings, Settings
from foundation.stores import Stores
from tests.doubles.bedrock import Bedrock

pytestmark = pytest.mark.usefixtures("aws_keys")


def embedder_of(bedrock: Bedrock, **chosen: object) -> TitanImageEmbedder:
    made = aws_stores.image_embedder(bedrock.settings(**chosen))
    assert isinstance(made, TitanImageEmbedder)
    return made


@pytest.fixture
def embedder(bedrock: Bedrock) -> TitanImageEmbedder:
    return embedder_of(bedrock)


class TestTitanMultimodal(ImageEmbedderContract):
    @pytest.fixture
    def embedder(self, bedrock: Bedrock) -> TitanImageEmbedder:
        return embedder_of(bedrock)


class TestShortVectors(ImageEmbedderContract):
    @pytest.fixture
    def embedder(self, bedrock: Bedrock) -> TitanImageEmbedder:
        return embedder_of(bedrock, image_model="titan-embed-image-v1-256")


def test_each_length_is_a_model_of_its_own(bedrock: Bedrock) -> None:
    names = ["titan-embed-image-v1", "titan-embed-image-v1-384", "titan-embed-image-v1-256"]
    made = [embedder_of(bedrock, image_model=name) for name in names]
    assert [(one.model, one.dimension) for one in made] == list(zip(names, (1024, 384, 256), strict=True))
    assert [one.embed_images(IMAGES[:1]).shape for one in made] == [(1, 1024), (1, 384), (1, 256)]


def test_the_adapter_of_embeddings_chooses_and_embedded_says_that_it_has_none(bedrock: Bedrock) -> None:
    assert isinstance(Stores(bedrock.settings()).image_embedder, TitanImageEmbedder)
    with pytest.raises(ConfigurationError, match="until an embedded model") as raised:
        _ = Stores(Settings()).image_embedder
    assert "ASKLINE_ADAPTERS__EMBEDDINGS" in raised.value.fix


@pytest.mark.parametrize("form", SAME)
def test_every_form_is_sent_as_an_upright_rgb_jpeg_within_the_limits(
    bedrock: Bedrock, embedder: TitanImageEmbedder, form: str
) -> None:
    embedder.embed_images([SAME[form]])
    (sent,) = bedrock.pictures
    assert (sent.format, sent.mode) == ("JPEG", "RGB")
    assert sent.size == ((2048, 1536) if form == "large" else (320, 240))


def test_even_noise_is_scaled_down_below_the_largest_size(bedrock: Bedrock, embedder: TitanImageEmbedder) -> None:
    noise = np.random.default_rng(5).integers(0, 256, (2100, 2100, 3), np.uint8)
    image = saved(Image.fromarray(noise), "PNG", compress_level=1)
    assert embedder.embed_images([image]).shape == (1, 1024)
    assert bedrock.pictures[0].size == (2048, 2048)


def test_a_strip_keeps_a_pixel_of_its_shorter_side(bedrock: Bedrock, embedder: TitanImageEmbedder) -> None:
    embedder.embed_images([saved(Image.new("L", (9000, 2), 90)), saved(Image.new("RGB", (1, 1), "red"))])
    assert {sent.size for sent in bedrock.pictures} == {(2048, 1), (1, 1)}


def test_what_stands_beside_the_pixels_is_not_sent(bedrock: Bedrock, embedder: TitanImageEmbedder) -> None:
    exif = Image.Exif()
    exif[0x010E] = "Jane Doe, ward 4"
    image = saved(drawn("disc"), "JPEG", exif=exif, comment=b"Jane Doe", icc_profile=b"Jane Doe's screen")
    assert b"Jane Doe" in image
    embedder.embed_images([image])
    (sent,) = bedrock.pictures
    assert not sent.getexif() and sent.info.keys() <= {"jfif", "jfif_version", "jfif_unit", "jfif_density"}


def test_an_image_of_too_many_pixels_is_named_with_the_setting(bedrock: Bedrock) -> None:
    settings = bedrock.settings().model_copy(update={"ocr": OcrSettings(max_megapixels=1)})
    large = saved(Image.new("1", (2000, 1000)))
    with pytest.raises(ResourceLimit, match=r"Image 2 of 2 has 2000 x 1000 pixels") as raised:
        aws_stores.image_embedder(settings).embed_images([IMAGES[0], large])
    assert "ASKLINE_OCR__MAX_MEGAPIXELS" in raised.value.fix


# Faults


@pytest.mark.parametrize("code", ["ThrottlingException", "ModelTimeoutException", "ServiceUnavailableException"])
def test_what_passes_is_tried_again(bedrock: Bedrock, embedder: TitanImageEmbedder, code: str) -> None:
    expected = embedder.embed_images(IMAGES)
    bedrock.fail(code, times=3)
    assert np.allclose(embedder.embed_images(IMAGES), expected, atol=1e-6)
    assert len(bedrock.pictures) == 2 * len(IMAGES)


def test_throttling_for_good_is_transient_and_names_model_and_image(bedrock: Bedrock) -> None:
    embedder = embedder_of(bedrock, max_attempts=2, concurrency=1)
    bedrock.fail("ThrottlingException", times=99)
    with pytest.raises(Unavailable) as raised:
        embedder.embed_images(IMAGES)
    assert re.search(rf"{MODEL_ID}, image 1 of 3: .*ThrottlingException.*request [0-9a-f-]{{36}}", raised.value.message)
    assert "quota" in raised.value.fix


@pytest.mark.parametrize(
    ("code", "kind", "fix"),
    [
        ("AccessDeniedException", ConfigurationError, "bedrock:InvokeModel"),
        ("ValidationException", InvalidInput, "."),
    ],
)
def test_what_does_not_pass_is_said_at_once(
    bedrock: Bedrock, embedder: TitanImageEmbedder, code: str, kind: type[Exception], fix: str
) -> None:
    bedrock.fail(code)
    with pytest.raises(kind, match=f"image 1 of 1: .*{code}.*request ") as raised:
        embedder.embed_images(IMAGES[:1])
    assert fix in raised.value.fix  # type: ignore[attr-defined]
    assert bedrock.pictures == []


def test_an_error_inside_an_answer_is_one(bedrock: Bedrock, embedder: TitanImageEmbedder) -> None:
    bedrock.message = "The image could not be processed."
    with pytest.raises(InvalidInput, match=r"image 1 of 1: The image could not be processed\."):
        embedder.embed_images(IMAGES[:1])


def test_fewer_calls_go_out_at_once_while_it_throttles(bedrock: Bedrock) -> None:
    embedder = embedder_of(bedrock, concurrency=8)
    bedrock.latency_s, bedrock.most_at_once = 0.1, 2
    assert embedder.embed_images(IMAGES * 4).shape == (12, 1024)
    assert bedrock.throttled > 0 and len(bedrock.pictures) == 12  # each was answered once
    assert embedder._pace.allowed < 8


# The double refuses what Bedrock refuses


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({}, "at least one"),
        ({"inputImage": "no base64!"}, "valid base64 image"),
        ({"inputImage": "aGVsbG8="}, "valid base64 image"),
        ({"inputText": "dose", "dimensions": 256}, "extraneous key"),
        ({"inputText": "dose", "embeddingConfig": {"outputEmbeddingLength": 512}}, "outputEmbeddingLength"),
        ({"inputText": "dose " * 400}, "Too many input tokens"),
    ],
)
def test_a_wrong_request_is_refused(bedrock: Bedrock, asked: dict[str, Any], said: str) -> None:
    made = client(bedrock.settings(), "bedrock-runtime", attempts=1)
    with pytest.raises(made.exceptions.ValidationException, match=said):
        made.invoke_model(modelId=MODEL_ID, contentType="application/json", body=json.dumps(asked))


@pytest.mark.parametrize(("size", "kind", "said"), [((2049, 8), "PNG", "max pixels"), ((8, 8), "GIF", "valid base64")])
def test_an_image_beyond_the_limits_is_refused(bedrock: Bedrock, size: tuple[int, int], kind: str, said: str) -> None:
    image = saved(Image.new("L", size), kind)
    made = client(bedrock.settings(), "bedrock-runtime", attempts=1)
    asked = {"inputImage": base64.b64encode(image).decode()}
    with pytest.raises(made.exceptions.ValidationException, match=said):
        made.invoke_model(modelId=MODEL_ID, contentType="application/json", body=json.dumps(asked))


# askline doctor


def test_the_doctor_tries_both_models_and_names_the_one_that_is_denied(bedrock: Bedrock) -> None:
    settings = bedrock.settings()
    tried = list(permissions.try_all(settings))
    assert [(one.part, one.action, one.error) for one in tried] == [
        ("Bedrock", "bedrock:InvokeModel", None),
        ("Bedrock images", "bedrock:InvokeModel", None),
    ]
    bedrock.denied = {MODEL_ID}
    texts, images = permissions.try_all(settings)
    assert texts.error is None and images.error is not None
    assert f"foundation-model/{MODEL_ID}" in images.error.fix
    found = {finding.part: finding.state for finding in doctor_aws._permissions(settings)}
    assert (found["Bedrock"], found["Bedrock images"]) == ("ok", "warning")  # nothing depends on it yet
