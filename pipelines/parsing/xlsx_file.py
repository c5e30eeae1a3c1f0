"""Workbooks (XLSX, XLS, XLSB, ODS): every block of cells of every sheet is a typed table. Values, never formulas."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from xml.etree.ElementTree import ParseError

import python_calamine as calamine
from defusedxml import DefusedXmlException

from foundation.errors import DamagedFile, EmptyFile, EncryptedFile
from foundation.types import ParsedTable, ParsedWorkbook
from pipelines.parsing.archive_guard import check_archive
from pipelines.parsing.sheet_tables import Sheet, read_sheet
from pipelines.parsing.warning_list import WarningList
from pipelines.parsing.xlsx_cells import Flaw, codes_by_sheet, flaws_by_sheet, sheet_parts

PARSER = "xlsx/3"

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_DAMAGE = (
    calamine.CalamineError,
    zipfile.BadZipFile,
    zlib.error,
    ParseError,
    DefusedXmlException,
    UnicodeDecodeError,
    KeyError,
    EOFError,
)
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")


def parse_xlsx(
    path: str | Path,
    file_name: str,
    out_folder: str | Path,
    *,
    max_ratio: int = 100,
    max_bytes: int = 1_000_000_000,
) -> ParsedWorkbook:
    """Write the tables of every sheet to `out_folder`, hidden sheets too (with a warning).

    Rows and columns without a value are left out; rows above the header become the table's label; text beside the
    tables is a table of notes. Numbers that an XLSX shows with leading zeros are texts as shown. Error cells and
    formulas that were never calculated are null, with a warning. EncryptedFile, DamagedFile; EmptyFile when no sheet
    has a cell; ResourceLimit when the archive unpacks to more than `max_bytes` or `max_ratio` times its size.
    """
    path = Path(path)
    if path.stat().st_size == 0:
        raise EmptyFile(f"{file_name} is empty (0 bytes).")
    _check_container(path, file_name, max_ratio=max_ratio, max_bytes=max_bytes)
    warnings = WarningList()
    try:
        tables = _tables(path, file_name, Path(out_folder), warnings)
    except calamine.PasswordError as error:
        raise EncryptedFile(f"{file_name} is protected by a password.") from error
    except _DAMAGE as error:
        raise DamagedFile(f"{file_name} cannot be read as a workbook: {error}") from error
    except BaseException as error:
        # A panic in calamine's Rust code is no Exception, and its class cannot be imported.
        if type(error).__name__ != "PanicException":
            raise
        raise DamagedFile(f"{file_name} cannot be read as a workbook: {error}") from error
    if not tables:
        raise EmptyFile(f"{file_name} has no sheet with a value.")
    return ParsedWorkbook(tables, PARSER, warnings.all())


def _tables(path: Path, file_name: str, out_folder: Path, warnings: WarningList) -> list[ParsedTable]:
    tables: list[ParsedTable] = []
    sheets = sheet_parts(path)
    flaws, codes = flaws_by_sheet(path, sheets), codes_by_sheet(path, sheets)
    with calamine.CalamineWorkbook.from_path(path) as workbook:
        for place, about in enumerate(workbook.sheets_metadata):
            if about.typ is not calamine.SheetTypeEnum.WorkSheet:
                continue
            sheet = Sheet(
                workbook.get_sheet_by_index(place), typed_errors=about.name in flaws, codes=codes.get(about.name)
            )
            source = f"{file_name}, sheet '{about.name}'"
            found = read_sheet(sheet, len(tables), source, out_folder, warnings)
            tables += found
            if found and about.visible is not calamine.SheetVisibleEnum.Visible:
                message = f"Sheet '{about.name}' is hidden in the workbook; it was read like the others."
                warnings.add("hidden_sheet", message, sheet=about.name)
            _report_flaws(flaws.get(about.name, ()), about.name, warnings)
    return tables


def _check_container(path: Path, file_name: str, *, max_ratio: int, max_bytes: int) -> None:
    with path.open("rb") as file:
        magic = file.read(8)
    if magic == _OLE:
        # An encrypted XLSX is an OLE container too; calamine tells it from an XLS only by the file's extension.
        if _ENCRYPTED in path.read_bytes():
            raise EncryptedFile(f"{file_name} is protected by a password.")
        return
    check_archive(path, file_name, max_ratio=max_ratio, max_bytes=max_bytes)


def _report_flaws(flaws: Iterable[Flaw], sheet: str, warnings: WarningList) -> None:
    for flaw in flaws:
        if flaw.value is None:
            message = f"Cell {flaw.cell} has a formula without a stored result; it was read as empty."
            warnings.add("formula_without_value", message, sheet=sheet, row=flaw.row)
        else:
            warnings.add(
                "error_cell", f"Cell {flaw.cell} holds {flaw.value}; it was read as empty.", sheet=sheet, row=flaw.row
            )
