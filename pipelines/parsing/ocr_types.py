"""What an OCR engine gives, and the errors that end the reading of one page."""

from __future__ import annotations

from dataclasses import dataclass

from foundation.types import Box, PageOcr
from pipelines.parsing.pdf_page import Line, Transform


@dataclass(frozen=True, slots=True)
class Spot:
    """A recognised word: box in pixels of the image that was read, confidence from 0 to 1."""

    text: str
    box: Box
    confidence: float


Row = list[Spot]
"""Words of one line of text, left to right."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A page read by OCR.

    `lines` are in points of the upright page, whose size is `size`; `shown` leads from there to the page as displayed.
    `confidence` is the mean over the words, each weighted by its length; 0 without words. `turn` is by how many degrees
    the page had to be turned clockwise to stand upright.
    """

    lines: list[Line]
    size: tuple[float, float]
    shown: Transform
    engine: str
    confidence: float
    seconds: float
    turn: int = 0

    def record(self, number: int) -> PageOcr:
        """What is kept of it for the document's page `number`."""
        return PageOcr(number, self.engine, self.confidence, round(self.seconds, 2), self.turn)


class PageUnreadable(Exception):
    """This page cannot be read by OCR; the message says why, without the file's name."""
