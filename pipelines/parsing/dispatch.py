"""The parser of each kind, imported in the worker that needs it."""

from __future__ import annotations

from pathlib import Path

from foundation.errors import UnsupportedFile
from foundation.types import ParsedDocument, ParsedWorkbook

PARSERS = {"pdf": "pdf/2", "docx": "docx/1", "text": "text/1", "csv": "csv/1", "xlsx": "xlsx/1"}
"""Each parser's own PARSER, here too so that nobody has to import a parser to know its version."""


def parse_document(path: Path, file_name: str, kind: str) -> ParsedDocument:
    """Text and elements of a PDF, DOCX or text file."""
    if kind == "pdf":
        from pipelines.parsing import pdf

        return pdf.parse(path, file_name)
    if kind == "docx":
        from pipelines.parsing import docx

        return docx.parse(path, file_name)
    if kind == "text":
        from pipelines.parsing import text

        return text.parse(path, file_name)
    raise UnsupportedFile(f"{file_name}: there is no parser for {kind}.")


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
