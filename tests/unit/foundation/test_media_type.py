from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import pytest

from foundation.errors import EmptyInput, EncryptedFile, UnsupportedType
from foundation.media_type import HEAD, check_upload, detect, detect_file


def office(*names: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in ("[Content_Types].xml", "_rels/.rels", *names):
            archive.writestr(name, "<x/>")
    return buffer.getvalue()


TABLE = b"id,name,age\n1,Ann,3\n2,Bob,5\n3,Cyd,9\n"
LETTER = (
    b"Dear John,\nThank you for coming, it was good to see you again.\n"
    b"I hope you are well, and the children too, of course.\nYours, Ann\n"
)
WINDOWS_PROGRAM = b"MZ\x90\0\x03\0\0\0\x04\0\0\0\xff\xff" + bytes(200)


@pytest.mark.parametrize(
    ("name", "data", "kind", "media_type"),
    [
        ("a.pdf", b"%PDF-1.7\n", "pdf", "application/pdf"),
        ("a", b"%PDF-1.7\n", "pdf", "application/pdf"),
        ("a.docx", office("word/document.xml"), "docx", None),
        ("a.xlsx", office("xl/workbook.xml"), "xlsx", None),
        ("notes.txt", LETTER, "text", "text/plain"),
        ("notes.2024", LETTER, "text", "text/plain"),
        ("notes.md", b"| a | b |\n|---|---|\n| 1 | 2 |\n", "text", "text/markdown"),
        ("data.csv", TABLE, "csv", "text/csv"),
        ("data.txt", TABLE, "csv", "text/csv"),
        ("data", TABLE.replace(b",", b"\t"), "csv", "text/tab-separated-values"),
        ("one_column.csv", b"weight\n1.234567", "csv", "text/csv"),
        ("letter.csv", LETTER, "text", "text/plain"),
        ("utf16.csv", TABLE.decode().encode("utf-16-le"), "csv", "text/csv"),
        ("nul.csv", b"a,b,c\n\0,2,3\n", "csv", "text/csv"),
    ],
)
def test_content_decides_and_the_name_only_between_kinds_of_text(
    name: str, data: bytes, kind: str, media_type: str | None
) -> None:
    found = check_upload(data, len(data), name)
    assert found.kind == kind
    assert media_type is None or found.name == media_type


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("report.pdf", WINDOWS_PROGRAM, r"report\.pdf: the name says PDF \(\.pdf\), the content is .*Windows"),
        ("report.docx", b"%PDF-1.7\n", r"the name says Word document \(\.docx\), the content is PDF"),
        ("report.pdf", LETTER, r"the content is plain text"),
        ("data.csv", office("xl/workbook.xml"), r"the content is Excel workbook"),
        ("setup.exe", LETTER, r"the content is plain text"),
    ],
)
def test_an_extension_that_contradicts_the_content_is_refused_with_both_named(
    name: str, data: bytes, says: str
) -> None:
    with pytest.raises(UnsupportedType, match=says):
        check_upload(data, len(data), name)


@pytest.mark.parametrize(
    ("name", "data", "fix"),
    [
        ("scan.png", b"\x89PNG\r\n\x1a\n" + bytes(50), "text recognition"),
        ("old.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "XLSX or CSV"),
        ("talk.pptx", office("ppt/presentation.xml"), "as PDF"),
        ("macro.docx", office("word/document.xml", "word/vbaProject.bin"), "Macros"),
        ("page.html", b"<html><body>x</body></html>", "PDF"),
        ("page.csv", b"<!DOCTYPE html><html></html>", "PDF"),
        ("a.zip", office("readme"), "Unpack"),
        ("a.rtf", b"{\\rtf1 x}", "DOCX"),
        ("a.bin", os.urandom(4000), "Convert"),
    ],
)
def test_a_type_without_a_parser_is_refused_with_a_way_out(name: str, data: bytes, fix: str) -> None:
    with pytest.raises(UnsupportedType) as caught:
        check_upload(data, len(data), name)
    assert fix in caught.value.fix
    assert name in caught.value.message


def test_no_bytes_are_refused_as_empty() -> None:
    with pytest.raises(EmptyInput, match=r"a\.pdf is empty"):
        check_upload(b"", 0, "a.pdf")


def test_an_office_file_with_a_password_says_so(shared_data: Path) -> None:
    path = shared_data / "documents/hostile/unst__password_protected.xlsx"
    with pytest.raises(EncryptedFile, match="password"):
        detect(path.read_bytes()[:HEAD], path.stat().st_size, path.name)


def test_a_big_first_entry_does_not_hide_what_an_archive_is(tmp_path: Path) -> None:
    path = tmp_path / "x.docx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("docProps/thumbnail.jpeg", os.urandom(2 * HEAD))
        archive.writestr("word/document.xml", "<x/>")
    assert detect_file(path, "renamed").kind == "docx"
