"""Which image a file is, by its first bytes."""

from __future__ import annotations

from foundation.media_kinds import BMP, GIF, JPEG, PNG, TIFF, WEBP, MediaType

_SIGNATURES = {
    b"\x89PNG\r\n\x1a\n": PNG,
    b"\xff\xd8\xff": JPEG,
    b"II*\0": TIFF,
    b"MM\0*": TIFF,
    b"II+\0": TIFF,
    b"MM\0+": TIFF,
    b"GIF87a": GIF,
    b"GIF89a": GIF,
}


def image_type(head: bytes) -> MediaType | None:
    """The type of an image that starts with `head`; None for anything else."""
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return WEBP
    # "BM" alone begins many a text; four reserved zero bytes follow in a bitmap.
    if head[:2] == b"BM" and head[6:10] == bytes(4) and len(head) > 14:
        return BMP
    return next((found for magic, found in _SIGNATURES.items() if head.startswith(magic)), None)
