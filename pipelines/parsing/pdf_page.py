"""One PDF page as pdfium sees it: words with boxes, grouped into lines, in the order of the page's content stream."""

from __future__ import annotations

import math
import unicodedata
from dataclasses import dataclass, field

import pypdfium2
import pypdfium2.raw as pdfium

from foundation.types import Box
from pipelines.parsing.assembly import BULLET

Transform = tuple[float, float, float, float, float, float]
"""(a, b, c, d, e, f): x' = a x + c y + e, y' = b x + d y + f."""
IDENTITY: Transform = (1, 0, 0, 1, 0, 0)

# The presentation forms ﬀ ﬁ ﬂ ﬃ ﬄ ﬅ ﬆ, spelt out: nobody searches for a ligature.
_LIGATURES = {code: unicodedata.normalize("NFKC", chr(code)) for code in range(0xFB00, 0xFB07)}
_SOFT_HYPHEN = "\xad"
_PDFIUM_HYPHEN = 0x02
"""pdfium's mark for a hyphen that breaks a word at a line's end; it then leaves out the line break."""
_BOLD_WEIGHT = 600


@dataclass(slots=True)
class Word:
    text: str
    box: Box
    broken: bool = False
    """Its last character was a hyphen at the line's end (not in `text`)."""


@dataclass(slots=True)
class Line:
    """Words that pdfium put on one line. `size` is the effective font size in points."""

    words: list[Word]
    size: float
    bold: bool
    box: Box = field(init=False)

    def __post_init__(self) -> None:
        self.box = union([word.box for word in self.words])

    @property
    def text(self) -> str:
        return " ".join(word.text + ("-" if word.broken else "") for word in self.words)


@dataclass(slots=True)
class Page:
    """`number` from 1; `size` is (width, height) in points as displayed, rotation applied.

    A page that OCR had to turn or straighten has its lines and its `size` upright; `displayed` then has the size as
    displayed and the way there.
    """

    number: int
    size: tuple[float, float]
    transform: Transform
    lines: list[Line] = field(default_factory=list)
    unmapped: float = 0.0
    """Share of the lines whose first character has no Unicode value in the file."""
    displayed: tuple[tuple[float, float], Transform] | None = None
    damaged: bool = False

    def take(self, lines: list[Line], size: tuple[float, float], way: Transform) -> None:
        """Lines of the upright page of this size, which `way` leads to the page as displayed."""
        self.lines, self.size, self.displayed = lines, size, (self.size, way)


def union(boxes: list[Box]) -> Box:
    return min(b[0] for b in boxes), min(b[1] for b in boxes), max(b[2] for b in boxes), max(b[3] for b in boxes)


def page_transform(page: pypdfium2.PdfPage) -> Transform:
    """From PDF user space to points from the displayed page's top left: crop box and /Rotate taken into account."""
    left, bottom, right, top = page.get_bbox()
    match page.get_rotation():
        case 90:
            return 0, 1, 1, 0, -bottom, -left
        case 180:
            return -1, 0, 0, 1, right, -bottom
        case 270:
            return 0, -1, -1, 0, top, right
        case _:
            return 1, 0, 0, -1, -left, top


def chain(first: Transform, second: Transform) -> Transform:
    """`first`, then `second`."""
    a, b, c, d, e, f = first
    g, h, i, j, k, m = second
    return a * g + b * i, a * h + b * j, c * g + d * i, c * h + d * j, e * g + f * i + k, e * h + f * j + m


def apply(transform: Transform, x: float, y: float) -> tuple[float, float]:
    a, b, c, d, e, f = transform
    return a * x + c * y + e, b * x + d * y + f


def transform_box(transform: Transform, box: Box) -> Box:
    x0, y0 = apply(transform, box[0], box[1])
    x1, y1 = apply(transform, box[2], box[3])
    return round(min(x0, x1), 2), round(min(y0, y1), 2), round(max(x0, x1), 2), round(max(y0, y1), 2)


def read_page(page: pypdfium2.PdfPage, number: int) -> Page:
    """The page's text. Costs three calls into pdfium a word and one a character."""
    result = Page(number, page.get_size(), page_transform(page))
    textpage = page.get_textpage()
    try:
        reader = _Reader(textpage.raw, result.transform)
        result.lines = reader.lines()
        result.unmapped = reader.unmapped_share()
    finally:
        textpage.close()
    return result


