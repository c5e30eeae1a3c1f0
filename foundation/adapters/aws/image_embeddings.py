"""Amazon Titan Multimodal Embeddings G1 through Bedrock's InvokeModel, for images alone.

The limits and fields are those of
https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-titan-embed-mm.html and of titan-multiemb-models
beside it: 25 MB (5 in older copies) and 2,048 x 2,048 pixels an image; 256, 384 or 1024 dimensions. The formats are
named for fine-tuning alone: PNG and JPEG.
"""

from __future__ import annotations

import base64
import io
import threading
from collections.abc import Sequence
from typing import Any

from foundation.adapters.aws.embeddings_calls import EmbeddingCalls
from foundation.image_pages import MEGAPIXELS, open_image, picture
from foundation.types import Vector

MODELS = {"titan-embed-image-v1": 1024, "titan-embed-image-v1-384": 384, "titan-embed-image-v1-256": 256}
"""Our names of the model, one for each length of its vectors, since vectors of two lengths are never compared."""
MODEL_ID = "amazon.titan-embed-image-v1"

_LONGEST_SIDE = 2048
_QUALITY = 95
"""Of JPEG: noise of the largest size makes 10 MB, 13.5 in base64."""
_AT_ONCE = 2
"""Images decoded at once, whatever the calls: the largest that is allowed takes half a GB meanwhile."""


class TitanImageEmbedder(EmbeddingCalls):
    """See foundation.ports.image_embeddings.ImageEmbedder, and EmbeddingCalls for client, retries and errors.

    Every image is sent as an upright RGB JPEG without its metadata, so that one picture has one vector whatever its
    format, and where and of whom it was taken stays here. ResourceLimit above `megapixels` million pixels.
    """

    revision = "v1"

    def __init__(
        self, client: Any, model: str, *, concurrency: int = 16, max_attempts: int = 8, megapixels: int = MEGAPIXELS
    ) -> None:
        super().__init__(client, MODEL_ID, MODELS[model], concurrency, max_attempts)
        self.model = model
        self._megapixels = megapixels
        self._decoding = threading.BoundedSemaphore(_AT_ONCE)

    def embed_images(self, images: Sequence[bytes]) -> Vector:
        count = len(images)

        def vector(number: int) -> Vector:
            with self._decoding:
                jpeg = _upright_jpeg(images[number - 1], f"Image {number} of {count}", self._megapixels)
            asked = {
                "inputImage": base64.b64encode(jpeg).decode("ascii"),
                "embeddingConfig": {"outputEmbeddingLength": self.dimension},
            }
            return self._vector(asked, f", image {number} of {count}")

        return self._each(range(1, count + 1), vector)


def _upright_jpeg(data: bytes, name: str, megapixels: int) -> bytes:
    with open_image(io.BytesIO(data), name, megapixels) as image:
        plain = picture(image, 1, name, megapixels).convert("RGB")
    plain.thumbnail((_LONGEST_SIDE, _LONGEST_SIDE))  # keeps the proportions, never enlarges
    buffer = io.BytesIO()
    plain.info.clear()  # Pillow would write the file's comment again
    plain.save(buffer, "JPEG", quality=_QUALITY, subsampling=0)
    return buffer.getvalue()
