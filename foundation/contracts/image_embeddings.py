"""What every embedder of images must do. A test class inherits and gives the fixture `embedder`."""

from __future__ import annotations

import io
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw

from foundation.errors import DamagedFile
from foundation.ports.image_embeddings import ImageEmbedder

_QUARTER_TURN = 6
"""Of EXIF: what is stored must be turned by 90 degrees clockwise to stand upright."""
_ORIENTATION = 0x0112


def drawn(form: str, size: tuple[int, int] = (320, 240)) -> Image.Image:
    """RGB: a grey or coloured form on white, away from the middle, so that each turn of it is another picture."""
    width, height = size
    image = Image.new("RGB", size, "white")
    pen = ImageDraw.Draw(image)
    if form == "disc":
        pen.ellipse([width // 16, height // 12, width // 2, height * 2 // 3], fill="dimgrey")
    elif form == "bars":
        for x in range(0, width // 2, width // 8):
            pen.rectangle([x, height // 2, x + width // 16, height], fill="navy")
    else:
        pen.polygon([(width // 2, height // 8), (width - 5, height - 5), (width // 3, height - 5)], fill="darkred")
    return image


def saved(image: Image.Image, kind: str = "PNG", **how: Any) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **how)
    return buffer.getvalue()


FORMS = ("disc", "bars", "triangle")
IMAGES = [saved(drawn(form)) for form in FORMS]
BLANK = saved(Image.new("RGB", (320, 240), "white"))


def turned_by_its_exif(upright: Image.Image) -> bytes:
    exif = Image.Exif()
    exif[_ORIENTATION] = _QUARTER_TURN
    return saved(upright.transpose(Image.Transpose.ROTATE_90), "JPEG", quality=95, exif=exif)


def on_nothing(image: Image.Image) -> bytes:
    """The white of it transparent, with black below, which no reader sees."""
    whole = image.convert("RGBA")
    white = np.asarray(whole)[..., :3].min(axis=2) == 255
    pixels = np.array(whole)
    pixels[white] = 0
    return saved(Image.fromarray(pixels))


def with_sixteen_bits(image: Image.Image) -> bytes:
    return saved(Image.fromarray(np.asarray(image.convert("L")).astype(np.uint16) * 257))


def moving(first: Image.Image, then: Image.Image) -> bytes:
    return saved(first, "GIF", save_all=True, append_images=[then, then])


def pages(first: Image.Image, then: Image.Image) -> bytes:
    return saved(first, "TIFF", save_all=True, append_images=[then])


_DISC, _BARS = drawn("disc"), drawn("bars")
SAME = {
    "JPEG": saved(_DISC, "JPEG", quality=85),
    "TIFF of two pages": pages(_DISC, _BARS),
    "WEBP": saved(_DISC, "WEBP", quality=80),
    "BMP": saved(_DISC, "BMP"),
    "GIF that moves": moving(_DISC, _BARS),
    "palette": saved(_DISC.quantize(16)),
    "black and white": saved(_DISC.convert("1")),
    "transparent": on_nothing(_DISC),
    "16 bit": with_sixteen_bits(_DISC),
    "CMYK": saved(_DISC.convert("CMYK"), "JPEG", quality=95),
    "turned by its EXIF": turned_by_its_exif(_DISC),
    "large": saved(drawn("disc", (4000, 3000)), "JPEG"),
}
NO_IMAGE = {
    "nothing": b"",
    "text": b"Adults take 400 mg of ibuprofen.",
    "PDF": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<<>>\nendobj\n",
    "cut off PNG": IMAGES[0][: len(IMAGES[0]) // 2],
    "cut off JPEG": SAME["JPEG"][: len(SAME["JPEG"]) // 2],
}


class ImageEmbedderContract:
    @pytest.fixture
    def embedder(self) -> ImageEmbedder:
        raise NotImplementedError

    def test_vectors_have_unit_length_and_the_stated_shape(self, embedder: ImageEmbedder) -> None:
        vectors = embedder.embed_images(IMAGES)
        assert vectors.shape == (len(IMAGES), embedder.dimension)
        assert vectors.dtype == np.float32
        assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)

    def test_no_images_give_no_rows(self, embedder: ImageEmbedder) -> None:
        nothing = embedder.embed_images([])
        assert nothing.shape == (0, embedder.dimension)
        assert nothing.dtype == np.float32

    def test_rows_stand_in_the_order_of_their_images(self, embedder: ImageEmbedder) -> None:
        vectors = embedder.embed_images(IMAGES)
        assert np.allclose(vectors, embedder.embed_images(IMAGES[::-1])[::-1], atol=1e-4)
        assert not np.allclose(vectors, vectors[::-1], atol=1e-2)

    def test_the_same_image_twice_has_the_same_vector(self, embedder: ImageEmbedder) -> None:
        once, again = embedder.embed_images([IMAGES[0], IMAGES[0]])
        assert np.allclose(once, again, atol=1e-5)

    def test_a_vector_does_not_depend_on_the_images_beside_it(self, embedder: ImageEmbedder) -> None:
        alone = np.concatenate([embedder.embed_images([image]) for image in IMAGES])
        assert np.allclose(alone, embedder.embed_images(IMAGES), atol=1e-4)

    @pytest.mark.parametrize("form", SAME)
    def test_the_same_picture_in_another_form_lies_closer_than_another_picture(
        self, embedder: ImageEmbedder, form: str
    ) -> None:
        picture, *others = embedder.embed_images([*IMAGES, BLANK])
        (same,) = embedder.embed_images([SAME[form]])
        assert picture @ same > max(picture @ other for other in others)

    @pytest.mark.parametrize("kind", NO_IMAGE)
    def test_bytes_that_are_no_image_are_named_by_their_place(self, embedder: ImageEmbedder, kind: str) -> None:
        with pytest.raises(DamagedFile, match=r"\b2\b") as raised:
            embedder.embed_images([IMAGES[0], NO_IMAGE[kind], IMAGES[1]])
        assert not raised.value.transient
        assert raised.value.fix

    def test_after_an_error_it_goes_on(self, embedder: ImageEmbedder) -> None:
        with pytest.raises(DamagedFile):
            embedder.embed_images([*IMAGES, b"none"])
        assert embedder.embed_images(IMAGES).shape == (len(IMAGES), embedder.dimension)

    def test_threads_share_one_embedder(self, embedder: ImageEmbedder) -> None:
        expected = embedder.embed_images(IMAGES)
        with ThreadPoolExecutor(4) as pool:
            for vectors in pool.map(lambda _: embedder.embed_images(IMAGES), range(8)):
                assert np.allclose(vectors, expected, atol=1e-4)

    def test_the_model_and_its_revision_have_names(self, embedder: ImageEmbedder) -> None:
        assert embedder.model
        assert embedder.revision
