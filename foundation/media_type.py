"""What a file is, by its content; its name decides only between kinds of text."""

from __future__ import annotations

import csv
import mimetypes
import re
import statistics
import struct
import zipfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import olefile
import puremagic

from foundation.archive_kinds import is_tar, packed_type
from foundation.charset import detect_encoding
from foundation.errors import EmptyInput, EncryptedFile, UnsupportedType
from foundation.image_kinds import image_type
from foundation.media_kinds import (
    BY_EXTENSION,
    CONVERT_FIX,
    CSV,
    DOC,
    DOCUMENT_FIX,
    DOCX,
    EML,
    FIXES,
    HTML,
    KNOWN,
    MACRO_FIX,
    MARKDOWN,
    MSG,
    OBO,
    OOXML,
    PAGE_FIX,
    PDF,
    PPT,
    PPTX,
    RTF,
    TAR,
    TEXT,
    TSV,
    XLS,
    XLSB,
    XLSX,
    ZIP,
    MediaType,
)

HEAD = 64 * 1024
"""Bytes from a file's start that `detect` wants; it works with fewer."""

# The interpreter's own table, not the machine's: the same name gives the same answer everywhere.
_MIMETYPES = mimetypes.MimeTypes()

_CFB = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_SIZE_FOLLOWS = 0x8
_DESCRIPTOR = re.compile(rb"PK\x07\x08.{12}(?=PK\x03\x04)", re.DOTALL)
"""What a writer that did not know an entry's size puts behind it."""
_HTML = re.compile(r"\s*(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)*<(!doctype html|html)\b", re.IGNORECASE | re.DOTALL)
_MAIL_HEADER = re.compile(
    r"(from|to|cc|subject|date|received|return-path|mime-version|message-id|delivered-to|content-type|x-[\w-]+):",
    re.IGNORECASE,
)
_OOXML_PARTS = frozenset({"[Content_Types].xml", "word/document.xml", "xl/workbook.xml", "ppt/presentation.xml"})
# The stream that each old office format has, as its container's directory names it.
_CFB_STREAMS = {
    "WordDocument": DOC,
    "PowerPoint Document": PPT,
    "__properties_version1.0": MSG,
    "Workbook": XLS,
    "Book": XLS,
}


def detect(head: bytes, size: int, file_name: str, entries: Sequence[str] | None = None) -> MediaType:
    """The media type of a file of `size` bytes that starts with `head` (not empty, best HEAD bytes long).

    `entries` are the names inside a ZIP or an OLE container where the caller has the whole file; else those in `head`
    are used. Raises EncryptedFile for an office file with a password, whose container shows nothing else.
    """
    extension = _extension(file_name)
    if head.startswith(b"%PDF-") or (extension == "pdf" and b"%PDF-" in head[:1024]):
        return PDF
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _zip_type(head, extension, entries if entries is not None else _local_names(head))
    if head.startswith(_CFB):
        return _cfb_type(head, extension, file_name, entries)
    if head.lstrip().startswith(b"{\\rt"):
        return RTF
    if packed := packed_type(head):
        return packed
    if head[257:262] == b"ustar" or (extension == "tar" and is_tar(head)):
        return TAR
    if image := image_type(head):
        return image
    encoding = detect_encoding(head)
    if encoding is None:
        return EML if extension == "eml" else _binary_type(head, extension)
    text = head.decode(encoding, errors="replace")
    return _text_type(text.lstrip("\ufeff"), extension, whole=len(head) >= size)


def is_container(head: bytes) -> bool:
    """Whether only its directory, which is not at its beginning, says what the file is."""
    return head.startswith((b"PK", _CFB))


def detect_file(path: Path, file_name: str) -> MediaType:
    """`detect` with the whole file at hand: a container is judged by its directory."""
    with path.open("rb") as file:
        head = file.read(HEAD)
    entries: list[str] | None = None
    try:
        if head.startswith(b"PK"):
            with zipfile.ZipFile(path) as archive:
                entries = archive.namelist()
        elif head.startswith(_CFB):
            with olefile.OleFileIO(path) as container:
                entries = [parts[0] for parts in container.listdir()]
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError, IndexError):
        entries = None
    return detect(head, path.stat().st_size, file_name, entries)


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
            fix=fix if found.fix in (None, CONVERT_FIX) else found.fix,
        )
    if found.kind is None:
        raise UnsupportedType(f"{file_name} is {found.label}, which cannot be read.", fix=found.fix)
    return found


def _extension(file_name: str) -> str:
    return PurePosixPath(file_name).suffix.lower().lstrip(".")


def _unsupported(name: str, label: str, fix: str = CONVERT_FIX) -> MediaType:
    return MediaType(name, None, label, fix)


