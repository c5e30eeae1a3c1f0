"""Reads the picture of a page: finds the lines, turns and straightens the page, recognises the words.

With tesseract on PATH it reads the page, and rapidocr what tesseract left out or was unsure of: tesseract is the faster
one on running text, and leaves out single figures in the cells of a table and light print on dark ground. Without
tesseract, rapidocr reads all.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image

from foundation.settings import OcrSettings
from foundation.types import Box
from pipelines.parsing import ocr_rapid, ocr_tesseract
from pipelines.parsing.assembly import clean
from pipelines.parsing.ocr_geometry import invert, scaling, skew_transform, turn_transform
from pipelines.parsing.ocr_order import Piece, in_order
from pipelines.parsing.ocr_types import Reading, Row, Spot
from pipelines.parsing.pdf_page import IDENTITY, Line, Transform, Word, chain, transform_box, union
from pipelines.parsing.process_limits import allow_more_cpu

_TURNS = {90: Image.Transpose.ROTATE_270, 180: Image.Transpose.ROTATE_180, 270: Image.Transpose.ROTATE_90}
"""Clockwise here, counter-clockwise in Pillow."""
_SKEW = (0.25, 20.0)
"""Degrees. Less does no harm, more is no skew."""
_LINE_HEIGHT = 46
"""Pixels from the top of a line to its bottom at which tesseract reads best: 10-point print at 300 dpi."""
_SCALES = (0.4, 3.0)
_MOST_PIXELS = 40_000_000
_UNSURE = 0.85
_COVERED = 0.55
"""Share of a found line's width that tesseract's words have to take up."""
_NOISE = 0.5
"""A word of tesseract where no line was found needs more confidence than this."""
_SAME_SIZE = (0.78, 1.3)
"""Lines whose height is in this range of the usual one have the usual size: the heights of boxes vary."""
_MARGIN = 0.12
"""Share of a found line's height that is white above its letters, and below."""
_FONT_SHARE = 0.72
"""Font size as a share of the height of a found line."""


@dataclass(frozen=True, slots=True)
class _Upright:
    """A page upright and straight, the lines on it, and the way back to the page as displayed (all in pixels)."""

    image: Image.Image
    boxes: list[Box]
    to_shown: Transform
    turn: int


def engine_of(settings: OcrSettings) -> str:
    """The engine that reads on this machine: `tesseract+rapidocr`, `tesseract`, `rapidocr` or `off`."""
    if settings.engine == "auto":
        return "tesseract+rapidocr" if ocr_tesseract.program() else "rapidocr"
    return settings.engine


def read_image(image: Image.Image, size: tuple[float, float], settings: OcrSettings) -> Reading:
    """Read the picture of a page whose displayed size is `size`, in points.

    Raises PageUnreadable. Safe to call from several threads.
    """
    started = time.monotonic()
    allow_more_cpu(settings.page_timeout_s)
    engine = engine_of(settings)
    image = image if image.mode in ("L", "RGB") else image.convert("RGB")
    if engine == "tesseract":
        return _read_by_tesseract(image, size, settings, started)
    quads = ocr_rapid.find_lines(image, second_look=engine != "rapidocr")
    page = _upright(image, quads)
    pieces: list[Piece] = []
    if page.boxes and engine == "rapidocr":
        rows = ocr_rapid.read_lines(np.asarray(page.image.convert("RGB")), page.boxes)
        pieces = [Piece(row, box) for row, box in zip(rows, page.boxes, strict=True) if row]
    elif page.boxes:
        pieces = _read_by_both(page.image, page.boxes, settings)
    lines = _lines(pieces, in_order(pieces), page.image.size, size, page.to_shown)
    return Reading(*lines, engine, _confidence(pieces), time.monotonic() - started, page.turn)


