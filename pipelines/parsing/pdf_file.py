"""What a PDF's bytes say before and beside pdfium, which mends in silence and decodes what it is told to."""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterator
from pathlib import Path

import pypdfium2
import pypdfium2.raw as pdfium

from foundation.errors import DamagedFile, EmptyFile
from foundation.types import FileWarning
from pipelines.parsing.assembly import clean

_TAIL = 2048
_HEAD = 1024
_MOST_PIXELS = 500_000_000
_IMAGE_FILTER = re.compile(rb"/(?:JBIG2|DCT|JPX|CCITTFax)Decode")
_SIDE = re.compile(rb"/(?:Width|Height)\s+(\d{1,10})")
_LISTED = 20


def check_ends(path: Path, file_name: str) -> None:
    """Raises EmptyFile, and DamagedFile for a file that was cut off."""
    size = path.stat().st_size
    if size == 0:
        raise EmptyFile(f"{file_name} is empty (0 bytes).")
    tail = _tail(path)
    # pdfium mends what it finds of a file that was cut off, and would give half a document without a word.
    if b"%%EOF" not in tail and b"startxref" not in tail:
        raise DamagedFile(f"{file_name} ends in the middle: {size} bytes and no end mark of a PDF.")


def structure_warnings(path: Path, file_name: str) -> Iterator[FileWarning]:
    """Where the cross-reference table is not where the file says, pdfium has searched for the file's parts itself."""
    found = re.findall(rb"startxref\s+(\d{1,12})", _tail(path))
    with path.open("rb") as file:
        start = max(0, file.read(_HEAD).find(b"%PDF-"))
        for offset in (int(found[-1]), int(found[-1]) + start) if found else ():
            file.seek(offset)
            if re.match(rb"\s*(xref|\d+\s+\d+\s+obj)", file.read(64)):
                return
    message = f"{file_name} has a damaged structure, which was mended as far as possible; parts may be missing."
    yield FileWarning("structure_mended", message)


def image_warnings(path: Path, file_name: str) -> Iterator[FileWarning]:
    """Image data that is never decoded, but that a reader should know of: gigantic, or where no image belongs.

    A stream's dictionary is never compressed, so it is found in the file's bytes.
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for match in _IMAGE_FILTER.finditer(data):
            before = data[max(0, match.start() - 1000) : match.start()].rpartition(b"obj")[2]
            entries = before + data[match.start() : match.end() + 1000].partition(b"stream")[0]
            sides = [int(number) for number in _SIDE.findall(entries)[:2]]
            if not sides:
                message = f"{file_name} has a part that is packed like an image but is none; it was not read."
            elif sides[0] * sides[-1] > _MOST_PIXELS:
                message = f"{file_name} holds an image of {sides[0]} x {sides[-1]} pixels, which was not read."
            else:
                continue
            yield FileWarning("image_not_read", message)
            return


def document_warnings(document: pypdfium2.PdfDocument, file_name: str) -> Iterator[FileWarning]:
    """An XFA form, and the files that the PDF carries."""
    if document.get_formtype() in (pdfium.FORMTYPE_XFA_FULL, pdfium.FORMTYPE_XFA_FOREGROUND):
        message = f"{file_name} is an XFA form; its fields are not in its pages and were not read."
        yield FileWarning("xfa_form", message)
    if (count := document.count_attachments()) > 0:
        names = [_attachment(document, index) for index in range(min(count, _LISTED))]
        more = f" and {count - _LISTED} more" if count > _LISTED else ""
        message = f"{file_name} carries {count} attached files, which were not read: {', '.join(names)}{more}."
        yield FileWarning("attachments_not_read", message)


def _attachment(document: pypdfium2.PdfDocument, index: int) -> str:
    try:
        return clean(document.get_attachment(index).get_name())[:200] or "without a name"
    except pypdfium2.PdfiumError:
        return "one that is damaged"


def _tail(path: Path) -> bytes:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _TAIL))
        return file.read()
