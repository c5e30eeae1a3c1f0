from __future__ import annotations

import gzip
import io
import os
import tarfile
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


class Pipe(io.RawIOBase):
    """A stream that cannot be gone back in, so that sizes are written behind the entries."""

    def __init__(self) -> None:
        self.data = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        self.data += bytes(data)  # type: ignore[call-overload]  # whatever zipfile hands over
        return len(bytes(data))  # type: ignore[call-overload]


def streamed(*names: str) -> bytes:
    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w") as archive:  # type: ignore[arg-type]  # only written to
        for name in names:
            with archive.open(name, "w") as entry:
                entry.write(b"<x/>")
    return bytes(pipe.data)


def packed(name: str, content: str | bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(name, content)
    return buffer.getvalue()


def tar(kind: int) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=kind) as archive:
        entry = tarfile.TarInfo("notes.txt")
        entry.size = 5
        archive.addfile(entry, io.BytesIO(b"words"))
    return buffer.getvalue()


CONTAINER = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)
MAIL = b"From: a@example.com\r\nTo: b@example.com\r\nSubject: Lunch\r\n\r\nNoon?\r\n"
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
        ("terms.obo", b"format-version: 1.2\n\n[Term]\nid: X:1\nname: x\n", "obo", "text/x-obo"),
        ("letter.obo", LETTER, "text", "text/plain"),
        ("data.csv", TABLE, "csv", "text/csv"),
        ("data.txt", TABLE, "csv", "text/csv"),
        ("data", TABLE.replace(b",", b"\t"), "csv", "text/tab-separated-values"),
        ("one_column.csv", b"weight\n1.234567", "csv", "text/csv"),
        ("letter.csv", LETTER, "text", "text/plain"),
        ("utf16.csv", TABLE.decode().encode("utf-16-le"), "csv", "text/csv"),
        ("nul.csv", b"a,b,c\n\0,2,3\n", "csv", "text/csv"),
        ("talk.pptx", office("ppt/presentation.xml"), "pptx", None),
        ("show.ppsx", office("ppt/presentation.xml"), "pptx", None),
        ("a.odt", packed("mimetype", "application/vnd.oasis.opendocument.text"), "odt", None),
        ("a.odp", packed("mimetype", "application/vnd.oasis.opendocument.presentation"), "odt", None),
        ("a.rtf", b"{\\rtf1 x}", "rtf", "application/rtf"),
        ("letter.doc", b"{\\rtf1 x}", "rtf", "application/rtf"),
        ("old.doc", CONTAINER + "WordDocument".encode("utf-16-le"), "doc", "application/msword"),
        ("big.doc", CONTAINER, "doc", "application/msword"),
        ("old.ppt", CONTAINER + "PowerPoint Document".encode("utf-16-le"), "ppt", None),
        ("mail.msg", CONTAINER + "__properties_version1.0".encode("utf-16-le"), "msg", None),
        ("page.html", b"<html><body>x</body></html>", "html", "text/html"),
        ("page.htm", b"just <b>some</b> words", "html", "text/html"),
        ("page", b"<?xml version='1.0'?>\n<!-- x -->\n<!DOCTYPE html><html></html>", "html", "text/html"),
        ("page.html", "<html>x</html>".encode("utf-16"), "html", "text/html"),
        ("page.txt", b"<html><body>x</body></html>", "text", "text/plain"),
        ("mail.eml", MAIL, "eml", "message/rfc822"),
        ("mail", MAIL, "eml", "message/rfc822"),
        ("mail.txt", MAIL, "text", "text/plain"),
        ("a.zip", packed("word/readme.txt", "not a Word document"), "archive", "application/zip"),
        ("a.zip", packed("report.docx", "x"), "archive", "application/zip"),
        ("a.zip", packed("lists/a.docx", office("word/document.xml")), "archive", "application/zip"),
        ("a", streamed("[Content_Types].xml", "xl/workbook.xml"), "xlsx", None),
        ("a.tar", tar(tarfile.USTAR_FORMAT), "archive", "application/x-tar"),
        ("a.tar.gz", gzip.compress(tar(tarfile.GNU_FORMAT)), "archive", "application/gzip"),
        ("a.tgz", gzip.compress(tar(tarfile.PAX_FORMAT)), "archive", "application/gzip"),
        ("notes.csv.gz", gzip.compress(TABLE), "archive", "application/gzip"),
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
        ("page.csv", b"<!DOCTYPE html><html></html>", r"the content is HTML"),
        ("a.docx", packed("notes.txt", "x"), r"the content is ZIP archive"),
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
        ("scan.heic", b"\0\0\0\x18ftypheic" + bytes(50), "Save it as PNG"),
        ("old.xlt", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "XLSX or CSV"),
        ("macro.docx", office("word/document.xml", "word/vbaProject.bin"), "Macros"),
        ("book.epub", packed("mimetype", "application/epub+zip"), "PDF"),
        ("notes.pages", packed("Index/Document.iwa", "x"), "DOCX"),
        ("tool.jar", packed("META-INF/MANIFEST.MF", "x"), "Convert"),
        ("a.7z", b"7z\xbc\xaf\x27\x1c" + bytes(60), "Unpack"),
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
