"""Is an office file safe to hand to a library? Asked before anything of it is parsed."""

from __future__ import annotations

import io
import zipfile
import zlib
from pathlib import Path
from xml.sax import SAXException
from xml.sax.handler import ContentHandler

import defusedxml.sax
from defusedxml import DefusedXmlException

from foundation.errors import DamagedFile, EmptyFile, EncryptedFile
from pipelines.parsing.archive_guard import check_archive

_CFB = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def check_office_file(path: Path, file_name: str) -> None:
    """Check the container, then that no XML part declares a document type (hence no entities, inside or outside).

    Raises EmptyFile, EncryptedFile (a password, or the old binary format), ResourceLimit (a ZIP bomb), DamagedFile.
    """
    with path.open("rb") as file:
        head = file.read(8)
    if not head:
        raise EmptyFile(f"{file_name} is empty (0 bytes).")
    if head == _CFB:
        raise EncryptedFile(f"{file_name} is protected by a password, or is of the old binary format.")
    check_archive(path, file_name)
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            if entry.flag_bits & 0x1:
                raise EncryptedFile(f"{file_name} is a ZIP archive that is protected by a password.")
            if entry.filename.endswith((".xml", ".rels")):
                _check_xml(_read(archive, entry, file_name), entry.filename, file_name)


def _read(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, file_name: str) -> bytes:
    # zipfile never gives more of an entry than the directory says, so a directory that lies only cuts itself short.
    try:
        return archive.read(entry)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError) as error:
        raise DamagedFile(f"{file_name} is damaged: {entry.filename} in it cannot be unpacked.") from error


def _check_xml(data: bytes, part: str, file_name: str) -> None:
    try:
        defusedxml.sax.parse(io.BytesIO(data), ContentHandler(), forbid_dtd=True)
    except DefusedXmlException as error:
        message = f"{file_name}: {part} declares a document type or entities, as no office program does."
        raise DamagedFile(message) from error
    except SAXException as error:
        raise DamagedFile(f"{file_name}: {part} is no well-formed XML.") from error
