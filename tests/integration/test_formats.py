"""A fact that stands in one place of one format only is found, and the quote is what the file says."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from email.message import EmailMessage
from typing import Any

import docx
import pptx
import pytest
from docx.document import Document
from fastapi.testclient import TestClient
from pptx.util import Inches

from foundation.registry.intake import Received

Land = Callable[..., Received]
RunJob = Callable[..., Any]

PROSE = (
    "The outpatient pharmacy keeps this list for its prescribers. It is reviewed every spring by the drug committee. "
    "Questions go to the pharmacy desk on the ground floor."
)
ROWS = [
    ["Drug", "Form", "Maximum daily dose"],
    ["Metformin", "tablet", "2550 mg"],
    ["Quelinab", "syrup", "35 ml"],
    ["Warfarin", "tablet", "10 mg"],
]


def saved(document: Any) -> bytes:
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def word(build: Callable[[Document], object]) -> bytes:
    document = docx.Document()
    document.add_heading("Pharmacy list", 1)
    document.add_paragraph(PROSE)
    build(document)
    return saved(document)


def with_table(document: Document) -> None:
    table = document.add_table(len(ROWS), 3)
    for cell, text in zip(table._cells, [text for row in ROWS for text in row], strict=True):
        cell.text = text


def with_header(document: Document) -> None:
    document.sections[0].header.paragraphs[0].text = "The night pharmacy of Skarholm opens at 21:40."


def slides() -> bytes:
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[5])
    slide.shapes.title.text_frame.text = "Pharmacy list"
    table = slide.shapes.add_table(len(ROWS), 3, Inches(1), Inches(2), Inches(8), Inches(3)).table
    for r, row in enumerate(ROWS):
        for c, text in enumerate(row):
            table.cell(r, c).text = text
    slide.notes_slide.notes_text_frame.text = PROSE
    return saved(presentation)


def page() -> bytes:
    cells = "".join(
        f"<tr>{''.join(f'<{tag}>{text}</{tag}>' for text in row)}</tr>"
        for tag, row in zip(["th", *["td"] * 3], ROWS, strict=True)
    )
    return f"<html><body><h1>Pharmacy list</h1><p>{PROSE}</p><table>{cells}</table></body></html>".encode()


def mail() -> bytes:
    message = EmailMessage()
    message["Subject"], message["From"], message["To"] = "Pharmacy list", "a@example.com", "b@example.com"
    message.set_content(PROSE)
    message.add_alternative(page().decode(), subtype="html")
    return message.as_bytes()


def packed() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("lists/pharmacy.docx", word(with_table))
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("list.docx", word(with_table)),
        pytest.param("list.pptx", slides(), marks=pytest.mark.slow),
        pytest.param("list.html", page(), marks=pytest.mark.slow),
        pytest.param("list.eml", mail(), marks=pytest.mark.slow),
        pytest.param("lists.zip", packed(), marks=pytest.mark.slow),
    ],
)
def test_a_fact_only_in_a_table_cell_is_answered(
    name: str, data: bytes, land: Land, run_job: RunJob, client: TestClient
) -> None:
    land(name, data)
    for _ in range(2):
        assert run_job("ingest", scope="pending").success
    answer = client.post("/ask", json={"question": "What is the maximum daily dose of Quelinab?"}).json()
    assert "35 ml" in answer["text"], answer["text"]
    quotes = [citation["quote"] for citation in answer["citations"]]
    assert any("Quelinab" in quote and "35 ml" in quote for quote in quotes), quotes


def test_a_fact_only_in_a_page_header_is_answered(land: Land, run_job: RunJob, client: TestClient) -> None:
    land("list.docx", word(with_header))
    assert run_job("ingest", scope="pending").success
    answer = client.post("/ask", json={"question": "When does the night pharmacy of Skarholm open?"}).json()
    assert "21:40" in answer["text"], answer["text"]
