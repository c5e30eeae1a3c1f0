"""The pages of an image file, upright as a camera meant them: what the parser reads and what the page view shows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from PIL import Image, ImageOps, UnidentifiedImageError

from foundation.errors import DamagedFile, ResourceLimit

FORMATS = ("PNG", "JPEG", "TIFF", "BMP", "WEBP", "GIF")
"""Pillow's names of what is read; other decoders are never started."""
_PAGE_SIDE = 842.0
"""Points of the longer side at most: that of an A4 page. Files state their resolution too seldom to trust it."""
_WITH_PAGES = "TIFF"
"""The one of these formats whose frames are pages, not moments."""
MEGAPIXELS = 100

# Pillow's own limit only warns up to twice its value; ours is looked at before anything is decoded.
Image.MAX_IMAGE_PIXELS = None


@contextmanager
def open_image(file: Path | BinaryIO, name: str, megapixels: int = MEGAPIXELS) -> Iterator[Image.Image]:
    """The image, not decoded yet. Raises DamagedFile for what is none, ResourceLimit for one of too many pixels."""
    try:
        image = Image.open(file, formats=FORMATS)
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError) as error:
        raise DamagedFile(f"{name} is not an image that can be read.") from error
    with image:
        _check_size(image, name, megapixels)
        yield image


def page_count(image: Image.Image) -> int:
    return int(getattr(image, "n_frames", 1)) if image.format == _WITH_PAGES else 1


def frame_count(image: Image.Image) -> int:
    """Pages, or the moments of a moving picture."""
    return int(getattr(image, "n_frames", 1))


def picture(image: Image.Image, number: int, name: str, megapixels: int = MEGAPIXELS) -> Image.Image:
    """Page `number` (from 1) of as many as `page_count` says, decoded, upright, in grey or RGB on white.

    Raises DamagedFile for one that does not decode, ResourceLimit.
    """
    try:
        image.seek(number - 1)
        _check_size(image, name, megapixels)
        page = ImageOps.exif_transpose(image)
        return _plain(page)
    except (OSError, ValueError, SyntaxError, EOFError, ArithmeticError) as error:
        raise DamagedFile(f"{name}: page {number} is damaged or cut off.") from error


def page_size(picture: Image.Image) -> tuple[float, float]:
    """(width, height) of a page of this picture in points."""
    scale = min(1.0, _PAGE_SIDE / max(picture.size))
    return picture.width * scale, picture.height * scale


def _check_size(image: Image.Image, name: str, megapixels: int) -> None:
    width, height = image.size
    if width * height > megapixels * 1_000_000:
        raise ResourceLimit(
            f"{name} has {width} x {height} pixels, more than {megapixels} million.",
            fix="Save it with fewer pixels (300 dots an inch are enough), or raise ASKLINE_OCR__MAX_MEGAPIXELS.",
        )


def _plain(image: Image.Image) -> Image.Image:
    if image.mode in ("1", "L"):
        return image.convert("L")
    if image.mode.startswith("I") or image.mode == "F":
        return _eight_bits(image)
    if image.mode in ("LA", "PA", "RGBA", "RGBa", "La") or "transparency" in image.info:
        whole = image.convert("RGBA")
        paper = Image.new("RGBA", whole.size, "white")
        return Image.alpha_composite(paper, whole).convert("RGB")
    return image.convert("RGB")


def _eight_bits(image: Image.Image) -> Image.Image:
    """Grey of more bits: Pillow would cut it off at 255."""
    wide = image.convert("F")
    low, high = (float(value) for value in wide.getextrema())  # type: ignore[arg-type]
    scale = 255 / (high - low) if high > low else 1.0
    return wide.point(lambda value: value * scale - low * scale).convert("L")
