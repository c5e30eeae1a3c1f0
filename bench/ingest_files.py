"""Which files the benches of ingestion take."""

from __future__ import annotations

import gzip
import html
import json
from collections import defaultdict
from collections.abc import Sequence
from contextlib import closing
from email import message_from_bytes
from pathlib import Path

import pypdfium2 as pdfium
from docx import Document

from bench.embedding import DATA
from cli.questions import SAMPLES
from foundation.errors import NoContent
from foundation.settings import OcrSettings
from pipelines.parsing import pdf

_MEDQUAD = DATA / "medquad_liveqa" / "medquad_pairs.jsonl.gz"
_DOCUMENTS = DATA.parent / "documents"
_WITH_TEXT = ("pdf_text", "pdf_health", "office", "mail_html", "patient_docs")
_KINDS = (".txt", ".html", ".docx")


def samples(*patterns: str) -> list[Path]:
    return [path for pattern in patterns for path in sorted(SAMPLES.glob(pattern))]


def snippets(folder: Path, count: int) -> list[Path]:
    """`count` short text files in `folder`: MedQuAD answers over 400 characters from all over the collection, or, where
    the shared test data is not there, pages of the sample PDFs."""
    if _MEDQUAD.exists():
        answers = list(dict.fromkeys(row["answer"] for row in _medquad() if len(row["answer"] or "") > 400))
        texts = answers[:: max(1, len(answers) // count)][:count]
    else:
        texts = [text for sample in samples("*.pdf") for text in _page_texts(sample)][:count]
    paths = [folder / f"leaflet-{number}.txt" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text, encoding="utf-8")
    return paths


def mixed(folder: Path, count: int) -> list[Path]:
    """`count` documents as a library of health information has them, of ten formats.

    Every document of the shared test data that is text already (PDF, DOCX, DOC, PPTX, PPT, ODT, RTF, HTML, EML; none
    with a page that OCR reads, whose time is another program's), the samples, and pages of MedQuAD's web sites, their
    questions as headings, in turn as TXT, HTML and DOCX.
    """
    expected = (_DOCUMENTS / "EXPECTED_dev.jsonl").read_text(encoding="utf-8").splitlines()
    found = [
        _DOCUMENTS / row["file"]
        for row in map(json.loads, expected)
        if row["outcome"] == "ok" and row["file"].startswith(_WITH_TEXT)
    ]
    found = [path for path in found if path.exists() and not _wants_ocr(path)]
    found += samples("*.pdf", "*.docx", "*.txt")
    pages = _pages()
    wanted = count - len(found)
    chosen = pages[:: max(1, len(pages) // wanted)][:wanted]
    return found[:count] + [_write(folder, number, *page) for number, page in enumerate(chosen)]


def _write(folder: Path, number: int, title: str, sections: Sequence[tuple[str, str]]) -> Path:
    path = folder / f"page-{number}{_KINDS[number % len(_KINDS)]}"
    if path.suffix == ".docx":
        document = Document()
        document.add_heading(title, level=1)
        for question, answer in sections:
            document.add_heading(question, level=2)
            for line in answer.splitlines():
                document.add_paragraph(line.strip())
        document.save(path)
    elif path.suffix == ".html":
        body = "".join(f"<h2>{html.escape(q)}</h2><p>{html.escape(a)}</p>" for q, a in sections)
        head = f"<title>{html.escape(title)}</title>"
        path.write_text(f"<!doctype html><html><head>{head}</head><body>{body}</body></html>", encoding="utf-8")
    else:
        path.write_text("\n\n".join([title, *(f"{q}\n{a}" for q, a in sections)]), encoding="utf-8")
    return path


def _pages() -> list[tuple[str, list[tuple[str, str]]]]:
    """(subject, [(question, answer)]) of each web page that MedQuAD was made of."""
    pages: dict[str, list[tuple[str, str]]] = defaultdict(list)
    titles: dict[str, str] = {}
    for row in _medquad():
        if row["answer"]:
            pages[row["url"]].append((row["question"], row["answer"]))
            titles[row["url"]] = row["focus"]
    return [(titles[url], sections) for url, sections in pages.items()]


def _medquad() -> list[dict[str, str]]:
    with gzip.open(_MEDQUAD, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _wants_ocr(path: Path) -> bool:
    """Whether a page of it, or a picture that a mail brings, would be read by OCR."""
    if path.suffix == ".eml":
        mail = message_from_bytes(path.read_bytes())
        return any(part.get_content_maintype() == "image" for part in mail.walk())
    if path.suffix != ".pdf":
        return False
    try:
        parsed = pdf.parse(path, path.name, OcrSettings(engine="off"))
    except NoContent:
        return True
    return any(warning.page is not None for warning in parsed.warnings)


def _page_texts(path: Path) -> list[str]:
    with closing(pdfium.PdfDocument(path)) as document:
        texts = [page.get_textpage().get_text_bounded() for page in document]
    return [text for text in texts if len(text) > 400]
