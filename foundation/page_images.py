"""A page of a PDF or an image as a picture with spans lit, and the boxes that light a span."""

from __future__ import annotations

import io
import threading
from collections.abc import Sequence
from pathlib import Path

import pypdfium2
from PIL import Image, ImageDraw

from foundation.errors import DamagedFile, EncryptedFile, NotFound
from foundation.image_kinds import image_type
from foundation.image_pages import MEGAPIXELS, open_image, page_count, page_size, picture
from foundation.types import Box, WordBox

_MOST_PIXELS = 12_000_000
"""A page that would be larger is drawn smaller: a poster may be metres wide."""
_YELLOW = (255, 214, 0, 96)
_PADDING = 1.0
"""Points by which a lit box is larger than its words."""

# pdfium keeps global state and may be called by one thread at a time.
_LOCK = threading.Lock()


def render_page(
    path: Path,
    page: int,
    boxes: Sequence[Box],
    scale: float = 1.5,
    *,
    name: str = "The file",
    megapixels: int = MEGAPIXELS,
) -> bytes:
    """PNG of a page (from 1) at `scale` pixels a point, `boxes` lit in translucent yellow.

    Boxes are in points from the displayed page's top left (foundation.types.Box). Raises NotFound for a page that the
    file does not have, EncryptedFile or DamagedFile for a file that does not open, ResourceLimit for an image of more
    than `megapixels` million pixels; all call it `name`.
    """
    if _is_pdf(path):
        with _LOCK:
            image, drawn_scale = _draw(path, page, scale, name)
    else:
        image, drawn_scale = _draw_image(path, page, scale, name, megapixels)
    overlay = Image.new("RGBA", image.size, (0, 0, 0, 0))
    pen = ImageDraw.Draw(overlay)
    for x0, y0, x1, y1 in boxes:
        corners = (x0 - _PADDING, y0 - _PADDING, x1 + _PADDING, y1 + _PADDING)
        pen.rectangle([corner * drawn_scale for corner in corners], fill=_YELLOW)
    buffer = io.BytesIO()
    Image.alpha_composite(image, overlay).convert("RGB").save(buffer, "PNG")
    return buffer.getvalue()


def _draw(path: Path, page: int, scale: float, name: str) -> tuple[Image.Image, float]:
    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).lower():
            raise EncryptedFile(f"{name} opens only with a password.") from error
        raise DamagedFile(f"{name} is not a readable PDF.") from error
    with document:
        if not 1 <= page <= len(document):
            raise _no_page(name, page, len(document))
        document.init_forms()
        try:
            sheet = document[page - 1]
        except pypdfium2.PdfiumError as error:
            raise DamagedFile(f"{name}: page {page} cannot be read.") from error
        width, height = sheet.get_size()
        scale = min(scale, (_MOST_PIXELS / max(1.0, width * height)) ** 0.5)
        return sheet.render(scale=scale, may_draw_forms=True).to_pil().convert("RGBA"), scale


def _is_pdf(path: Path) -> bool:
    with path.open("rb") as file:
        return image_type(file.read(64)) is None


def _draw_image(path: Path, page: int, scale: float, name: str, megapixels: int) -> tuple[Image.Image, float]:
    with open_image(path, name, megapixels) as image:
        if not 1 <= page <= page_count(image):
            raise _no_page(name, page, page_count(image))
        whole = picture(image, page, name, megapixels)
    scale = min(scale * page_size(whole)[0] / whole.width, (_MOST_PIXELS / (whole.width * whole.height)) ** 0.5, 2.0)
    drawn = whole.resize((max(1, round(whole.width * scale)), max(1, round(whole.height * scale))))
    return drawn.convert("RGBA"), drawn.width / page_size(whole)[0]


def _no_page(name: str, page: int, count: int) -> NotFound:
    fix = "Ask for one of these; they count from 1."
    return NotFound(f"number: {name} has no page {page}; it has {count}.", fix=fix)


def boxes_for_span(word_boxes: Sequence[WordBox], start: int, end: int) -> dict[int, list[Box]]:
    """Boxes by page that cover the words of text[start:end], the words of one line in one box.

    `word_boxes` are in the text's order, as a parser gives them.
    """
    result: dict[int, list[Box]] = {}
    for word in word_boxes:
        if word.end <= start or word.start >= end:
            continue
        boxes = result.setdefault(word.page, [])
        if boxes and _same_line(boxes[-1], word.box):
            a, b = boxes[-1], word.box
            boxes[-1] = (min(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2]), max(a[3], b[3]))
        else:
            boxes.append(word.box)
    return result


def _same_line(a: Box, b: Box) -> bool:
    """They overlap by more than half of the lower one's height, and follow each other without a column between."""
    height = min(a[3] - a[1], b[3] - b[1])
    overlap = min(a[3], b[3]) - max(a[1], b[1])
    gap = max(a[0], b[0]) - min(a[2], b[2])
    return overlap > height / 2 and gap < 3 * max(a[3] - a[1], b[3] - b[1])