def _claimed(extension: str) -> MediaType | None:
    """What a name promises; None for no extension and for one that nobody registered (`report.final`)."""
    if extension in BY_EXTENSION:
        return BY_EXTENSION[extension]
    registered = _MIMETYPES.guess_type(f"x.{extension}", strict=False)[0] if extension else None
    if registered is None and extension not in FIXES:
        return None
    return _unsupported(registered or "application/octet-stream", f"a .{extension} file", _fix(extension))


def _fix(extension: str) -> str:
    return FIXES.get(extension, CONVERT_FIX)


_TEXTUAL = ("text", "csv", "obo")


def _contradicts(claimed: MediaType, found: MediaType) -> bool:
    if found.kind in _TEXTUAL:
        return claimed.kind not in _TEXTUAL
    # Old programs save RTF and HTML under .doc, and open what they find.
    if claimed is DOC and found.kind in ("rtf", "html", "docx"):
        return False
    if found.kind is None:
        return claimed.kind is not None
    return claimed.kind != found.kind


def _local_names(head: bytes) -> list[str]:
    """The names of the entries that begin in `head`, hopping from header to header: a member may be a ZIP itself."""
    names, position = [], 0
    while (header := head[position : position + 30]).startswith(b"PK\x03\x04") and len(header) == 30:
        flags, packed, name, extra = struct.unpack("<6xH10xI4xHH", header)
        names.append(head[position + 30 : position + 30 + name].decode("utf-8", errors="replace"))
        position += 30 + name + extra + packed
        if flags & _SIZE_FOLLOWS and packed == 0:
            following = _DESCRIPTOR.search(head, position)
            if following is None:
                break
            position = following.end()
    return names


def _zip_type(head: bytes, extension: str, names: Sequence[str]) -> MediaType:
    # An Open Document archive starts with an uncompressed entry `mimetype`.
    if head[30:38] == b"mimetype":
        declared = head[38:120].split(b"PK")[0].decode("ascii", errors="replace").strip().removesuffix("-template")
        fallback = _unsupported(declared, f"a file of type {declared}", FIXES.get(extension, DOCUMENT_FIX))
        return next((known for known in KNOWN if known.name == declared), fallback)
    if not _OOXML_PARTS.isdisjoint(names) or extension in ("docx", "xlsx", "pptx", "ppsx", "docm", "xlsm", "pptm"):
        return _ooxml_type(extension, names)
    claimed = _claimed(extension)
    if claimed is not None and claimed not in (ZIP, *BY_EXTENSION.values()) and claimed.name != "application/zip":
        return claimed
    return ZIP


def _ooxml_type(extension: str, names: Sequence[str]) -> MediaType:
    folders = {name.split("/")[0] for name in names if "/" in name}
    if any(name.endswith("vbaProject.bin") for name in names) or extension in ("docm", "xlsm", "pptm"):
        return _unsupported("application/vnd.ms-office", "an office file with macros", MACRO_FIX)
    if "word" in folders:
        return DOCX
    if "xl" in folders:
        return XLSB if "xl/workbook.bin" in names else XLSX
    if "ppt" in folders:
        return PPTX
    # `head` may end inside the first big entry; the parser still checks what the name promises.
    if "[Content_Types].xml" in names:
        return BY_EXTENSION.get(extension) or _unsupported(OOXML + "package", "an office file", PAGE_FIX)
    return ZIP


def _cfb_type(head: bytes, extension: str, file_name: str, entries: Sequence[str] | None) -> MediaType:
    def has(stream: str) -> bool:
        return stream in entries if entries is not None else stream.encode("utf-16-le") in head

    if has("EncryptedPackage") or extension in ("docx", "xlsx", "pptx"):
        raise EncryptedFile(f"{file_name} is an office file that is protected by a password.")
    if found := next((kind for stream, kind in _CFB_STREAMS.items() if has(stream)), None):
        return found
    # A big file's directory lies beyond its head; the parser still checks what the name promises.
    claimed = BY_EXTENSION.get(extension)
    if entries is None and claimed is not None and claimed in _CFB_STREAMS.values():
        return claimed
    label = f"an old office file (.{extension})" if extension in FIXES else "an old office file"
    return _unsupported("application/x-ole-storage", label, FIXES.get(extension, DOCUMENT_FIX))


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
    if text.lstrip().startswith("format-version:") and extension in ("obo", "txt", ""):
        return OBO
    if extension == "eml" or (extension == "" and _is_mail(text)):
        return EML
    claimed = _claimed(extension)
    if claimed is HTML or (_HTML.match(text) and extension not in ("txt", "text")):
        return HTML
    if claimed is not None and claimed.kind is None and claimed.name not in ("application/octet-stream", PDF.name):
        return _unsupported(claimed.name, claimed.label, _fix(extension))
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


def _is_mail(text: str) -> bool:
    """At least three headers of a mail, from the first line on."""
    headers = []
    for line in text.split("\n"):
        if not line.strip():
            break
        if not line.startswith((" ", "\t")):
            headers.append(bool(_MAIL_HEADER.match(line)))
    return len(headers) >= 3 and headers[0] and sum(headers) >= 3


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
