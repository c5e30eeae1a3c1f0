"""Office files, mails and pages come out as EXPECTED says; the figure is printed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from expected import Expected, Reading, judge, load, show

pytestmark = pytest.mark.slow

Read = Callable[[Path], Reading]

_KINDS = ("office", "mail_html")
_HOSTILE = (".eml", ".msg", ".txt", ".html", ".docx", ".pptx", ".doc", ".ppt", ".odt", ".rtf", ".zip", ".gz")


def chosen(one: Expected) -> bool:
    return one.kind in _KINDS or (one.kind == "hostile" and Path(one.file).suffix.lower() in _HOSTILE)


def test_every_line_comes_out_as_it_says(
    documents: Path, read_document: Read, capsys: pytest.CaptureFixture[str]
) -> None:
    figure = judge(documents, load(documents, chosen), read_document)
    show(capsys, "formats", figure)
    assert figure.files >= 20
    assert figure.outcomes == figure.files, str(figure)
    assert figure.share >= 0.99, str(figure)
    assert not figure.forbidden, str(figure)


def test_the_attachments_are_the_ones_that_are_named(documents: Path, read_document: Read) -> None:
    lines = (json.loads(line) for line in (documents / "EXPECTED_dev.jsonl").read_text(encoding="utf-8").splitlines())
    named = {row["file"]: row["attachments"] for row in lines if "attachments" in row}
    assert named
    assert {file: list(read_document(documents / file).members) for file in named} == named
