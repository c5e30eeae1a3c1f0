"""The parser of each kind, imported in the worker that needs it."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from foundation.errors import UnsupportedFile
from foundation.settings import OcrSettings
from foundation.types import ParsedDocument, ParsedWorkbook
from pipelines.parsing.members import UnpackLimits

PARSERS = {
    "pdf": "pdf/3",
    "image": "image/1",
    "docx": "docx/2",
    "pptx": "pptx/1",
    "odt": "odt/1",
    "rtf": "rtf/1",
    "doc": "doc/1",
    "ppt": "ppt/1",
    "html": "html/2",
    "eml": "eml/2",
    "msg": "msg/2",
    "archive": "archive/1",
    "text": "text/2",
    "obo": "obo/1",
    "csv": "csv/2",
    "xlsx": "xlsx/3",
}
"""Each parser's own PARSER, here too so that nobody has to import a parser to know its version."""

MODULES = {"odt": "odf", "csv": "csv_file", "xlsx": "xlsx_file"}
"""The module of each kind that has another name."""

TABLES = ("csv", "xlsx")
HOLDERS = ("eml", "msg", "archive")
"""Kinds that hold files; their `parse(path, file_name, folder, limits)` writes those into `folder`."""
SCANS = ("pdf", "image")
"""Kinds whose pages may need OCR; their `parse(path, file_name, ocr)` takes its settings."""


def parse_document(
    path: Path,
    file_name: str,
    kind: str,
    folder: Path | None = None,
    limits: UnpackLimits | None = None,
    ocr: OcrSettings | None = None,
) -> ParsedDocument:
    """Text and elements of a document; the files inside it are written into `folder`, if there is one."""
    if kind not in PARSERS or kind in TABLES:
        raise UnsupportedFile(f"{file_name}: there is no parser for {kind}.")
    module = import_module(f"pipelines.parsing.{MODULES.get(kind, kind)}")
    more: tuple[Any, ...] = (folder, limits or UnpackLimits()) if kind in HOLDERS else ()
    more = (ocr,) if kind in SCANS else more
    parsed: ParsedDocument = module.parse(path, file_name, *more)
    return parsed


def parse_tables(path: Path, file_name: str, kind: str, folder: Path) -> ParsedWorkbook:
    """Typed Parquet files of a CSV file or a workbook, written into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    if kind == "csv":
        from pipelines.parsing.csv_file import parse_csv

        return parse_csv(path, file_name, folder)
    if kind == "xlsx":
        from pipelines.parsing.xlsx_file import parse_xlsx

        return parse_xlsx(path, file_name, folder)
    raise UnsupportedFile(f"{file_name}: there is no table parser for {kind}.")
