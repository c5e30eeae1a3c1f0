"""Scans made by hand for the tests: text drawn as a picture, alone or on the pages of a PDF."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path

import pypdfium2
import pypdfium2.raw as pdfium
from pdf_files import lines, write_pdf
from PIL import Image

DOTS = 150
SMALL = "/MediaBox [0 0 420 300]"
TEXT = ("Take one tablet of warfarin each day", "with water at the same hour", "Ward seven telephone 5512")


def sheet(folder: Path, *texts: str, size: float = 16) -> Image.Image:
    """A small page with these lines of text as a picture in grey."""
    path = write_pdf(folder / "sheet.pdf", [lines(*(texts or TEXT), x=30, y=240, size=size)], SMALL)
    with pypdfium2.PdfDocument(path) as document:
        return document[0].render(scale=DOTS / 72, grayscale=True).to_pil()


def scanned(path: Path, pictures: Sequence[Image.Image]) -> Path:
    """A PDF whose pages are these pictures."""
    pictures[0].save(path, "PDF", resolution=DOTS, save_all=True, append_images=list(pictures[1:]))
    return path


def joined(path: Path, *parts: Path) -> Path:
    """The pages of these PDFs in one."""
    with pypdfium2.PdfDocument.new() as whole:
        for part in parts:
            with pypdfium2.PdfDocument(part) as document:
                whole.import_pages(document)
        whole.save(path)
    return path


def written_on(path: Path, text: str, *, y: float = 280, invisible: bool = False) -> Path:
    """The PDF with one more line of text on its first page."""
    with pypdfium2.PdfDocument(path) as document:
        page = document[0]
        shape = pdfium.FPDFPageObj_NewTextObj(document.raw, b"Helvetica", 10)
        letters = (text + "\0").encode("utf-16-le")
        buffer = ctypes.create_string_buffer(letters, len(letters))
        pdfium.FPDFText_SetText(shape, ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)))
        pdfium.FPDFPageObj_Transform(shape, 1, 0, 0, 1, 30, y)
        if invisible:
            pdfium.FPDFTextObj_SetTextRenderMode(shape, pdfium.FPDF_TEXTRENDERMODE_INVISIBLE)
        pdfium.FPDFPage_InsertObject(page.raw, shape)
        page.gen_content()
        document.save(path.with_suffix(".new.pdf"))
    return path.with_suffix(".new.pdf")
