"""Refuses a ZIP archive that would unpack to far more than it should, before anything is unpacked."""

from __future__ import annotations

import zipfile
from pathlib import Path

from foundation.errors import DamagedFile, ResourceLimit

_HARMLESS = 4 << 20
"""Bytes; below it no ratio is looked at, since a small sheet of equal rows packs very well."""

_FIX = "Upload the content as CSV, TXT or PDF, or split the file. No setting raises this limit: it stops ZIP bombs."


def check_archive(path: Path, file_name: str, *, max_ratio: int = 100, max_bytes: int = 1_000_000_000) -> None:
    """Compare the sizes of the central directory with `max_bytes` unpacked and with `max_ratio` times the file's size.

    ResourceLimit above either; DamagedFile when there is no readable central directory. A directory that lies about the
    sizes is caught by the worker's memory limit.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            unpacked = sum(entry.file_size for entry in archive.infolist())
    except (zipfile.BadZipFile, NotImplementedError, ValueError, EOFError) as error:
        raise DamagedFile(f"{file_name} is cut off or damaged: {error}") from error
    packed = path.stat().st_size
    if unpacked > max_bytes:
        raise ResourceLimit(f"{file_name} unpacks to {unpacked:,} bytes; at most {max_bytes:,} are allowed", fix=_FIX)
    if unpacked > _HARMLESS and unpacked > max_ratio * packed:
        raise ResourceLimit(
            f"{file_name} unpacks to {unpacked // packed:,} times its size; at most {max_ratio} times is allowed",
            fix=_FIX,
        )
