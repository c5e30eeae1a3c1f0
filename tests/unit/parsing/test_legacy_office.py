from __future__ import annotations

import os
from pathlib import Path

import pytest
from parsing_checks import assert_exact

from foundation.errors import DamagedFile, EncryptedFile
from foundation.media_type import check_upload
from foundation.types import ParsedDocument
from pipelines.parsing import doc, ppt

OFFICE = "documents/office"


def parsed(document: ParsedDocument) -> ParsedDocument:
    assert_exact(document)
    return document


def test_an_old_word_file_has_its_heading_and_paragraphs(shared_data: Path) -> None:
    path = shared_data / OFFICE / "unst__duplicate-paragraphs.doc"
    document = parsed(doc.parse(path, path.name))
    assert document.parser == "doc/1"
    first, *others = document.elements
    assert (first.kind, document.text[: first.end]) == ("title", "This document contains duplicates")
    assert [document.text[e.start : e.end] for e in others] == ["some text"] * 6


def test_old_slides_have_titles_tables_lists_and_notes(shared_data: Path) -> None:
    path = shared_data / OFFICE / "docl__legacy_sample.ppt"
    document = parsed(ppt.parse(path, path.name))
    assert document.page_count == 3
    shown = [(e.page, e.kind, document.text[e.start : e.end]) for e in document.elements]
    assert (2, "title", "Second slide title") in shown
    assert (2, "list_item", "With foo") in shown
    assert (2, "paragraph", "Some notes on the second slide.") in shown
    (table,) = [text for page, kind, text in shown if (page, kind) == (1, "table")]
    assert "R2 | Class1: True | Class2: False" in table


@pytest.mark.parametrize(("module", "name"), [(doc, "a.doc"), (ppt, "a.ppt")])
def test_damage_ends_in_an_error_of_ours(module: object, name: str, shared_data: Path, tmp_path: Path) -> None:
    sample = next((shared_data / OFFICE).glob(f"*{Path(name).suffix}")).read_bytes()
    path = tmp_path / name
    for data in (sample[:3000], sample[:512] + os.urandom(8000), b"", os.urandom(2000)):
        path.write_bytes(data)
        with pytest.raises(DamagedFile):
            module.parse(path, name)  # type: ignore[attr-defined]  # one of the two parsers


def test_a_password_is_told(shared_data: Path, tmp_path: Path) -> None:
    data = bytearray((shared_data / OFFICE / "unst__duplicate-paragraphs.doc").read_bytes())
    start = data.index(b"\xec\xa5")  # the beginning of the Word stream; bit 8 of its flags says encrypted
    data[start + 0x0B] |= 1
    path = tmp_path / "a.doc"
    path.write_bytes(bytes(data))
    assert check_upload(bytes(data), len(data), path.name).kind == "doc"
    with pytest.raises(EncryptedFile):
        doc.parse(path, path.name)
