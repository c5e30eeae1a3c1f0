"""Images: each page read by OCR. One without text stays a document, whose text says what it is."""

from __future__ import annotations

from pathlib import Path

from PIL import Image

from foundation.errors import DamagedFile, EmptyFile
from foundation.image_pages import frame_count, open_image, page_count, page_size, picture
from foundation.settings import OcrSettings
from foundation.types import Element, FileWarning, PageOcr, ParsedDocument
from pipelines.parsing.ocr_pages import OcrPages, Size
from pipelines.parsing.ocr_types import PageUnreadable
from pipelines.parsing.ocr_warnings import low_confidence
from pipelines.parsing.page_text import page_text
from pipelines.parsing.pdf_page import IDENTITY, Page

PARSER = "image/1"


def parse(path: Path, file_name: str, ocr: OcrSettings | None = None) -> ParsedDocument:
    """Read all pages of a PNG, JPEG, TIFF, BMP, WEBP or GIF; of a moving picture the first.

    Raises EmptyFile, DamagedFile (no page decodes) and ResourceLimit (too many pixels). A page that is damaged, was not
    read or has no text becomes a warning.
    """
    settings = ocr or OcrSettings()
    if path.stat().st_size == 0:
        raise EmptyFile(f"{file_name} is empty (0 bytes).")
    pages: list[Page] = []
    warnings: list[FileWarning] = []
    with open_image(path, file_name, settings.max_megapixels) as image, OcrPages(settings) as reader:
        count = page_count(image)
        if frame_count(image) > count:
            warnings.append(FileWarning("frames_not_read", f"{file_name} is a moving picture; its first was read."))
        for number in range(1, count + 1):
            page = Page(number, (0, 0), IDENTITY)
            pages.append(page)
            reader.add(number, lambda page=page: _draw(image, page, file_name, settings))  # type: ignore[misc]
        records = _fill(pages, reader, file_name, settings, warnings)
    if not any(page.size[0] for page in pages):
        raise DamagedFile(f"{file_name}: none of its {count} pages can be decoded.")
    parsed = page_text(pages, {}, PARSER, warnings)
    if not parsed.elements:
        parsed.text = _description(pages)
        parsed.elements = [Element("paragraph", 0, len(parsed.text), page=1)]
    parsed.ocr = records
    return parsed


def _draw(image: Image.Image, page: Page, file_name: str, settings: OcrSettings) -> tuple[Image.Image, Size]:
    try:
        drawn = picture(image, page.number, file_name, settings.max_megapixels)
    except DamagedFile as error:
        raise PageUnreadable("it is damaged or cut off") from error
    page.size = page_size(drawn)
    return drawn, page.size


def _fill(
    pages: list[Page], reader: OcrPages, file_name: str, settings: OcrSettings, warnings: list[FileWarning]
) -> list[PageOcr]:
    records = []
    for number, outcome in sorted(reader.outcomes().items()):
        page = pages[number - 1]
        if isinstance(outcome, PageUnreadable):
            warnings.append(
                FileWarning("page_not_read", f"{file_name}: page {number} was not read: {outcome}.", page=number)
            )
        elif not outcome.lines:
            warnings.append(FileWarning("no_text_found", f"{file_name}: no text was found on page {number}.", number))
        else:
            page.take(outcome.lines, outcome.size, outcome.shown)
            records.append(outcome.record(number))
            warnings += low_confidence(file_name, number, outcome, settings)
    return records


def _description(pages: list[Page]) -> str:
    width, height = pages[0].size
    counted = f" of {len(pages)} pages" if len(pages) > 1 else ""
    return f"A picture{counted}, {width:.0f} x {height:.0f} points. No text was found in it."
