"""Scans are read by the engine that is inside the install; tesseract's own part is tested where it is on PATH."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from parsing_checks import assert_exact
from pdf_files import lines, write_pdf
from PIL import Image
from scans import TEXT, joined, scanned, sheet, written_on

from foundation.errors import ConfigurationError, DamagedFile, EmptyFile, NoContent, ResourceLimit
from foundation.page_images import boxes_for_span, render_page
from foundation.settings import OcrSettings
from foundation.types import Box, ParsedDocument
from pipelines.parsing import image, ocr_tesseract, pdf
from pipelines.parsing.ocr_order import Piece, in_order
from pipelines.parsing.ocr_types import PageUnreadable, Spot

RAPID = OcrSettings(engine="rapidocr")
needs_tesseract = pytest.mark.skipif(ocr_tesseract.program() is None, reason="needs tesseract on PATH")


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def read(path: Path, settings: OcrSettings = RAPID) -> ParsedDocument:
    parser = pdf if path.suffix == ".pdf" else image
    document = parser.parse(path, path.name, settings)
    assert_exact(document)
    return document


@pytest.mark.parametrize("engine", ["rapidocr", pytest.param("auto", marks=needs_tesseract)])
def test_pages_without_text_are_found_among_others_and_read_whichever_way_they_lie(tmp_path: Path, engine: str) -> None:
    picture = sheet(tmp_path)
    digital = write_pdf(tmp_path / "digital.pdf", [lines("A page of the text layer.")])
    scan = scanned(tmp_path / "scan.pdf", [picture.rotate(90, expand=True), picture.rotate(4, fillcolor=255)])
    document = read(joined(tmp_path / "mixed.pdf", digital, scan), OcrSettings.model_validate({"engine": engine}))
    assert not document.warnings
    assert [(page.page, page.turn) for page in document.ocr] == [(2, 90), (3, 0)]
    assert all(page.confidence > 0.8 and engine in ("auto", page.engine) for page in document.ocr)
    for number in (2, 3):
        text = " ".join(document.text[e.start : e.end] for e in document.elements if e.page == number)
        assert words(text) == words(" ".join(TEXT))


@pytest.mark.parametrize("turn", [0, 90, 180, 270])
def test_the_boxes_of_a_turned_scan_hold_the_ink_of_their_words(tmp_path: Path, turn: int) -> None:
    picture = sheet(tmp_path, "Warfarin", size=40).rotate(turn, expand=True)
    path = scanned(tmp_path / "a.pdf", [picture])
    document = read(path)
    [word] = document.word_boxes
    assert document.page_sizes == [pytest.approx((picture.width * 72 / 150, picture.height * 72 / 150), abs=1)]
    ink = picture.point(lambda v: 255 if v < 128 else 0).getbbox()
    assert ink is not None
    inside = [value * 72 / 150 for value in ink]
    for mine, there in zip(word.box, inside, strict=True):
        assert abs(mine - there) < 16  # of 40 points that the letters are high
    lit = boxes_for_span(document.word_boxes, word.start, word.end)
    assert render_page(path, 1, lit[1])


def test_a_header_over_a_scan_stays_and_the_scan_is_read(tmp_path: Path) -> None:
    path = written_on(scanned(tmp_path / "a.pdf", [sheet(tmp_path)]), "Clinic of Example Town")
    document = read(path)
    assert document.text.startswith("Clinic of Example Town")
    assert document.text.count("Clinic") == 1 and "warfarin" in document.text
    assert len(document.ocr) == 1


def test_an_invisible_layer_that_says_something_else_gives_way_to_what_is_printed(tmp_path: Path) -> None:
    path = written_on(scanned(tmp_path / "a.pdf", [sheet(tmp_path)]), "Txkq zwrf", invisible=True)
    document = read(path)
    assert "Txkq" not in document.text and "warfarin" in document.text


def test_a_font_that_names_other_letters_than_it_draws_gives_way(tmp_path: Path) -> None:
    codes = " ".join(["7DNH", "RQHW", "DEOHW", "ZKDUI", "GDLOB", "ZLWKZ", "DWHUW"] * 5)
    path = written_on(scanned(tmp_path / "a.pdf", [sheet(tmp_path)]), codes, invisible=True)
    document = read(path)
    assert "7DNH" not in document.text and "warfarin" in document.text


def test_a_right_invisible_layer_stays(tmp_path: Path) -> None:
    right = "Take one tablet of warfarin each day with water at the same hour. " * 4
    path = written_on(scanned(tmp_path / "a.pdf", [sheet(tmp_path)]), right, invisible=True)
    assert not read(path).ocr


def test_what_was_not_read_is_named_with_the_setting(tmp_path: Path) -> None:
    digital = write_pdf(tmp_path / "digital.pdf", [lines("A page of the text layer.")])
    scan = scanned(tmp_path / "scan.pdf", [sheet(tmp_path), sheet(tmp_path)])
    mixed = joined(tmp_path / "mixed.pdf", digital, scan)
    off = read(mixed, OcrSettings(engine="off"))
    assert [(w.code, w.page) for w in off.warnings] == [("no_text_layer", 2), ("no_text_layer", 3)]
    assert "ASKLINE_OCR__ENGINE" in off.warnings[0].message
    one = read(mixed, OcrSettings(engine="rapidocr", max_pages=1))
    assert [(w.code, w.page) for w in one.warnings] == [("no_text_layer", 3)]
    assert "ASKLINE_OCR__MAX_PAGES" in one.warnings[0].message and [p.page for p in one.ocr] == [2]
    Image.new("1", (1200, 1000), 1).save(tmp_path / "wide.pdf", resolution=150)
    wide = read(joined(tmp_path / "b.pdf", digital, tmp_path / "wide.pdf"), OcrSettings(max_megapixels=1))
    assert not wide.warnings  # an empty sheet has nothing to be read
    noisy = Image.effect_noise((1200, 1000), 90)
    noisy.save(tmp_path / "noisy.pdf", resolution=150)
    large = read(joined(tmp_path / "c.pdf", digital, tmp_path / "noisy.pdf"), OcrSettings(max_megapixels=1))
    assert (
        "1200 x 1000 pixels" in large.warnings[0].message and "ASKLINE_OCR__MAX_MEGAPIXELS" in large.warnings[0].message
    )
    with pytest.raises(NoContent, match=r"scan\.pdf"):
        read(scan, OcrSettings(engine="off"))


def test_low_confidence_is_a_warning_with_engine_and_figure(tmp_path: Path) -> None:
    document = read(scanned(tmp_path / "a.pdf", [sheet(tmp_path)]), OcrSettings(engine="rapidocr", low_confidence=1))
    [warning] = document.warnings
    assert (warning.code, warning.page) == ("ocr_low_confidence", 1)
    assert re.search(r"\(rapidocr\) with a confidence of \d+%", warning.message)


def test_all_pages_of_a_tiff_are_read_and_a_photograph_stands_upright(tmp_path: Path) -> None:
    pages = [sheet(tmp_path, f"Page number {word}") for word in ("one", "two")]
    pages[0].save(tmp_path / "a.tiff", save_all=True, append_images=pages[1:])
    document = read(tmp_path / "a.tiff")
    assert [w for w in words(document.text) if w in ("one", "two")] == ["one", "two"]
    assert document.page_count == 2 and {w.page for w in document.word_boxes} == {1, 2}
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was held sideways
    sheet(tmp_path, "Photograph of a letter").rotate(90, expand=True).save(tmp_path / "b.jpg", exif=exif)
    photograph = read(tmp_path / "b.jpg")
    assert photograph.text == "Photograph of a letter" and photograph.ocr[0].turn == 0
    width, height = photograph.page_sizes[0]
    assert width > height
    with Image.open(tmp_path / "b.jpg") as stored:
        assert stored.width < stored.height
    [first, *_] = photograph.word_boxes
    assert 0.05 * width < first.box[0] < 0.3 * width
    assert render_page(tmp_path / "b.jpg", 1, [first.box])


@pytest.mark.parametrize("suffix", ["png", "bmp", "webp", "gif"])
def test_a_picture_without_text_is_a_document_that_says_so(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    Image.linear_gradient("L").save(path)
    document = read(path)
    assert [w.code for w in document.warnings] == ["no_text_found"]
    assert document.text.startswith("A picture, 256 x 256 points.")


def test_images_that_cannot_be_read_say_why(tmp_path: Path) -> None:
    whole = tmp_path / "whole.png"
    sheet(tmp_path).save(whole)
    cut = tmp_path / "cut.png"
    cut.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    with pytest.raises(DamagedFile, match=r"cut\.png"):
        read(cut)
    (tmp_path / "none.png").write_bytes(b"")
    with pytest.raises(EmptyFile):
        read(tmp_path / "none.png")
    Image.new("1", (20_000, 10_000)).save(tmp_path / "bomb.png")
    started = time.monotonic()
    with pytest.raises(ResourceLimit, match=r"bomb\.png has 20000 x 10000 pixels"):
        read(tmp_path / "bomb.png")
    assert time.monotonic() - started < 2


def piece(text: str, x: float, y: float) -> Piece:
    box: Box = (x, y, x + 6 * len(text), y + 10)
    return Piece([Spot(text, box, 1.0)], box)


def texts(pieces: list[Piece]) -> list[list[str]]:
    return [[p.words[0].text for p in line] for line in in_order(pieces)]


def test_columns_of_running_text_are_read_one_after_the_other() -> None:
    left = [f"left column line {n} of text" for n in range(5)]
    right = [f"right column line {n} of text" for n in range(5)]
    page = [piece("A title over both columns of this page", 40, 0)]
    page += [piece(text, 0, 20 + 14 * n) for n, text in enumerate(left)]
    page += [piece(text, 220, 21 + 14 * n) for n, text in enumerate(right)]
    page.append(piece("a line below that runs over both columns of the page", 0, 120))
    read_order = [text for line in texts(page) for text in line]
    assert read_order == [page[0].words[0].text, *left, *right, page[-1].words[0].text]


def test_cells_of_a_table_are_read_by_row() -> None:
    rows = [
        ["Drug", "Dose", "Route"],
        ["Warfarin", "5 mg", "oral"],
        ["Heparin", "1 ml", "s.c."],
        ["Aspirin", "1", "oral"],
    ]
    page = [piece(cell, 100 * x, 14 * y) for y, row in enumerate(rows) for x, cell in enumerate(row)]
    assert texts(page) == rows


SLOW = """#!/bin/sh
if [ "$1" = --list-langs ]; then echo "List (1):"; echo eng; exit; fi
exec sleep 300
"""


def test_a_tesseract_that_does_not_end_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "tesseract"
    program.write_text(SLOW)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    ocr_tesseract.languages.cache_clear()
    try:
        with pytest.raises(PageUnreadable, match="longer than 1 s"):
            ocr_tesseract.read(Image.new("L", (100, 100)), "", 1)
        assert not [child for child in psutil.Process().children() if "sleep" in child.name()]
        with pytest.raises(ConfigurationError, match=r"ASKLINE_OCR__LANGUAGES.*eng"):
            ocr_tesseract.read(Image.new("L", (100, 100)), "xyz", 1)
    finally:
        ocr_tesseract.languages.cache_clear()


@needs_tesseract
def test_tesseract_alone_reads_a_sheet_that_lies_on_its_side(tmp_path: Path) -> None:
    text = [*TEXT, "Bring the letter of your doctor", "and the list of all medicines"]
    scan = scanned(tmp_path / "a.pdf", [sheet(tmp_path, *text, size=14).rotate(270, expand=True)])
    document = read(scan, OcrSettings(engine="tesseract"))
    assert [page.turn for page in document.ocr] == [270]
    assert words(document.text) == words(" ".join(text))


def test_nothing_of_ocr_is_loaded_for_a_text_layer() -> None:
    code = (
        "import sys, pipelines.parsing.pdf, pipelines.parsing.image\n"
        "sys.exit(any(name in sys.modules for name in ('rapidocr', 'cv2', 'onnxruntime')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