class _Reader:
    def __init__(self, raw: pdfium.FPDF_TEXTPAGE, transform: Transform) -> None:
        self._raw = raw
        self._transform = transform
        self._lines: list[Line] = []
        self._line: list[tuple[Word, int, int]] = []
        self._checked = self._failed = 0

    def lines(self) -> list[Line]:
        get = pdfium.FPDFText_GetUnicode
        codes = [get(self._raw, i) for i in range(max(0, pdfium.FPDFText_CountChars(self._raw)))]
        start = -1
        for i, code in enumerate(codes):
            if code == _PDFIUM_HYPHEN and start >= 0:
                self._word(codes, start, i, broken=True)
                self._end_line()
                start = -1
            elif code <= 0x20 or chr(code).isspace():
                if start >= 0:
                    self._word(codes, start, i)
                    start = -1
                if code in (10, 13):
                    self._end_line()
            elif start < 0:
                start = i
        if start >= 0:
            self._word(codes, start, len(codes))
        self._end_line()
        return self._lines

    def unmapped_share(self) -> float:
        return self._failed / self._checked if self._checked else 0.0

    def _word(self, codes: list[int], start: int, end: int, *, broken: bool = False) -> None:
        text = _decode(codes[start:end])
        first, last = self._char_box(start), self._char_box(end - 1)
        if _is_right_to_left(text) and end - start > 1 and first[0] < last[0]:
            # Some producers write Arabic and Hebrew from left to right, as drawn; text is kept in reading order.
            text = text[::-1]
        if not broken and text.endswith(_SOFT_HYPHEN):
            broken = True
        text = text.replace(_SOFT_HYPHEN, "")
        if text:
            self._line.append((Word(text, transform_box(self._transform, union([first, last])), broken), start, end))

    def _end_line(self) -> None:
        if not self._line:
            return
        first, last = self._line[0], self._line[-1]
        # A bullet is often smaller than its text; the line has the size of the words, as the lines that go on with it.
        lead = self._line[1] if len(self._line) > 1 and _is_bullet(first[0].text) else first
        bold = self._is_bold(lead[1]) and self._is_bold(last[1])
        words = [word for word, _, _ in self._line]
        if sum(_is_right_to_left(word.text) for word in words) > len(words) / 2 and words[0].box[0] < words[-1].box[0]:
            words.reverse()
        self._lines.append(Line(words, self._font_size(lead[1]), bold))
        self._line = []
        self._checked += 1
        self._failed += pdfium.FPDFText_HasUnicodeMapError(self._raw, first[1]) == 1

    def _char_box(self, index: int) -> Box:
        """In user space. Loose (the font's height) so that words of a line have one height; tight where that fails."""
        rect = pdfium.FS_RECTF()
        if pdfium.FPDFText_GetLooseCharBox(self._raw, index, rect) and rect.top != rect.bottom:
            return rect.left, min(rect.bottom, rect.top), rect.right, max(rect.bottom, rect.top)
        left, right, bottom, top = (pdfium.c_double() for _ in range(4))
        pdfium.FPDFText_GetCharBox(self._raw, index, left, right, bottom, top)
        return left.value, bottom.value, right.value, top.value

    def _font_size(self, index: int) -> float:
        """The font size that is seen: many files set size 1 and scale by the text matrix."""
        matrix = pdfium.FS_MATRIX()
        scale = 1.0
        if pdfium.FPDFText_GetMatrix(self._raw, index, matrix):
            scale = math.hypot(matrix.c, matrix.d) or 1.0
        return float(pdfium.FPDFText_GetFontSize(self._raw, index)) * scale

    def _is_bold(self, index: int) -> bool:
        if pdfium.FPDFText_GetFontWeight(self._raw, index) >= _BOLD_WEIGHT:
            return True
        name, flags = (pdfium.c_char * 128)(), pdfium.c_int()
        length = pdfium.FPDFText_GetFontInfo(self._raw, index, name, 128, flags)
        return 0 < length <= 128 and any(word in name.value.lower() for word in (b"bold", b"black", b"heavy"))


def _decode(codes: list[int]) -> str:
    # Characters beyond U+FFFF may come as surrogate pairs; a half without its other half has no meaning.
    text = "".join(map(chr, codes)).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore")
    return "".join(
        c for c in text.translate(_LIGATURES) if c >= " " and not "\x7f" <= c < "\xa0" and c not in "\ufffe\uffff\ufeff"
    )


def _is_bullet(text: str) -> bool:
    return not any(c.isalnum() for c in text) and BULLET.match(text + " ") is not None


def _is_right_to_left(text: str) -> bool:
    return any("\u0590" <= c <= "\u08ff" or "\ufb1d" <= c <= "\ufeff" for c in text)
