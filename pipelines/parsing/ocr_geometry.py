"""Turning and straightening a picture, as transforms of its pixels."""

from __future__ import annotations

import math

from pipelines.parsing.pdf_page import IDENTITY, Transform


def invert(transform: Transform) -> Transform:
    a, b, c, d, e, f = transform
    size = a * d - b * c
    a, b, c, d = d / size, -b / size, -c / size, a / size
    return a, b, c, d, -(a * e + c * f), -(b * e + d * f)


def scaling(by: float) -> Transform:
    return by, 0, 0, by, 0, 0


def turn_transform(degrees: int, size: tuple[int, int]) -> Transform:
    """Where the pixels of a picture of this size go when it is turned clockwise by 0, 90, 180 or 270 degrees."""
    width, height = size
    match degrees:
        case 90:
            return 0, 1, -1, 0, height, 0
        case 180:
            return -1, 0, 0, -1, width, height
        case 270:
            return 0, -1, 1, 0, 0, width
        case _:
            return IDENTITY


def skew_transform(degrees: float, size: tuple[int, int]) -> Transform:
    """Where the pixels go when the picture is turned counter-clockwise about its middle."""
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    x, y = size[0] / 2, size[1] / 2
    # y runs down: counter-clockwise to the eye.
    return cos, -sin, sin, cos, x - cos * x - sin * y, y + sin * x - cos * y
