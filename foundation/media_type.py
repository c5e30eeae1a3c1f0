"""What a file is, by its content; its name decides only between kinds of text."""

from __future__ import annotations

import csv
import mimetypes
import re
import statistics
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

import puremagic

from foundation.charset import detect_encoding
from foundation.errors import EmptyInput, EncryptedFile, UnsupportedType

HEAD = 64 * 1024
"""Bytes from a file's start that `detect` wants; it works with fewer."""

Kind = Literal["pdf", "docx", "text", "csv", "xlsx"]


@dataclass(frozen=True, slots=True)
class MediaType:
    """`name` is the registered media type, `kind` the parser family, or None where there is no parser."""

    name: str
    kind: Kind | None
    label: str
    fix: str | None = None


_OOXML = "application/vnd.openxmlformats-officedocument."
PDF = MediaType("application/pdf", "pdf", "PDF")
DOCX = MediaType(_OOXML + "wordprocessingml.document", "docx", "Word document")
XLSX = MediaType(_OOXML + "spreadsheetml.sheet", "xlsx", "Excel workbook")
TEXT = MediaType("text/plain", "text", "plain text")
MARKDOWN = MediaType("text/markdown", "text", "Markdown")
CSV = MediaType("text/csv", "csv", "CSV")
TSV = MediaType("text/tab-separated-values", "csv", "tab-separated values")

_KINDS: dict[str, Kind | None] = {known.name: known.kind for known in (PDF, DOCX, XLSX, TEXT, MARKDOWN, CSV, TSV)}


def kind_of(name: str) -> Kind | None:
    """The parser family of a registered media type's name; None where there is no parser."""
    return _KINDS.get(name)


_DOCUMENT_FIX = "Save it as DOCX or PDF and upload that."
_TABLE_FIX = "Save it as XLSX or CSV and upload that."
_PAGE_FIX = "Print or save it as PDF and upload that."
_IMAGE_FIX = "Images need text recognition, which this version lacks; upload a PDF with a text layer."
_UNPACK_FIX = "Unpack it and upload the files inside."
_MACRO_FIX = "Macros are not read; save it without them and upload that."
_CONVERT_FIX = "Convert it to PDF, DOCX, TXT, CSV or XLSX and upload that."

_BY_EXTENSION: dict[str, MediaType] = {
    **dict.fromkeys(["pdf"], PDF),
    **dict.fromkeys(["docx"], DOCX),
    **dict.fromkeys(["xlsx"], XLSX),
    **dict.fromkeys(["txt", "text", "log"], TEXT),
    **dict.fromkeys(["md", "markdown"], MARKDOWN),
    **dict.fromkeys(["csv"], CSV),
    **dict.fromkeys(["tsv", "tab"], TSV),
}
# Extensions without a parser, by what the user can do about each.
_WITHOUT_PARSER = {
    _DOCUMENT_FIX: "doc dot dotx odt rtf pages wpd",
    _TABLE_FIX: "xls xlsb xlt xltx ods numbers parquet",
    _PAGE_FIX: "ppt pptx pps odp key htm html xhtml mhtml eml msg epub",
    _IMAGE_FIX: "png jpg jpeg jfif tif tiff bmp gif webp heic svg dcm",
    _UNPACK_FIX: "zip gz tgz tar bz2 xz 7z rar",
    _MACRO_FIX: "docm dotm xlsm xltm pptm",
    _CONVERT_FIX: "json jsonl xml yaml yml exe dll js sh py bat ps1 sql ps eps",
}
_FIXES = {extension: fix for fix, extensions in _WITHOUT_PARSER.items() for extension in extensions.split()}
# The interpreter's own table, not the machine's: the same name gives the same answer everywhere.
_MIMETYPES = mimetypes.MimeTypes()

_CFB = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_LOCAL_NAME = re.compile(rb"PK\x03\x04.{22}(..)..", re.DOTALL)


