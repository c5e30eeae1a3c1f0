"""The media types that Askline knows: which parser reads each, or what the user can do where there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "pdf",
    "docx",
    "pptx",
    "odt",
    "rtf",
    "doc",
    "ppt",
    "html",
    "eml",
    "msg",
    "image",
    "text",
    "csv",
    "xlsx",
    "archive",
    "obo",
]


@dataclass(frozen=True, slots=True)
class MediaType:
    """`name` is the registered media type, `kind` the parser family, or None where there is no parser."""

    name: str
    kind: Kind | None
    label: str
    fix: str | None = None


OOXML = "application/vnd.openxmlformats-officedocument."
ODF = "application/vnd.oasis.opendocument."
PDF = MediaType("application/pdf", "pdf", "PDF")
DOCX = MediaType(OOXML + "wordprocessingml.document", "docx", "Word document")
PPTX = MediaType(OOXML + "presentationml.presentation", "pptx", "PowerPoint presentation")
XLSX = MediaType(OOXML + "spreadsheetml.sheet", "xlsx", "Excel workbook")
XLS = MediaType("application/vnd.ms-excel", "xlsx", "Excel 97-2003 workbook")
XLSB = MediaType("application/vnd.ms-excel.sheet.binary.macroenabled.12", "xlsx", "Excel binary workbook")
ODS = MediaType(ODF + "spreadsheet", "xlsx", "OpenDocument spreadsheet")
ODT = MediaType(ODF + "text", "odt", "OpenDocument text")
ODP = MediaType(ODF + "presentation", "odt", "OpenDocument presentation")
RTF = MediaType("application/rtf", "rtf", "RTF document")
DOC = MediaType("application/msword", "doc", "Word 97-2003 document")
PPT = MediaType("application/vnd.ms-powerpoint", "ppt", "PowerPoint 97-2003 presentation")
HTML = MediaType("text/html", "html", "HTML")
EML = MediaType("message/rfc822", "eml", "mail")
MSG = MediaType("application/vnd.ms-outlook", "msg", "Outlook mail")
TEXT = MediaType("text/plain", "text", "plain text")
MARKDOWN = MediaType("text/markdown", "text", "Markdown")
OBO = MediaType("text/x-obo", "obo", "OBO file of terms")
CSV = MediaType("text/csv", "csv", "CSV")
TSV = MediaType("text/tab-separated-values", "csv", "tab-separated values")
PNG = MediaType("image/png", "image", "PNG image")
JPEG = MediaType("image/jpeg", "image", "JPEG image")
TIFF = MediaType("image/tiff", "image", "TIFF image")
BMP = MediaType("image/bmp", "image", "BMP image")
WEBP = MediaType("image/webp", "image", "WEBP image")
GIF = MediaType("image/gif", "image", "GIF image")
ZIP = MediaType("application/zip", "archive", "ZIP archive")
TAR = MediaType("application/x-tar", "archive", "TAR archive")
GZIP = MediaType("application/gzip", "archive", "gzip file")
BZIP2 = MediaType("application/x-bzip2", "archive", "bzip2 file")
XZ = MediaType("application/x-xz", "archive", "xz file")

KNOWN: tuple[MediaType, ...] = (
    *(PDF, DOCX, PPTX, XLSX, XLS, XLSB, ODS, ODT, ODP, RTF, DOC, PPT, HTML, EML, MSG, TEXT, MARKDOWN, OBO, CSV, TSV),
    *(PNG, JPEG, TIFF, BMP, WEBP, GIF, ZIP, TAR, GZIP, BZIP2, XZ),
)

BY_EXTENSION: dict[str, MediaType] = {
    **dict.fromkeys(["pdf"], PDF),
    **dict.fromkeys(["docx"], DOCX),
    **dict.fromkeys(["pptx", "ppsx"], PPTX),
    **dict.fromkeys(["xlsx"], XLSX),
    **dict.fromkeys(["xls"], XLS),
    **dict.fromkeys(["xlsb"], XLSB),
    **dict.fromkeys(["ods"], ODS),
    **dict.fromkeys(["odt"], ODT),
    **dict.fromkeys(["odp"], ODP),
    **dict.fromkeys(["rtf"], RTF),
    **dict.fromkeys(["doc"], DOC),
    **dict.fromkeys(["ppt", "pps"], PPT),
    **dict.fromkeys(["html", "htm", "xhtml"], HTML),
    **dict.fromkeys(["eml"], EML),
    **dict.fromkeys(["msg"], MSG),
    **dict.fromkeys(["txt", "text", "log"], TEXT),
    **dict.fromkeys(["md", "markdown"], MARKDOWN),
    **dict.fromkeys(["obo"], OBO),
    **dict.fromkeys(["csv"], CSV),
    **dict.fromkeys(["tsv", "tab"], TSV),
    **dict.fromkeys(["png"], PNG),
    **dict.fromkeys(["jpg", "jpeg", "jfif"], JPEG),
    **dict.fromkeys(["tif", "tiff"], TIFF),
    **dict.fromkeys(["bmp"], BMP),
    **dict.fromkeys(["webp"], WEBP),
    **dict.fromkeys(["gif"], GIF),
    **dict.fromkeys(["zip"], ZIP),
    **dict.fromkeys(["tar"], TAR),
    **dict.fromkeys(["gz", "tgz"], GZIP),
    **dict.fromkeys(["bz2"], BZIP2),
    **dict.fromkeys(["xz"], XZ),
}

DOCUMENT_FIX = "Save it as DOCX or PDF and upload that."
TABLE_FIX = "Save it as XLSX or CSV and upload that."
PAGE_FIX = "Print or save it as PDF and upload that."
IMAGE_FIX = "Save it as PNG, JPEG, TIFF or PDF and upload that."
UNPACK_FIX = "Unpack it and upload the files inside, or pack them as ZIP or TAR.GZ."
MACRO_FIX = "Macros are not read; save it without them and upload that."
CONVERT_FIX = "Convert it to PDF, DOCX, TXT, CSV or XLSX and upload that."

# Extensions without a parser, by what the user can do about each.
_WITHOUT_PARSER = {
    DOCUMENT_FIX: "dot dotx pages wpd",
    TABLE_FIX: "xlt xltx numbers parquet",
    PAGE_FIX: "key mhtml mht epub odg xps vsdx",
    IMAGE_FIX: "heic heif avif svg dcm jp2 psd",
    UNPACK_FIX: "7z rar zst cab iso",
    MACRO_FIX: "docm dotm xlsm xltm pptm",
    CONVERT_FIX: "jar war apk whl json jsonl xml yaml yml exe dll js sh py bat ps1 sql ps eps",
}
FIXES = {extension: fix for fix, extensions in _WITHOUT_PARSER.items() for extension in extensions.split()}

_KINDS: dict[str, Kind | None] = {known.name: known.kind for known in KNOWN}


def kind_of(name: str) -> Kind | None:
    """The parser family of a registered media type's name; None where there is no parser."""
    return _KINDS.get(name)
