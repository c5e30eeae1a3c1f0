"""Which pages of a PDF need OCR: no text layer, next to none over a scan, or one that does not say its letters."""

from __future__ import annotations

import re
from enum import StrEnum

import numpy as np
import numpy.typing as npt
import pypdfium2
import pypdfium2.raw as pdfium

from pipelines.parsing.pdf_page import Page

_SPARSE_TEXT = 200
"""Characters. A running header, a stamp or a page number over a scan is shorter."""
_IMAGE_PAGE = 0.5
_UNMAPPED = 0.3
"""Share of a page's lines that begin with a character without a Unicode value."""
_FEWEST_WORDS = 12
_STRANGE = 0.35
"""Share of words that no language writes so."""
_FEWEST_SEGMENTS = 60
"""Of all outlines: a word that is drawn as outlines has more."""
_EDGE = 40
_FEWEST_EDGES = 15
"""Sharp steps from pixel to pixel, at one pixel a point: one letter has more."""
_PAPER = 0.45
"""Share of the pixels that have about one shade of grey, where a scanned page and not a photograph is shown."""
_SHADE = 16
_MOST_SKETCHED = 1_000_000

_LETTERS = re.compile(r"[A-Za-z]{4,}")
_VOWELS = re.compile(r"[aeiouyAEIOUY]")
_PRIVATE = re.compile(r"[\ue000-\uf8ff\ufffd\U000f0000-\U0010ffff]")

GreyPixels = npt.NDArray[np.uint8]


class Need(StrEnum):
    """Why a page is read by OCR; PICTURE is only told."""

    NO_TEXT = "no text layer"
    SPARSE = "little text over a scan"
    STRANGE = "text that may not be what is printed"
    PICTURE = "little text over a photograph, which is not read"


def need_of(page: pypdfium2.PdfPage, read: Page) -> Need | None:
    """Cheap for a page of text: only its words are looked at."""
    length = sum(len(line.text) for line in read.lines)
    if length == 0:
        return Need.NO_TEXT if _may_show_text(page) else None
    if read.unmapped > _UNMAPPED or is_strange([word.text for line in read.lines for word in line.words]):
        return Need.STRANGE
    if length < _SPARSE_TEXT and image_share(page) > _IMAGE_PAGE:
        return Need.SPARSE if is_invisible(page) or _is_paper(_sketch(page)) else Need.PICTURE
    return None


def _may_show_text(page: pypdfium2.PdfPage) -> bool:
    """Whether a page without characters has more on it than a few lines, a colour, or an empty sheet's picture."""
    segments = 0
    has_image = False
    for shape in page.get_objects(max_depth=3):
        if shape.type == pdfium.FPDF_PAGEOBJ_TEXT:
            return True  # letters that pdfium cannot name, or a damaged font
        if shape.type == pdfium.FPDF_PAGEOBJ_PATH:
            segments += max(0, pdfium.FPDFPath_CountSegments(shape.raw))
        has_image = has_image or shape.type == pdfium.FPDF_PAGEOBJ_IMAGE
    return (has_image or segments >= _FEWEST_SEGMENTS) and not _is_blank(_sketch(page))


def is_strange(words: list[str]) -> bool:
    """Whether a text layer looks like codes of glyphs, or like bad OCR: words without a vowel, signs inside words,
    characters for private use, single letters."""
    if len(words) < _FEWEST_WORDS:
        return False
    text = "".join(words)
    if len(_PRIVATE.findall(text)) > 0.1 * len(text):
        return True
    latin = [word for word in words if _LETTERS.search(word)]
    if len(latin) >= _FEWEST_WORDS:
        mute = sum(not _VOWELS.search(word) for word in latin)
        if mute > _STRANGE * len(latin):
            return True
    marked = [word for word in words if re.search(r"[A-Za-z][^\w\s.,:/'’&@()-]+[A-Za-z]", word)]
    single = sum(len(word) == 1 and word.isascii() and word.isalpha() for word in words)
    return len(marked) > _STRANGE * len(words) or single > 2 * _STRANGE * len(words)


def is_invisible(page: pypdfium2.PdfPage) -> bool:
    """Whether all text of the page is drawn invisibly, as a scanner's own OCR writes it."""
    modes = [
        pdfium.FPDFTextObj_GetTextRenderMode(piece.raw)
        for piece in page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_TEXT], max_depth=3)
    ]
    return bool(modes) and all(mode == pdfium.FPDF_TEXTRENDERMODE_INVISIBLE for mode in modes)


def image_share(page: pypdfium2.PdfPage) -> float:
    """Share of the page that its largest image covers."""
    width, height = page.get_size()
    areas = []
    for image in page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_IMAGE], max_depth=2):
        left, bottom, right, top = image.get_bounds()
        areas.append((right - left) * (top - bottom))
    return max(areas, default=0.0) / (width * height or 1)


def _sketch(page: pypdfium2.PdfPage) -> GreyPixels:
    """The page in grey, at one pixel a point, or less where it is larger than a poster."""
    width, height = page.get_size()
    scale = min(1.0, (_MOST_SKETCHED / max(1.0, width * height)) ** 0.5)
    return np.asarray(page.render(scale=scale, grayscale=True).to_pil())


def _is_blank(pixels: GreyPixels) -> bool:
    return bool((np.abs(np.diff(pixels.astype(np.int16), axis=1)) > _EDGE).sum() < _FEWEST_EDGES)


def _is_paper(pixels: GreyPixels) -> bool:
    counts = np.bincount(pixels.ravel(), minlength=256)
    usual = int(counts.argmax())
    near = counts[max(0, usual - _SHADE) : usual + _SHADE + 1].sum()
    return bool(near > _PAPER * pixels.size)
