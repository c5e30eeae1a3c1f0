"""Which compressed file or TAR a file is, by its first bytes."""

from __future__ import annotations

import tarfile

from foundation.media_kinds import BZIP2, GZIP, XZ, MediaType

_SIGNATURES = {b"\x1f\x8b": GZIP, b"BZh": BZIP2, b"\xfd7zXZ\0": XZ}


def packed_type(head: bytes) -> MediaType | None:
    """The type of a compressed file that starts with `head`; None for anything else."""
    return next((found for magic, found in _SIGNATURES.items() if head.startswith(magic)), None)


def is_tar(head: bytes) -> bool:
    """Whether the first block is a TAR's header: one of before `ustar` has no signature, only a checksum."""
    try:
        tarfile.TarInfo.frombuf(head[: tarfile.BLOCKSIZE], "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        return False
    return True
