from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foundation.errors import NameRefused
from foundation.names import MAX_BYTES, safe_name


@pytest.mark.parametrize(
    ("raw", "kept"),
    [
        ("report.pdf", "report.pdf"),
        ("../../etc/passwd", "passwd"),
        (r"C:\Users\me\scan.pdf", "scan.pdf"),
        ("cafe\u0301.txt", "caf\u00e9.txt"),
        ("invoice\u202efdp.exe", "invoicefdp.exe"),
        ("a\r\nb.txt", "ab.txt"),
        ("Änderung 3 (neu).docx", "Änderung 3 (neu).docx"),
        (".env", ".env"),
    ],
)
def test_the_last_path_part_is_kept_without_what_cannot_be_seen(raw: str, kept: str) -> None:
    assert safe_name(raw) == kept


@pytest.mark.parametrize("raw", ["", "   ", "..", "a/..", "folder/", "\u202e\u200b", "re\0port.pdf"])
def test_a_nul_or_a_name_of_which_nothing_is_left_is_refused(raw: str) -> None:
    with pytest.raises(NameRefused):
        safe_name(raw)


def test_a_long_name_keeps_its_extension_and_whole_characters() -> None:
    name = safe_name("é" * 300 + ".docx")
    assert name.endswith("é.docx")
    assert len(name.encode()) <= MAX_BYTES


@given(st.text())
def test_a_kept_name_is_one_visible_path_part(raw: str) -> None:
    try:
        name = safe_name(raw)
    except NameRefused:
        return
    assert not set(name) & set("/\\\0\n\r")
    assert name not in (".", "..")
    assert len(name.encode()) <= MAX_BYTES
    assert unicodedata.is_normalized("NFC", name)
    assert safe_name(name) == name
