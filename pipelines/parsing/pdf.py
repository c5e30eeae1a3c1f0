"""PDF: text in reading order with a box for every word, headings, tables, form values."""

from __future__ import annotations

import logging
import mmap
import re
from collections.abc import Iterator
from pathlib import Path

import pypdfium2
import pypdfium2.raw as pdfium

from foundation.errors import DamagedFile, EmptyFile, EncryptedFile, NoContent
from foundation.types import FileWarning, ParsedDocument
from pipelines.parsing import pdf_layout, pdf_text
from pipelines.parsing.pdf_forms import form_lines
from pipelines.parsing.pdf_page import Page, read_page
from pipelines.parsing.pdf_tables import Grid, find_grids

PARSER = "pdf/2"

_TAIL = 2048
_UNMAPPED = 0.3
"""A page warns when this share of its lines begins with a character without a Unicode value."""
_SPARSE_TEXT = 200
_IMAGE_PAGE = 0.5
_MOST_PIXELS = 500_000_000
_IMAGE_FILTER = re.compile(rb"/(?:JBIG2|DCT|JPX|CCITTFax)Decode")
_SIDE = re.compile(rb"/(?:Width|Height)\s+(\d{1,10})")


def parse(path: Path, file_name: str) -> ParsedDocument:
    """Parse a PDF; one that needs only an owner password is read.

    Raises EmptyFile, EncryptedFile (opens only with a password), DamagedFile (broken or cut off) and NoContent (no
    page has text, as in a scan). A page that cannot be read, or that is an image, becomes a warning.
    """
    _check_ends(path, file_name)
    with _open(path, file_name) as document:
        document.init_forms()
        pages, grids, warnings = _read(document, file_name)
        title = document.get_metadata_value("Title").strip()
        warnings += _document_warnings(document, file_name)
    warnings += _unread_images(path, file_name)
    return _assemble(pages, grids, warnings, file_name, title)


def _check_ends(path: Path, file_name: str) -> None:
    size = path.stat().st_size
    if size == 0:
        raise EmptyFile(f"{file_name} is empty (0 bytes).")
    with path.open("rb") as file:
        file.seek(max(0, size - _TAIL))
        tail = file.read()
    # pdfium mends what it finds of a file that was cut off, and would give half a document without a word.
    if b"%%EOF" not in tail and b"startxref" not in tail:
        raise DamagedFile(f"{file_name} ends in the middle: {size} bytes and no end mark of a PDF.")


def _open(path: Path, file_name: str) -> pypdfium2.PdfDocument:
    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        if error.err_code in (pdfium.FPDF_ERR_PASSWORD, pdfium.FPDF_ERR_SECURITY):
            raise EncryptedFile(f"{file_name} opens only with a password.") from error
        raise DamagedFile(f"{file_name} is not a readable PDF: its structure is broken.") from error
    if len(document) == 0:
        document.close()
        raise DamagedFile(f"{file_name} has no pages.")
    return document


def _read(
    document: pypdfium2.PdfDocument, file_name: str
) -> tuple[list[Page], dict[int, list[Grid]], list[FileWarning]]:
    pages: list[Page] = []
    grids: dict[int, list[Grid]] = {}
    warnings: list[FileWarning] = []
    for index in range(len(document)):
        number = index + 1
        try:
            page = document[index]
        except pypdfium2.PdfiumError:
            warnings.append(FileWarning("page_damaged", f"{file_name}: page {number} cannot be read.", page=number))
            pages.append(Page(number, (0, 0), (1, 0, 0, 1, 0, 0)))
            continue
        try:
            read = read_page(page, number)
            read.lines += form_lines(document, page, read.transform)
            grids[number] = _tables(page, read)
            warnings += _page_warnings(page, read, file_name)
            pages.append(read)
        except pypdfium2.PdfiumError:
            warnings.append(FileWarning("page_damaged", f"{file_name}: page {number} cannot be read.", page=number))
            pages.append(Page(number, page.get_size(), (1, 0, 0, 1, 0, 0)))
        finally:
            page.close()
    return pages, grids, warnings


