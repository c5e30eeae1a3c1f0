"""PDFs, scans and images of the test data come out as documented, by either engine, through limited workers."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from expected import Expected, Figure, Reading, judge, load, show

from foundation.errors import AsklineError
from foundation.media_type import detect_file
from foundation.settings import OcrSettings, ParsingSettings
from foundation.types import ParsedDocument
from pipelines.parsing import ocr_tesseract
from pipelines.parsing.dispatch import parse_document
from pipelines.parsing.workers import ParserPool

pytestmark = pytest.mark.slow

ENGINES = [
    pytest.param("auto", marks=pytest.mark.skipif(ocr_tesseract.program() is None, reason="needs tesseract on PATH")),
    "rapidocr",
]
BY_OCR = {"pdf_text/unst__table-multi-row-column-cells.pdf"}
"""The one of the folder of digital files that is a picture."""


@pytest.fixture(scope="module")
def pool() -> Iterator[ParserPool]:
    limits = ParsingSettings()
    with ParserPool(limits.workers, limits.memory_mb, limits.timeout_s, waiting_s=OcrSettings().timeout_s) as parsers:
        yield parsers


def parse(pool: ParserPool, engine: str, path: Path) -> ParsedDocument:
    kind = detect_file(path, path.name).kind
    assert kind is not None
    parsed: ParsedDocument = pool.parse(
        parse_document, path, path.name, kind, None, None, OcrSettings.model_validate({"engine": engine})
    )
    return parsed


def read_all(pool: ParserPool, engine: str, documents: Path, chosen: list[Expected]) -> Figure:
    """On both workers, as in an ingest."""
    settings = OcrSettings.model_validate({"engine": engine})
    items = []
    for one in chosen:
        path = documents / one.file
        items.append((path, path.name, detect_file(path, path.name).kind, None, None, settings))
    readings: dict[Path, Reading] = {}
    for (path, name, *_), parsed in pool.map_files(parse_document, items):
        if isinstance(parsed, AsklineError):
            assert name in parsed.message and parsed.fix
            readings[path] = Reading(refused=parsed.code)
        else:
            readings[path] = Reading(parsed.text, tuple(warning.code for warning in parsed.warnings))
    return judge(documents, chosen, readings.__getitem__, edits=1 if any(is_by_ocr(one) for one in chosen) else 0)


def is_by_ocr(one: Expected) -> bool:
    return one.kind in ("pdf_scanned", "images") or one.file in BY_OCR


def is_digital(one: Expected) -> bool:
    return one.kind in ("pdf_text", "pdf_health") and one.file not in BY_OCR


def test_digital_pdfs(shared_data: Path, pool: ParserPool, capsys: pytest.CaptureFixture[str]) -> None:
    documents = shared_data / "documents"
    figure = read_all(pool, "auto", documents, load(documents, is_digital))
    show(capsys, "digital PDFs", figure)
    assert figure.outcomes == figure.files > 20
    assert figure.share >= 0.99 and not figure.forbidden


@pytest.mark.parametrize("engine", ENGINES)
def test_scans_and_images(shared_data: Path, pool: ParserPool, capsys: pytest.CaptureFixture[str], engine: str) -> None:
    documents = shared_data / "documents"
    started = time.monotonic()
    figure = read_all(pool, engine, documents, load(documents, is_by_ocr))
    show(capsys, f"scans and images by {engine} in {time.monotonic() - started:.0f} s", figure)
    assert figure.outcomes == figure.files > 12
    assert figure.share >= 0.97


@pytest.mark.parametrize("engine", ENGINES)
def test_hostile_pdfs(shared_data: Path, pool: ParserPool, capsys: pytest.CaptureFixture[str], engine: str) -> None:
    documents = shared_data / "documents"
    chosen = load(documents, lambda one: one.kind == "hostile" and one.file.endswith(".pdf"))
    figure = read_all(pool, engine, documents, chosen)
    show(capsys, f"hostile PDFs with {engine}", figure)
    assert figure.outcomes == figure.files > 5


def test_every_word_of_the_patient_documents_is_there(
    shared_data: Path, pool: ParserPool, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = found = 0
    for gold in sorted((shared_data / "documents/patient_docs").glob("*.gold.txt")):
        parsed = parse(pool, "auto", gold.with_name(gold.name.replace(".gold.txt", ".pdf")))
        assert not parsed.ocr and not parsed.warnings
        words = set(re.findall(r"\w+", parsed.text))
        gold_words = re.findall(r"\w+", gold.read_text(encoding="utf-8"))
        wanted += len(gold_words)
        found += sum(word in words for word in gold_words)
    with capsys.disabled():
        sys.stdout.write(f"\npatient documents: {found}/{wanted} words ({found / wanted:.2%})\n")
    assert found / wanted >= 0.99
