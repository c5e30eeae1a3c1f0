"""Images → vectors, for finding near duplicates.

Words reach an image through its caption and OCR, so the port has no query by text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from foundation.types import Vector


class ImageEmbedder(Protocol):
    model: str
    """Stable name, stored with each vector."""
    revision: str
    """Hash or version of the weights, stored with each vector."""
    dimension: int

    def embed_images(self, images: Sequence[bytes]) -> Vector:
        """float32 (len(images), dimension), rows of unit length in the order of `images`, which are whole image files.

        What a reader sees counts: upright, on white, the first page or moment. Raises DamagedFile for bytes that are no
        image, ResourceLimit for one of too many pixels; both name it by its place, counted from 1.
        """