def detect(head: bytes, size: int, file_name: str, archive_names: Sequence[str] | None = None) -> MediaType:
    """The media type of a file of `size` bytes that starts with `head` (not empty, best HEAD bytes long).

    `archive_names` are a ZIP's entry names where the caller has the whole file; else those in `head` are used. Raises
    EncryptedFile for an office file with a password, whose container shows nothing else.
    """
    extension = _extension(file_name)
    if head.startswith(b"%PDF-") or (extension == "pdf" and b"%PDF-" in head[:1024]):
        return PDF
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _zip_type(head, extension, archive_names if archive_names is not None else _local_names(head))
    if head.startswith(_CFB):
        return _cfb_type(head, extension, file_name)
    if head.startswith(b"{\\rtf"):
        return _unsupported("application/rtf", "RTF document", _DOCUMENT_FIX)
    encoding = detect_encoding(head)
    if encoding is None:
        return _binary_type(head, extension)
    text = head.decode(encoding, errors="replace")
    return _text_type(text, extension, whole=len(head) >= size)


def detect_file(path: Path, file_name: str) -> MediaType:
    """`detect` with the whole file at hand: an archive is judged by its central directory."""
    with path.open("rb") as file:
        head = file.read(HEAD)
    names = None
    if head.startswith(b"PK"):
        try:
            with zipfile.ZipFile(path) as archive:
                names = archive.namelist()
        except (zipfile.BadZipFile, NotImplementedError, ValueError):
            names = None
    return detect(head, path.stat().st_size, file_name, names)


def check_upload(head: bytes, size: int, file_name: str) -> MediaType:
    """The media type of an upload that there is a parser for.

    Raises EmptyInput for no bytes, UnsupportedType for a type without a parser or an extension that contradicts the
    content, EncryptedFile for an office file with a password.
    """
    if size == 0 or not head:
        raise EmptyInput(f"{file_name} is empty (0 bytes).")
    found = detect(head, size, file_name)
    claimed = _claimed(_extension(file_name))
    if claimed is not None and _contradicts(claimed, found):
        fix = "Upload the file that the name promises, or give this one the extension of its content."
        raise UnsupportedType(
            f"{file_name}: the name says {claimed.label} (.{_extension(file_name)}), the content is {found.label}.",
            fix=fix if found.fix in (None, _CONVERT_FIX) else found.fix,
        )
    if found.kind is None:
        raise UnsupportedType(f"{file_name} is {found.label}, which cannot be read.", fix=found.fix)
    return found


def _extension(file_name: str) -> str:
    return PurePosixPath(file_name).suffix.lower().lstrip(".")


def _unsupported(name: str, label: str, fix: str = _CONVERT_FIX) -> MediaType:
    return MediaType(name, None, label, fix)


def _claimed(extension: str) -> MediaType | None:
    """What a name promises; None for no extension and for one that nobody registered (`report.final`)."""
    if extension in _BY_EXTENSION:
        return _BY_EXTENSION[extension]
    registered = _MIMETYPES.guess_type(f"x.{extension}", strict=False)[0] if extension else None
    if registered is None and extension not in _FIXES:
        return None
    return _unsupported(registered or "application/octet-stream", f"a .{extension} file", _fix(extension))


def _fix(extension: str) -> str:
    return _FIXES.get(extension, _CONVERT_FIX)


def _contradicts(claimed: MediaType, found: MediaType) -> bool:
    if found.kind in ("text", "csv"):
        return claimed.kind not in ("text", "csv")
    if found.kind is None:
        return claimed.kind is not None
    return claimed.kind != found.kind


def _local_names(head: bytes) -> list[str]:
    names = []
    for match in _LOCAL_NAME.finditer(head):
        length = int.from_bytes(match[1], "little")
        names.append(head[match.end() : match.end() + length].decode("utf-8", errors="replace"))
    return names


