from __future__ import annotations

import io
from pathlib import Path

import pytest
from pdf_files import lines, write_pdf
from PIL import Image, ImageChops

from foundation.errors import DamagedFile, EncryptedFile, NotFound, ResourceLimit
from foundation.page_images import boxes_for_span, render_page
from foundation.types import Box, WordBox
from pipelines.parsing import pdf


def picture(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data)).convert("RGB")


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_word_boxes_hold_the_ink_of_their_words_on_turned_and_cropped_pages(tmp_path: Path, rotation: int) -> None:
    attributes = f"/MediaBox [0 0 612 792] /CropBox [50 60 500 740] /Rotate {rotation}"
    path = write_pdf(tmp_path / "a.pdf", [lines("Warfarin", x=120, y=500, size=20)], attributes)
    document = pdf.parse(path, "a.pdf")
    [word] = document.word_boxes
    page = picture(render_page(path, 1, [], scale=2))
    assert page.size == tuple(round(2 * side) for side in document.page_sizes[0])
    ink = ImageChops.invert(page.convert("L")).getbbox()
    assert ink is not None
    x0, y0, x1, y1 = (2 * value for value in word.box)
    assert x0 - 2 <= ink[0] and y0 - 2 <= ink[1] and ink[2] <= x1 + 2 and ink[3] <= y1 + 2
    # No looser than the line is high, either.
    assert (x1 - x0) * (y1 - y0) < 2.5 * (ink[2] - ink[0]) * (ink[3] - ink[1])


def test_a_lit_box_is_yellow_and_the_rest_stays(tmp_path: Path) -> None:
    path = write_pdf(tmp_path / "a.pdf", [lines("text")])
    box: Box = (100, 200, 180, 220)
    page = picture(render_page(path, 1, [box], scale=1))
    red, green, blue = page.getpixel((140, 210))  # type: ignore[misc]
    assert red > 240 and green > 200 and blue < 200
    assert page.getpixel((300, 210)) == (255, 255, 255)


@pytest.mark.parametrize("number", [0, 2])
def test_a_page_that_does_not_exist_is_not_found(tmp_path: Path, number: int) -> None:
    path = write_pdf(tmp_path / "a.pdf", [lines("text")])
    with pytest.raises(NotFound, match=f"page {number}"):
        render_page(path, number, [])


def test_a_huge_page_is_drawn_smaller(tmp_path: Path) -> None:
    path = write_pdf(tmp_path / "a.pdf", [lines("text")], "/MediaBox [0 0 14400 14400]")
    width, height = picture(render_page(path, 1, [])).size
    assert width * height < 13_000_000


def test_an_image_of_more_pixels_than_are_allowed_is_not_decoded(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    Image.new("L", (1200, 1000)).save(path)
    assert render_page(path, 1, [], megapixels=2)
    with pytest.raises(ResourceLimit, match="more than 1 million"):
        render_page(path, 1, [], megapixels=1)


def test_files_that_do_not_open_say_why(tmp_path: Path, shared_data: Path) -> None:
    with pytest.raises(EncryptedFile):
        render_page(shared_data / "documents/hostile/plumb__password-example.pdf", 1, [])
    broken = tmp_path / "a.pdf"
    broken.write_bytes(b"%PDF-1.4 nothing else")
    with pytest.raises(DamagedFile):
        render_page(broken, 1, [])


def test_words_of_a_line_share_a_box_and_lines_and_pages_do_not() -> None:
    words = [
        WordBox(0, 3, 1, (10, 10, 30, 20)),
        WordBox(4, 7, 1, (33, 11, 50, 21)),
        WordBox(8, 11, 1, (10, 25, 30, 35)),
        WordBox(12, 15, 2, (10, 10, 30, 20)),
    ]
    assert boxes_for_span(words, 0, 15) == {
        1: [(10, 10, 50, 21), (10, 25, 30, 35)],
        2: [(10, 10, 30, 20)],
    }
    assert boxes_for_span(words, 5, 6) == {1: [(33, 11, 50, 21)]}
    assert boxes_for_span(words, 3, 4) == {}
