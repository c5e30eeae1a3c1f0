"""ZIP, TAR and compressed files: unpacked within limits. The text is the list of what is inside."""

from __future__ import annotations

import bz2
import gzip
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from foundation.archive_kinds import is_tar, packed_type
from foundation.charset import decoded
from foundation.errors import DamagedFile, EmptyFile, EncryptedFile, NoContent
from foundation.media_kinds import BZIP2, GZIP, XZ, MediaType
from foundation.types import ParsedDocument, ParsedMember
from pipelines.parsing.assembly import Assembly
from pipelines.parsing.members import MemberWriter, UnpackLimits, read_blocks

PARSER = "archive/1"

_OPENERS: dict[MediaType, Callable[..., Any]] = {GZIP: gzip.open, BZIP2: bz2.open, XZ: lzma.open}
_UTF8_NAME = 0x800
_ENCRYPTED = 0x1
_DAMAGED = (zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, OSError, NotImplementedError)


def parse(path: Path, file_name: str, folder: Path | None, limits: UnpackLimits) -> ParsedDocument:
    """Unpack into `folder`. Raises EmptyFile, EncryptedFile, DamagedFile, ResourceLimit (see UnpackLimits), NoContent.

    Nothing is written under a name of the archive's: names that lead outside, links and devices are left out and told.
    """
    size = path.stat().st_size
    if not size:
        raise EmptyFile(f"{file_name} is empty (0 bytes).")
    writer = MemberWriter(file_name, size, folder, limits)
    with path.open("rb") as file:
        head = file.read(6)
    packed = packed_type(head)
    try:
        if head.startswith(b"PK"):
            _unzip(path, file_name, writer)
        elif packed is None:
            with path.open("rb") as file:
                _untar(file, writer)
        else:
            _unpack(path, _OPENERS[packed], writer)
    except _DAMAGED as error:
        raise DamagedFile(f"{file_name} is cut off or damaged: {error}") from error
    if not writer.members:
        refused = "; ".join(warning.message for warning in writer.warnings.all()[:3])
        raise NoContent(
            f"{file_name} holds no file that could be taken. {refused}".strip(),
            fix="Pack files under plain relative names and upload it again.",
        )
    return _document(writer)


def _unzip(path: Path, file_name: str, writer: MemberWriter) -> None:
    with zipfile.ZipFile(path) as archive:
        entries = [entry for entry in archive.infolist() if not entry.is_dir()]
        if entries and all(entry.flag_bits & _ENCRYPTED for entry in entries):
            raise EncryptedFile(f"{file_name} is a ZIP archive that is protected by a password.")
        for entry in entries:
            name = _zip_name(entry)
            if entry.flag_bits & _ENCRYPTED:
                writer.refuse(name, "is protected by a password")
            elif (entry.external_attr >> 16) & 0o170000 == 0o120000:
                writer.refuse(name, "is a link")
            else:
                with archive.open(entry) as file:
                    writer.add(name, read_blocks(file))


def _zip_name(entry: zipfile.ZipInfo) -> str:
    """A name that is not marked as UTF-8 is in the code page of the program that packed it; Python reads CP437.

    `orig_filename` is the name before Python cuts it at a NUL.
    """
    name = entry.orig_filename
    if entry.flag_bits & _UTF8_NAME or name.isascii():
        return name
    return decoded(name.encode("cp437", errors="replace"), otherwise="cp437")


def _untar(file: IO[bytes], writer: MemberWriter) -> None:
    with tarfile.open(fileobj=file, mode="r|") as archive:
        for entry in archive:
            if entry.isdir():
                continue
            content = archive.extractfile(entry) if entry.isreg() else None
            if content is None:
                writer.refuse(entry.name, "is a link" if entry.issym() or entry.islnk() else "is no regular file")
            else:
                writer.add(entry.name, read_blocks(content))


def _unpack(path: Path, opener: Callable[..., Any], writer: MemberWriter) -> None:
    """A compressed TAR, else one compressed file, whose name only the archive's own name says."""
    with opener(path) as file:
        start = file.read(tarfile.BLOCKSIZE)
    with opener(path) as file:
        if is_tar(start):
            _untar(file, writer)
        else:
            writer.add_only(read_blocks(file))


def _document(writer: MemberWriter) -> ParsedDocument:
    # Without the archive's name: what is derived from bytes is shared by all documents that have them.
    assembly = Assembly()
    count = len(writer.members)
    assembly.add("paragraph", f"An archive of {count:,} {'file' if count == 1 else 'files'}.")
    for member in writer.members:
        assembly.add("list_item", _line(member))
    warnings = writer.warnings.all()
    return ParsedDocument(assembly.text(), assembly.elements, PARSER, warnings=warnings, members=writer.members)


def _line(member: ParsedMember) -> str:
    return f"{' '.join(member.path.split())} ({member.size:,} bytes)"
