"""PDF: text in reading order with a box for every word, headings, tables, form values."""

from __future__ import annotations

import logging
from pathlib import Path

import pypdfium2
import pypdfium2.raw as pdfium

from foundation.errors import DamagedFile, EncryptedFile, NoContent
from foundation.settings import OcrSettings
from foundation.types import FileWarning, ParsedDocument
from pipelines.parsing import pdf_file
from pipelines.parsing.page_text import page_text
from pipelines.parsing.pdf_forms import form_lines
from pipelines.parsing.pdf_ocr import PdfOcr
from pipelines.parsing.pdf_page import IDENTITY, Page, read_page
from pipelines.parsing.pdf_scan import need_of
from pipelines.parsing.pdf_tables import Grid, find_grids

PARSER = "pdf/3"


def parse(path: Path, file_name: str, ocr: OcrSettings | None = None) -> ParsedDocument:
    """Parse a PDF; one that needs only an owner password is read. Pages without a right text layer are read by OCR.

    Raises EmptyFile, EncryptedFile (opens only with a password), DamagedFile (broken or cut off) and NoContent (no
    page has text that can be read). A page that cannot be read becomes a warning.
    """
    pdf_file.check_ends(path, file_name)
    with _open(path, file_name) as document, PdfOcr(ocr or OcrSettings(), file_name) as reader:
        document.init_forms()
        pages, grids, warnings = _read(document, reader, file_name)
        title = document.get_metadata_value("Title").strip()
        warnings += pdf_file.document_warnings(document, file_name)
        records, more = reader.mend()
    warnings += [*more, *pdf_file.image_warnings(path, file_name), *pdf_file.structure_warnings(path, file_name)]
    if all(page.damaged for page in pages):
        raise DamagedFile(f"{file_name}: none of its {len(pages)} pages can be read.")
    parsed = page_text(pages, grids, PARSER, warnings)
    if not parsed.elements:
        named = "its only page" if len(pages) == 1 else f"any of its pages 1 to {len(pages)}"
        raise NoContent(f"{file_name} has no text layer on {named}, and no text was read there by OCR.")
    if _is_title(title):
        parsed.title = title
    parsed.ocr = records
    return parsed


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
    document: pypdfium2.PdfDocument, reader: PdfOcr, file_name: str
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
            pages.append(Page(number, (0, 0), IDENTITY, damaged=True))
            continue
        try:
            read = read_page(page, number)
            read.lines += form_lines(document, page, read.transform)
            grids[number] = _tables(page, read)
            if (need := need_of(page, read)) is not None:
                reader.add(page, read, need)
            pages.append(read)
        except pypdfium2.PdfiumError:
            warnings.append(FileWarning("page_damaged", f"{file_name}: page {number} cannot be read.", page=number))
            pages.append(Page(number, page.get_size(), IDENTITY, damaged=True))
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


def _is_title(title: str) -> bool:
    """Programs write file names and their own names into a PDF's title."""
    lower = title.lower()
    return (
        " " in title and not lower.startswith("microsoft ") and not lower.endswith((".doc", ".docx", ".pdf", ".indd"))
    )


logging.getLogger("pypdfium2").setLevel(logging.ERROR)