def _tables(page: pypdfium2.PdfPage, read: Page) -> list[Grid]:
    words = [word for line in read.lines for word in line.words]
    # On a page whose text runs up or down, a table's rows are its columns.
    sideways = sum(w.box[3] - w.box[1] > w.box[2] - w.box[0] for w in words if len(w.text) > 2)
    if not words or sideways > 0.5 * sum(len(w.text) > 2 for w in words):
        return []
    grids = find_grids(page, read.transform)
    for grid in grids:
        grid.fill(words)
    return [grid for grid in grids if grid.is_table()]


def _page_warnings(page: pypdfium2.PdfPage, read: Page, file_name: str) -> Iterator[FileWarning]:
    number = read.number
    length = sum(len(line.text) for line in read.lines)
    if length == 0:
        if pdfium.FPDFPage_CountObjects(page.raw) > 0:
            message = f"{file_name}: page {number} has no text layer, so nothing of it was read."
            yield FileWarning("no_text_layer", message, page=number)
    elif length < _SPARSE_TEXT and _image_share(page) > _IMAGE_PAGE:
        message = f"{file_name}: page {number} is mostly an image; text inside the image was not read."
        yield FileWarning("image_not_read", message, page=number)
    if read.unmapped > _UNMAPPED:
        message = f"{file_name}: page {number} uses a font that does not say its letters; its text may be wrong."
        yield FileWarning("unmapped_text", message, page=number)


def _image_share(page: pypdfium2.PdfPage) -> float:
    width, height = page.get_size()
    areas = []
    for image in page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_IMAGE], max_depth=2):
        left, bottom, right, top = image.get_bounds()
        areas.append((right - left) * (top - bottom))
    return max(areas, default=0.0) / (width * height or 1)


def _document_warnings(document: pypdfium2.PdfDocument, file_name: str) -> Iterator[FileWarning]:
    if document.get_formtype() in (pdfium.FORMTYPE_XFA_FULL, pdfium.FORMTYPE_XFA_FOREGROUND):
        message = f"{file_name} is an XFA form; its fields are not in its pages and were not read."
        yield FileWarning("xfa_form", message)
    if (count := document.count_attachments()) > 0:
        yield FileWarning("attachments_not_read", f"{file_name} carries {count} attached files, which were not read.")


def _unread_images(path: Path, file_name: str) -> Iterator[FileWarning]:
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


def _assemble(
    pages: list[Page], grids: dict[int, list[Grid]], warnings: list[FileWarning], file_name: str, title: str
) -> ParsedDocument:
    damaged = [w.page for w in warnings if w.code == "page_damaged"]
    if len(damaged) == len(pages):
        raise DamagedFile(f"{file_name}: none of its {len(pages)} pages can be read.")
    blocks = pdf_layout.blocks(pages, grids)
    assembly, word_boxes = pdf_text.write(blocks, pdf_text.vocabulary(pages))
    if not assembly.elements:
        named = "its only page" if len(pages) == 1 else f"any of its pages 1 to {len(pages)}"
        raise NoContent(f"{file_name} has no text layer on {named}.")
    text = assembly.text()
    headings = (
        " ".join(text[e.start : e.end].split()) for e in assembly.elements if e.kind == "title" and e.level == 1
    )
    return ParsedDocument(
        text=text,
        elements=assembly.elements,
        parser=PARSER,
        word_boxes=word_boxes,
        page_count=len(pages),
        page_sizes=[page.size for page in pages],
        title=title if _is_title(title) else next(headings, None),
        warnings=warnings,
    )


def _is_title(title: str) -> bool:
    """Programs write file names and their own names into a PDF's title."""
    lower = title.lower()
    return (
        " " in title and not lower.startswith("microsoft ") and not lower.endswith((".doc", ".docx", ".pdf", ".indd"))
    )


logging.getLogger("pypdfium2").setLevel(logging.ERROR)
