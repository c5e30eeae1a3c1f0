"""Is an office file safe to hand to a library? Asked before anything of it is parsed."""

from __future__ import annotations

import contextlib
import io
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

from lxml import etree

from foundation.errors import DamagedFile, EmptyFile, EncryptedFile
from pipelines.parsing.archive_guard import check_archive

# ISO 29500 Strict has namespaces of its own for the same elements; the libraries know the transitional ones.
_STRICT = b"http://purl.oclc.org/ooxml/"
_TRANSITIONAL = (
    (b"http://purl.oclc.org/ooxml/officeDocument/math", b"http://schemas.openxmlformats.org/officeDocument/2006/math"),
    (
        b"http://purl.oclc.org/ooxml/officeDocument/relationships",
        b"http://schemas.openxmlformats.org/officeDocument/2006/relationships",
    ),
    (
        b"http://purl.oclc.org/ooxml/wordprocessingml/main",
        b"http://schemas.openxmlformats.org/wordprocessingml/2006/main",
    ),
    (
        b"http://purl.oclc.org/ooxml/presentationml/main",
        b"http://schemas.openxmlformats.org/presentationml/2006/main",
    ),
    (b"http://purl.oclc.org/ooxml/drawingml/", b"http://schemas.openxmlformats.org/drawingml/2006/"),
)
# A template, a slide show and a file with macros hold the same parts as a document, under another name.
_MAIN_TYPES = (
    (b"wordprocessingml.template.main+xml", b"wordprocessingml.document.main+xml"),
    (b"presentationml.slideshow.main+xml", b"presentationml.presentation.main+xml"),
    (b"presentationml.template.main+xml", b"presentationml.presentation.main+xml"),
)

_XML = (".xml", ".rels")
_CFB = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def check_office_file(
    path: Path,
    file_name: str,
    parts: tuple[str, ...] | None = None,
    more: Callable[[zipfile.ZipFile, str], None] | None = None,
) -> None:
    """Check the container, then that no XML part declares a document type (hence no entities, inside or outside).

    parts: the XML parts that are going to be read; None checks all. more: what else is to be asked of the container
    before its parts are looked at.

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
        if more is not None:
            more(archive, file_name)
        for entry in archive.infolist():
            if entry.flag_bits & 0x1:
                raise EncryptedFile(f"{file_name} is a ZIP archive that is protected by a password.")
            if entry.filename in parts if parts is not None else entry.filename.endswith(_XML):
                _check_prolog(_read(archive, entry, file_name), entry.filename, file_name)


def transitional(path: Path) -> io.BytesIO | str:
    """The file as the libraries take it: a copy where namespaces or types have to be changed, else its own path."""
    with zipfile.ZipFile(path) as archive:
        strict = _STRICT in archive.read("_rels/.rels")
        types = archive.read("[Content_Types].xml")
        if not strict and not any(other in types for other, _ in _MAIN_TYPES):
            return str(path)
        copy = io.BytesIO()
        with zipfile.ZipFile(copy, "w", zipfile.ZIP_STORED) as target:
            for entry in archive.infolist():
                data = archive.read(entry)
                if entry.filename == "[Content_Types].xml":
                    data = _replaced(data, _MAIN_TYPES)
                if entry.filename.endswith(_XML):
                    data = _replaced(data, _TRANSITIONAL)
                target.writestr(entry.filename, data)
    copy.seek(0)
    return copy


def _replaced(data: bytes, pairs: tuple[tuple[bytes, bytes], ...]) -> bytes:
    for old, new in pairs:
        data = data.replace(old, new)
    return data


def _read(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, file_name: str) -> bytes:
    # zipfile never gives more of an entry than the directory says, so a directory that lies only cuts itself short.
    try:
        return archive.read(entry)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError) as error:
        raise DamagedFile(f"{file_name} is damaged: {entry.filename} in it cannot be unpacked.") from error


class _RootBegins(Exception):
    """Nothing is declared behind the first element."""


def _check_prolog(data: bytes, part: str, file_name: str) -> None:
    def refuse(*_: object) -> NoReturn:
        raise DamagedFile(f"{file_name}: {part} declares a document type or entities, as no office program does.")

    def stop(*_: object) -> NoReturn:
        raise _RootBegins

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = stop
    with contextlib.suppress(_RootBegins):
        _parse(parser, data, part, file_name)


def _parse(parser: expat.XMLParserType, data: bytes, part: str, file_name: str) -> None:
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, LookupError, ValueError) as error:  # the latter two: of the encoding that it declares
        raise DamagedFile(f"{file_name}: {part} is no well-formed XML.") from error


@contextlib.contextmanager
def malformed_named(path: Path, file_name: str) -> Iterator[None]:
    """While a library reads the file: DamagedFile with the part's name where one is no well-formed XML."""
    try:
        yield
    except etree.XMLSyntaxError as error:
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                if entry.filename.endswith(_XML):
                    _parse(expat.ParserCreate(), _read(archive, entry, file_name), entry.filename, file_name)
        raise DamagedFile(f"{file_name} holds XML that cannot be read.") from error
