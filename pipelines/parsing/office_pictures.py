"""Pictures inside office files: their text is not read, and the reader is told."""

from __future__ import annotations

import zipfile
from pathlib import Path, PurePosixPath

from foundation.types import FileWarning

NO_TEXT_FIX = "Save it as PDF and upload that: pictures of text are read there."
"""What to do with an office file that holds pictures alone."""

_FOLDERS = ("word/media/", "ppt/media/", "Pictures/")
_FORMATS = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".gif", ".webp", ".emf", ".wmf")
_SMALLEST = 20_000
"""Bytes; less is a logo or a bullet."""


def picture_warnings(path: Path, file_name: str) -> list[FileWarning]:
    """A warning when the ZIP-based office file holds pictures that may show text."""
    with zipfile.ZipFile(path) as archive:
        pictures = [
            entry
            for entry in archive.infolist()
            if entry.filename.startswith(_FOLDERS)
            and PurePosixPath(entry.filename).suffix.lower() in _FORMATS
            and entry.file_size >= _SMALLEST
        ]
    if not pictures:
        return []
    counted = "a picture" if len(pictures) == 1 else f"{len(pictures):,} pictures"
    message = f"{file_name} holds {counted}; text inside was not read. Saved as PDF and uploaded, it is."
    return [FileWarning("image_not_read", message)]
