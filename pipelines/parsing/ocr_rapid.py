"""RapidOCR: finds lines of text, tells which way up they are, and reads them. Its models lie in its wheel."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from foundation.types import Box
from pipelines.parsing.ocr_types import Row, Spot

Pixels = npt.NDArray[np.uint8]
"""(height, width, 3)."""
Quads = npt.NDArray[np.float64]
"""(lines, 4 corners from the top left clockwise, x and y), in pixels."""

_DETECTION_SIDE = 1600
"""Pixels of the longer side at which text is looked for; 5-point print of a full page is still found."""
_SECOND_LOOK_SIDE = 1280
"""Enough to see how a page lies and what another engine left out, for two thirds of the time."""
_VOTERS = 16
"""Lines whose direction is asked."""
_SURE = 0.6
_MARGIN = 0.08
"""Share of a line's height that is cut out around it."""


@dataclass(frozen=True, slots=True)
class _Engines:
    """One object a step: their switches are not safe to set from several threads."""

    detect: Any
    direction: Any
    recognise: Any


@cache
def _engines() -> _Engines:
    from rapidocr import RapidOCR

    logging.getLogger("RapidOCR").setLevel(logging.CRITICAL)
    common = {
        "Global.log_level": "critical",
        "Global.max_side_len": _DETECTION_SIDE,
        "Global.return_word_box": True,
        # Pages are read side by side, each by one thread.
        "EngineConfig.onnxruntime.intra_op_num_threads": 1,
        "EngineConfig.onnxruntime.inter_op_num_threads": 1,
    }

    def engine(step: str) -> Any:
        steps = {f"Global.use_{name}": name == step for name in ("det", "cls", "rec")}
        return RapidOCR(params={**common, **steps})

    return _Engines(engine("det"), engine("cls"), engine("rec"))


def find_lines(image: Image.Image, *, second_look: bool = False) -> Quads:
    """Where lines of text are; `second_look`: coarser, to check another engine."""
    scale = min(1.0, (_SECOND_LOOK_SIDE if second_look else _DETECTION_SIDE) / max(image.size))
    if scale < 1:
        size = max(1, round(image.width * scale)), max(1, round(image.height * scale))
        image = image.resize(size, Image.Resampling.BILINEAR, reducing_gap=2.0)
    found = _engines().detect(np.asarray(image.convert("RGB"))).boxes
    return np.zeros((0, 4, 2)) if found is None else np.asarray(found, dtype=np.float64) / scale


def is_sideways(quads: Quads) -> bool:
    """Whether most of the text runs up or down, by the length of its lines."""
    width, height = _sides(quads)
    long = np.maximum(width, height) > 1.5 * np.minimum(width, height)
    return bool(height[long & (height > width)].sum() > width[long & (height <= width)].sum())


def is_upside_down(pixels: Pixels, boxes: Sequence[Box]) -> bool:
    """Whether the longest lines of a page that lies straight stand on their heads."""
    votes = 0.0
    for box in sorted(boxes, key=lambda b: b[0] - b[2])[:_VOTERS]:
        label, score = _engines().direction(_cut(pixels, box)).cls_res[0]
        if score > _SURE:
            votes += score if label == "180" else -score
    return votes > 0


def skew_of(quads: Quads) -> float:
    """Degrees by which the long lines of an upright page run downhill; 0 where there are too few."""
    width, height = _sides(quads)
    long = width > 5 * height
    if long.sum() < 2:
        return 0.0
    along = quads[long, 1] - quads[long, 0] + quads[long, 2] - quads[long, 3]
    return float(np.median(np.degrees(np.arctan2(along[:, 1], along[:, 0]))))


def read_lines(pixels: Pixels, boxes: Sequence[Box]) -> list[Row]:
    """The words in each of these boxes of an upright page; an empty row where nothing can be read."""
    return [_read_line(pixels, box) for box in boxes]


def bounds(quad: npt.NDArray[np.float64]) -> Box:
    x0, y0 = quad.min(axis=0)
    x1, y1 = quad.max(axis=0)
    return float(x0), float(y0), float(x1), float(y1)


def _sides(quads: Quads) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """(width, height) of each quadrangle."""
    width = np.linalg.norm(quads[:, 1] - quads[:, 0], axis=1)
    return width, np.linalg.norm(quads[:, 3] - quads[:, 0], axis=1)


def _cut(pixels: Pixels, box: Box) -> Pixels:
    height, width = pixels.shape[:2]
    x0, y0, x1, y1 = (round(value) for value in box)
    piece = pixels[max(0, y0) : min(height, max(y1, y0 + 2)), max(0, x0) : min(width, max(x1, x0 + 2))]
    return np.ascontiguousarray(piece)


def _read_line(pixels: Pixels, box: Box) -> Row:
    margin = _MARGIN * (box[3] - box[1])
    piece = _cut(pixels, (box[0] - margin, box[1] - margin, box[2] + margin, box[3] + margin))
    if min(piece.shape[:2]) < 2:
        return []
    result = _engines().recognise(piece)
    if not result.txts or not result.txts[0].strip():
        return []
    return _words(result.txts[0], float(result.scores[0]), result.word_results[0], box)


def _words(text: str, score: float, info: Any, box: Box) -> Row:
    """The line's words at white space; the recogniser tells the column of each character, as a share of the width."""
    columns = [column for word in info.word_cols for column in word]
    letters = [letter for word in info.words for letter in word]
    length = float(info.line_txt_len or 0)
    # Where its columns do not match its text, characters are taken as equally wide.
    if length <= 0 or "".join(letters) != "".join(text.split()):
        columns = [i for i, letter in enumerate(text) if not letter.isspace()]
        length = float(len(text))
    width = box[2] - box[0]
    row: Row = []
    at = 0
    for word in text.split():
        first, last = columns[at], columns[at + len(word) - 1]
        at += len(word)
        x0 = box[0] + width * max(0.0, first - 0.5) / length
        x1 = box[0] + width * min(length, last + 1.5) / length
        row.append(Spot(word, (x0, box[1], x1, box[3]), score))
    return row