def _zip_type(head: bytes, extension: str, names: Sequence[str]) -> MediaType:
    folders = {name.split("/")[0] for name in names if "/" in name}
    if any(name.endswith("vbaProject.bin") for name in names) or extension in ("docm", "xlsm", "pptm"):
        return _unsupported("application/vnd.ms-office", "an office file with macros", _MACRO_FIX)
    if "word" in folders:
        return DOCX
    if "xl" in folders:
        binary = "xl/workbook.bin" in names
        return _unsupported("application/vnd.ms-excel", "a binary workbook", _TABLE_FIX) if binary else XLSX
    if "ppt" in folders:
        return _unsupported(_OOXML + "presentationml.presentation", "a PowerPoint file", _PAGE_FIX)
    # An Open Document archive starts with an uncompressed entry `mimetype`.
    if head[30:38] == b"mimetype":
        declared = head[38:120].split(b"PK")[0].decode("ascii", errors="replace")
        return _unsupported(declared, f"a file of type {declared}", _FIXES.get(extension, _DOCUMENT_FIX))
    # `head` may end inside the first big entry; the parser still checks what the name promises.
    if extension in ("docx", "xlsx") and "[Content_Types].xml" in names:
        return _BY_EXTENSION[extension]
    return _unsupported("application/zip", "a ZIP archive", _UNPACK_FIX)


def _cfb_type(head: bytes, extension: str, file_name: str) -> MediaType:
    encrypted = "EncryptedPackage".encode("utf-16-le") in head
    if encrypted or extension in ("docx", "xlsx", "pptx"):
        raise EncryptedFile(f"{file_name} is an office file that is protected by a password.")
    label = f"an old office file (.{extension})" if extension in _FIXES else "an old office file"
    return _unsupported("application/x-ole-storage", label, _FIXES.get(extension, _DOCUMENT_FIX))


def _binary_type(head: bytes, extension: str) -> MediaType:
    try:
        matches = puremagic.magic_string(head)
    except (puremagic.PureError, ValueError):
        return _unsupported("application/octet-stream", "binary data of an unknown kind", _fix(extension))
    same = (match for match in matches if match.extension.lstrip(".").lower() == extension)
    # Formats that share a signature and have no registered type are curiosities of the list.
    registered = (match for match in matches if match.mime_type)
    best = next(same, None) or next(registered, matches[0])
    label = best.name or f"a {best.extension} file"
    return _unsupported(best.mime_type or "application/octet-stream", label, _fix(best.extension.lstrip(".").lower()))


def _text_type(text: str, extension: str, *, whole: bool) -> MediaType:
    if extension in ("md", "markdown"):
        return MARKDOWN
    claimed = _claimed(extension)
    if claimed is not None and claimed.kind is None and claimed.name not in ("application/octet-stream", PDF.name):
        return _unsupported(claimed.name, claimed.label, _fix(extension))
    if re.match(r"\s*<(!doctype html|html)\b", text, re.IGNORECASE) and extension not in ("txt", "text"):
        return _unsupported("text/html", "HTML", _PAGE_FIX)
    lines = [line for line in text.splitlines() if line.strip()][:100]
    if not whole and len(lines) > 1:
        lines.pop()
    delimiter, columns, share = _structure(lines)
    if extension in ("csv", "tsv", "tab"):
        tabular = (columns >= 2 and share >= 0.9) or not _is_prose(lines)
    else:
        sure_delimiter = delimiter != "," or columns >= 3
        tabular = len(lines) >= 3 and columns >= 2 and share >= 0.95 and sure_delimiter and not _is_prose(lines)
    if not tabular:
        return TEXT
    return TSV if delimiter == "\t" else CSV


def _structure(lines: Sequence[str]) -> tuple[str, int, float]:
    """The delimiter that cuts most lines into equally many cells, that number, and the share of such lines."""
    best = (",", 1, 0.0)
    for delimiter in ",;\t|":
        try:
            widths = [len(row) for row in csv.reader(lines, delimiter=delimiter) if row]
        except csv.Error:
            continue
        if not widths:
            continue
        columns = statistics.mode(widths)
        share = widths.count(columns) / len(widths)
        if columns >= 2 and (share, columns) > (best[2], best[1]):
            best = (delimiter, columns, share)
    return best


def _is_prose(lines: Sequence[str]) -> bool:
    """Sentences: long lines, or lines of many words, most delimiters followed by a space, as nobody writes a table."""
    if not lines:
        return True
    words = statistics.mean(len(line.split()) for line in lines)
    separators = re.findall(r"[,;\t|](\s?)", "\n".join(lines))
    spaced = sum(bool(s) for s in separators) / len(separators) if separators else 1.0
    return words >= 6 and spaced >= 0.7