def _upright(image: Image.Image, quads: ocr_rapid.Quads) -> _Upright:
    forth, turn = IDENTITY, 0
    if ocr_rapid.is_sideways(quads):
        forth, turn = turn_transform(270, image.size), 270
        image, quads = image.transpose(_TURNS[270]), _moved(quads, forth)
    skew = ocr_rapid.skew_of(quads)
    if _SKEW[0] < abs(skew) < _SKEW[1]:
        straighten = skew_transform(skew, image.size)
        paper = int(np.percentile(np.asarray(image.convert("L")), 90))
        fill = paper if image.mode == "L" else (paper,) * 3
        image = image.rotate(skew, Image.Resampling.BICUBIC, fillcolor=fill)
        quads, forth = _moved(quads, straighten), chain(forth, straighten)
    # Whether it stands on its head is asked last: the lines have to lie straight to be cut out.
    boxes = [ocr_rapid.bounds(quad) for quad in quads]
    if ocr_rapid.is_upside_down(np.asarray(image.convert("RGB")), boxes):
        over = turn_transform(180, image.size)
        image, boxes = image.transpose(_TURNS[180]), [transform_box(over, box) for box in boxes]
        forth, turn = chain(forth, over), (turn + 180) % 360
    return _Upright(image, boxes, invert(forth), turn)


def _moved(quads: ocr_rapid.Quads, by: Transform) -> ocr_rapid.Quads:
    """The corners moved, and named anew from the top left clockwise."""
    a, b, c, d, e, f = by
    moved = np.stack([a * quads[..., 0] + c * quads[..., 1] + e, b * quads[..., 0] + d * quads[..., 1] + f], axis=-1)
    # A turn by 90 degrees makes another corner the top left one; the order around stays.
    first = np.argmin(moved.sum(axis=-1), axis=1)
    return (
        np.stack([np.roll(quad, -start, axis=0) for quad, start in zip(moved, first, strict=True)])
        if len(moved)
        else moved
    )


def _read_by_tesseract(image: Image.Image, size: tuple[float, float], settings: OcrSettings, started: float) -> Reading:
    rows = ocr_tesseract.read(image, settings.languages, settings.page_timeout_s)
    rows = [kept for row in rows if (kept := [word for word in row if word.confidence > _NOISE or _says(word)])]
    turn = _turn_of_words(rows)
    forth = turn_transform(turn, image.size)
    if turn:
        image = image.transpose(_TURNS[turn])
        rows = [[Spot(w.text, transform_box(forth, w.box), w.confidence) for w in row] for row in rows]
    pieces = [_piece(row) for row in rows]
    reading = _lines(pieces, [[piece] for piece in pieces], image.size, size, invert(forth))
    return Reading(*reading, "tesseract", _confidence(pieces), time.monotonic() - started, turn)


def _turn_of_words(rows: Sequence[Row]) -> int:
    """Tesseract reads a page that lies on its side as it is: the way from word to word tells how it lies."""
    votes = dict.fromkeys((0, 90, 180, 270), 0)
    for row in rows:
        if len(row) < 2:
            continue
        (x0, y0), (x1, y1) = _middle(row[0].box), _middle(row[-1].box)
        if abs(x1 - x0) >= abs(y1 - y0):
            votes[0 if x1 > x0 else 180] += len(row)
        else:
            votes[270 if y1 > y0 else 90] += len(row)
    return max(votes, key=lambda turn: votes[turn])


def _middle(box: Box) -> tuple[float, float]:
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2


def _read_by_both(upright: Image.Image, boxes: Sequence[Box], settings: OcrSettings) -> list[Piece]:
    """Tesseract's words in the lines that were found; rapidocr's where those are missing or doubtful."""
    scaled, scale = _scaled(upright, boxes)
    rows = ocr_tesseract.read(scaled, settings.languages, settings.page_timeout_s)
    rows = [[_divided(word, scale) for word in row] for row in rows]
    inside: list[Row] = [[] for _ in boxes]
    outside: list[Row] = []
    for row in rows:
        alone: Row = []
        for word in row:
            home = _home(word.box, boxes)
            (alone if home is None else inside[home]).append(word)
        outside.append([word for word in alone if word.confidence > _NOISE and _says(word)])
    doubtful = [i for i, (row, box) in enumerate(zip(inside, boxes, strict=True)) if _is_doubtful(row, box)]
    if doubtful:
        again = ocr_rapid.read_lines(np.asarray(upright.convert("RGB")), [boxes[i] for i in doubtful])
        for i, row in zip(doubtful, again, strict=True):
            inside[i] = _better(inside[i], row, boxes[i])
    pieces = [Piece(sorted(row, key=lambda w: w.box[0]), box) for row, box in zip(inside, boxes, strict=True) if row]
    return pieces + [_piece(row) for row in outside if row]


