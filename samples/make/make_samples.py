"""Writes the samples that were made for Askline: the referral policy (DOCX) and the price list (XLSX).

Run from the repository's root; openpyxl writes the workbook as Excel would and is needed here only:
    uv run --with openpyxl==3.1.5 --with python-docx==1.2.0 python samples/make/make_samples.py
The same script gives the same bytes.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from pathlib import Path

import docx
from docx.document import Document
from openpyxl import Workbook
from openpyxl.styles import Font
from openpyxl.worksheet.worksheet import Worksheet
from policy_text import LIMITS, POLICY, SUBTITLE, TITLE
from price_rows import PRICES, SURCHARGES

SAMPLES = Path(__file__).parents[1]
_WRITTEN = datetime(2026, 3, 1, tzinfo=UTC)


def main() -> None:
    _save(SAMPLES / "referral_policy.docx", _policy())
    _save(SAMPLES / "clinic_price_list.xlsx", _price_list())


def _policy() -> Document:
    document = docx.Document()
    document.add_heading(TITLE, level=0)
    document.add_paragraph(SUBTITLE)
    for kind, text in POLICY:
        match kind:
            case "h1" | "h2":
                document.add_heading(text, level=int(kind[1]))
            case "bullet":
                document.add_paragraph(text, style="List Bullet")
            case "table":
                document.add_paragraph(text, style="Caption")
                _add_table(document, LIMITS)
            case _:
                document.add_paragraph(text)
    properties = document.core_properties
    properties.title, properties.author, properties.comments = TITLE, "Askline samples", ""
    properties.created = properties.modified = _WRITTEN
    return document


def _add_table(document: Document, rows: Sequence[Sequence[str]]) -> None:
    table = document.add_table(rows=len(rows), cols=len(rows[0]), style="Table Grid")
    for row, cells in zip(table.rows, rows, strict=True):
        for cell, text in zip(row.cells, cells, strict=True):
            cell.text = text
    document.add_paragraph()


def _price_list() -> Workbook:
    workbook = Workbook()
    sheet = workbook.active
    assert isinstance(sheet, Worksheet)
    sheet.title = "Procedure prices"
    _fill(sheet, PRICES, widths=(10, 46, 18, 14, 16, 16, 20, 14))
    _fill(workbook.create_sheet("Facility surcharges"), SURCHARGES, widths=(14, 30, 30, 16, 14, 40))
    workbook.properties.creator, workbook.properties.title = "Askline samples", "Price list 2026"
    workbook.properties.created = workbook.properties.modified = _WRITTEN.replace(tzinfo=None)
    return workbook


def _fill(sheet: Worksheet, rows: Iterable[Sequence[str | float | date]], widths: Sequence[int]) -> None:
    for row in rows:
        sheet.append(list(row))
    for cell in sheet[1]:
        cell.font = Font(bold=True)
    for column, width in zip("ABCDEFGH", widths, strict=False):
        sheet.column_dimensions[column].width = width
    for row in sheet.iter_rows(min_row=2):
        for cell in row:
            if isinstance(cell.value, date):
                cell.number_format = "yyyy-mm-dd"
            elif isinstance(cell.value, float):
                cell.number_format = "#,##0.00"
    sheet.freeze_panes = "A2"


def _save(path: Path, file: Document | Workbook) -> None:
    """Save with fixed times inside the archive, so that its hash, and with it the version's id, stays."""
    buffer = io.BytesIO()
    file.save(buffer)
    with zipfile.ZipFile(buffer) as source, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            content = source.read(name)
            if name == "docProps/core.xml":
                content = _with_fixed_time(content)
            target.writestr(zipfile.ZipInfo(name, (2026, 3, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED)


def _with_fixed_time(core: bytes) -> bytes:
    """openpyxl writes the time of saving over the one that was set."""
    start = core.find(b"<dcterms:modified")
    begin, end = core.find(b">", start) + 1, core.find(b"</dcterms:modified>")
    return core[:begin] + f"{_WRITTEN:%Y-%m-%dT%H:%M:%SZ}".encode() + core[end:]


if __name__ == "__main__":
    main()
