"""A scan goes in by upload, is answered from with its words lit, and says what read it."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
from by_http import shown
from fastapi.testclient import TestClient
from PIL import Image, ImageDraw, ImageFont

from foundation.registry.intake import Received

LINES = (
    "Wound care after a puncture",
    "The Skarholm clinic keeps puncture wounds dry for 17 days.",
    "After that the dressing is changed by the district nurse.",
)


def picture() -> Image.Image:
    page = Image.new("L", (1240, 800), 255)
    pen = ImageDraw.Draw(page)
    for row, text in enumerate(LINES):
        pen.text((90, 90 + 90 * row), text, fill=0, font=ImageFont.load_default(34))
    return page


def as_bytes(image: Image.Image, kind: str) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **({"resolution": 150} if kind == "PDF" else {}))
    return buffer.getvalue()


@pytest.mark.parametrize(("name", "kind", "turn"), [("wounds.pdf", "PDF", 90), ("wounds.png", "PNG", 0)])
def test_a_scan_answers_with_its_words_lit_and_says_what_read_it(
    land: Callable[..., Received],
    run_job: Callable[..., Any],
    client: TestClient,
    name: str,
    kind: str,
    turn: int,
) -> None:
    arrived = land(name, as_bytes(picture().rotate(turn, expand=True), kind))
    run = run_job("ingest")
    assert run.success
    record = shown(client, arrived.document_id)
    assert record["status"] == "indexed", record["error"]
    assert record["counts"]["ocr_pages"] == 1 and "rapidocr" in record["counts"]["ocr_engine"]
    assert 0.6 < record["counts"]["ocr_confidence"] <= 1 and record["warnings"] == []
    [told] = run.asset_materializations_for_node("parsed_text")
    assert told.metadata["pages read by OCR"].value == 1 and "rapidocr" in str(told.metadata["files"].value)
    answer = client.post(
        "/ask", json={"question": "How long does the Skarholm clinic keep puncture wounds dry?"}
    ).json()
    [cited, *_] = answer["citations"]
    assert "17 days" in cited["quote"]
    span = {"start": cited["start"], "end": cited["end"]}
    plain, lit = (client.get(f"/documents/{arrived.document_id}/pages/1", params=p) for p in ({}, span))
    assert plain.status_code == lit.status_code == 200
    assert plain.content != lit.content