def _scaled(image: Image.Image, boxes: Sequence[Box]) -> tuple[Image.Image, float]:
    """The page at the size at which tesseract reads its usual line best."""
    height = statistics.median(box[3] - box[1] for box in boxes)
    limit = (_MOST_PIXELS / (image.width * image.height)) ** 0.5
    scale = min(max(_LINE_HEIGHT / max(1.0, height), _SCALES[0]), _SCALES[1], limit)
    if 0.75 < scale < 1.3:
        return image, 1.0
    return image.resize((round(image.width * scale), round(image.height * scale)), Image.Resampling.LANCZOS), scale


def _divided(word: Spot, scale: float) -> Spot:
    x0, y0, x1, y1 = (value / scale for value in word.box)
    return Spot(word.text, (x0, y0, x1, y1), word.confidence)


def _home(box: Box, boxes: Sequence[Box]) -> int | None:
    x, y = _middle(box)
    return next((i for i, b in enumerate(boxes) if b[0] - 4 <= x <= b[2] + 4 and b[1] <= y <= b[3]), None)


def _says(word: Spot) -> bool:
    return any(c.isalnum() for c in word.text)


def _is_doubtful(row: Row, box: Box) -> bool:
    covered = sum(word.box[2] - word.box[0] for word in row) / max(1.0, box[2] - box[0])
    return covered < _COVERED or _mean(row) < _UNSURE or any(word.confidence < _NOISE for word in row if _says(word))


def _better(first: Row, second: Row, box: Box) -> Row:
    """Of two readings of a line. Where tesseract left something out, rapidocr's, if it is sure of it."""
    if not first or not second:
        return second if second and _mean(second) > _NOISE else first
    covered = sum(word.box[2] - word.box[0] for word in first) / max(1.0, box[2] - box[0])
    return second if _mean(second) > (_NOISE if covered < _COVERED else _mean(first)) else first


def _mean(row: Row) -> float:
    letters = sum(len(word.text) for word in row)
    return sum(len(word.text) * word.confidence for word in row) / letters if letters else 0.0


def _confidence(pieces: Sequence[Piece]) -> float:
    return round(_mean([word for piece in pieces for word in piece.words]), 3)


def _piece(row: Row) -> Piece:
    return Piece(row, union([word.box for word in row]))


def _lines(
    pieces: Sequence[Piece],
    order: Sequence[Sequence[Piece]],
    pixels: tuple[int, int],
    size: tuple[float, float],
    to_shown: Transform,
) -> tuple[list[Line], tuple[float, float], Transform]:
    """Lines, size and way to the displayed page, in points."""
    points = max(size) / max(pixels)
    heights = [piece.box[3] - piece.box[1] for piece in pieces]
    usual = statistics.median(heights) if heights else 1.0
    lines = [line for row in order if (line := _line(row, points, usual)) is not None]
    shown = chain(chain(scaling(1 / points), to_shown), scaling(points))
    return lines, (pixels[0] * points, pixels[1] * points), shown


def _line(row: Sequence[Piece], points: float, usual: float) -> Line | None:
    words = []
    for piece in row:
        margin = _MARGIN * (piece.box[3] - piece.box[1])
        top, bottom = piece.box[1] + margin, piece.box[3] - margin
        for word in piece.words:
            # All words of a line are as high as the line, so that a lit span has one height.
            box = transform_box(scaling(points), (word.box[0], top, word.box[2], bottom))
            if text := clean(word.text).strip():
                words.append(Word(text, box))
    if not words:
        return None
    last = words[-1]
    if len(last.text) > 2 and last.text[-1] in "-\u2010\xad" and last.text[-2].isalpha():
        last.text, last.broken = last.text[:-1], True
    height = statistics.median(piece.box[3] - piece.box[1] for piece in row)
    height = usual if _SAME_SIZE[0] < height / usual < _SAME_SIZE[1] else height
    return Line(words, height * points * _FONT_SHARE, bold=False)
