"""Pages of a PDF by OCR: drawn, read, and put in place of a missing or wrong text layer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import pypdfium2
import pypdfium2.raw as pdfium
from PIL import Image

from foundation.settings import OcrSettings
from foundation.types import Box, FileWarning, PageOcr
from pipelines.parsing.ocr_geometry import invert
from pipelines.parsing.ocr_pages import OcrPages, Size
from pipelines.parsing.ocr_types import PageUnreadable, Reading
from pipelines.parsing.ocr_warnings import low_confidence
from pipelines.parsing.pdf_page import Line, Page, transform_box
from pipelines.parsing.pdf_scan import Need, is_invisible

_MOST_PIXELS = 25_000_000
_COARSEST = 150
"""Dots an inch. A page image of less is drawn larger: both engines read small letters worse than blurred ones."""
_SURE = 0.75
_SAME_TEXT = 0.5
"""Share of the words read by OCR that the text layer has too, where the layer is right."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    need: Need
    page: Page
    invisible: bool


class PdfOcr:
    """Collects the pages that need OCR while the file is open, and mends them in the end."""

    def __init__(self, settings: OcrSettings, file_name: str) -> None:
        self._settings = settings
        self._file_name = file_name
        self._pages = OcrPages(settings)
        self._wanted: dict[int, _Wanted] = {}
        self._told: list[FileWarning] = []

    def __enter__(self) -> PdfOcr:
        return self

    def __exit__(self, *args: object) -> None:
        self._pages.__exit__(None, None, None)

    def add(self, page: pypdfium2.PdfPage, read: Page, need: Need) -> None:
        """Draw the page and have it read; `read` is what its text layer gave."""
        if need is Need.PICTURE:
            message = f"{self._file_name}: page {read.number} is mostly a photograph; text in it was not read."
            self._told.append(FileWarning("image_not_read", message, page=read.number))
            return
        self._wanted[read.number] = _Wanted(need, read, need is not Need.NO_TEXT and is_invisible(page))
        self._pages.add(read.number, lambda: _draw(page, self._settings))

    def mend(self) -> tuple[list[PageOcr], list[FileWarning]]:
        """Give the pages their text; what was read how, and what a reader should know."""
        records: list[PageOcr] = []
        warnings = list(self._told)
        for number, outcome in sorted(self._pages.outcomes().items()):
            wanted = self._wanted[number]
            if isinstance(outcome, PageUnreadable):
                warnings.append(self._unread(wanted, str(outcome)))
                continue
            taken = _put(wanted, outcome)
            if taken:
                records.append(outcome.record(number))
                warnings += low_confidence(self._file_name, number, outcome, self._settings)
            elif wanted.need is Need.STRANGE:
                warnings += self._doubtful(wanted, outcome)
            elif wanted.need is Need.NO_TEXT:
                message = f"{self._file_name}: page {number} has no text layer, and OCR found no text on it."
                warnings.append(FileWarning("no_text_found", message, page=number))
        return records, warnings

    def _unread(self, wanted: _Wanted, why: str) -> FileWarning:
        number = wanted.page.number
        if wanted.need is Need.STRANGE:
            return self._unmapped(number)
        if wanted.need is Need.SPARSE:
            message = f"{self._file_name}: page {number} is mostly an image; text in it was not read: {why}."
            return FileWarning("image_not_read", message, page=number)
        message = f"{self._file_name}: page {number} has no text layer, and nothing of it was read: {why}."
        return FileWarning("no_text_layer", message, page=number)

    def _doubtful(self, wanted: _Wanted, reading: Reading) -> list[FileWarning]:
        """The layer was kept: fine if OCR sees the same words, else nobody knows who is right."""
        if _agreement(wanted.page.lines, reading.lines) >= _SAME_TEXT:
            return []
        return [self._unmapped(wanted.page.number)]

    def _unmapped(self, number: int) -> FileWarning:
        message = f"{self._file_name}: page {number} uses a font that does not say its letters; its text may be wrong."
        return FileWarning("unmapped_text", message, page=number)


def _draw(page: pypdfium2.PdfPage, settings: OcrSettings) -> tuple[Image.Image, Size]:
    size = page.get_size()
    dots = float(settings.dpi)
    for image in page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_IMAGE], max_depth=3):
        width, height = image.get_px_size()
        if width * height > settings.max_megapixels * 1_000_000:
            limit = f"{settings.max_megapixels} million (ASKLINE_OCR__MAX_MEGAPIXELS)"
            raise PageUnreadable(f"it holds an image of {width} x {height} pixels, more than {limit}")
        dots = min(dots, _resolution(image, (width, height), size) or dots)
    scale = max(dots, _COARSEST) / 72
    scale = min(scale, (_MOST_PIXELS / max(1.0, size[0] * size[1])) ** 0.5)
    return page.render(scale=scale, grayscale=True, may_draw_forms=True).to_pil(), size


def _resolution(image: pypdfium2.PdfObject, pixels: tuple[int, int], size: Size) -> float | None:
    """Dots an inch of an image that is the page; None for a smaller one."""
    left, bottom, right, top = image.get_bounds()
    if (right - left) * (top - bottom) < 0.8 * size[0] * size[1]:
        return None
    return 72 * float((pixels[0] * pixels[1] / ((right - left) * (top - bottom))) ** 0.5)


def _put(wanted: _Wanted, reading: Reading) -> bool:
    """Put what was read into the page; False where the page's own text stays as it is."""
    page = wanted.page
    if not reading.lines:
        return False
    if wanted.need is Need.STRANGE:
        if reading.confidence < _SURE or _agreement(page.lines, reading.lines) >= _SAME_TEXT:
            return False
        lines = reading.lines
    elif wanted.need is Need.SPARSE and not wanted.invisible:
        kept = _moved(page.lines, reading)
        new = _without(reading.lines, [word.box for line in kept for word in line.words])
        if not new:
            return False
        lines = _together(kept, new)
    else:
        lines = reading.lines
    page.take(lines, reading.size, reading.shown)
    return True


def _agreement(layer: Sequence[Line], read: Sequence[Line]) -> float:
    """Share of the words of two characters or more, of those read by OCR, that the text layer has."""
    known = {text for line in layer for word in line.words if (text := _bare(word.text))}
    found = [text for line in read for word in line.words if len(text := _bare(word.text)) > 1]
    return sum(text in known for text in found) / len(found) if found else 0.0


def _bare(text: str) -> str:
    return re.sub(r"\W", "", text).casefold()


def _moved(lines: Sequence[Line], reading: Reading) -> list[Line]:
    """Lines of the displayed page on the upright one."""
    upright = invert(reading.shown)
    for line in lines:
        for word in line.words:
            word.box = transform_box(upright, word.box)
    return [Line(line.words, line.size, line.bold) for line in lines]


def _without(lines: Sequence[Line], known: Sequence[Box]) -> list[Line]:
    """Lines without the words whose middle lies in one of these boxes."""
    rest = []
    for line in lines:
        words = []
        for word in line.words:
            x, y = (word.box[0] + word.box[2]) / 2, (word.box[1] + word.box[3]) / 2
            if not any(b[0] - 2 <= x <= b[2] + 2 and b[1] - 2 <= y <= b[3] + 2 for b in known):
                words.append(word)
        if words:
            rest.append(Line(words, line.size, line.bold))
    return rest


def _together(layer: Sequence[Line], read: Sequence[Line]) -> list[Line]:
    """The layer's lines that stand above all that was read, that, and the others."""
    top = min(line.box[1] for line in read)
    above = [line for line in layer if line.box[3] <= top]
    return [*above, *read, *(line for line in layer if line.box[3] > top)]
