"""What the values of a workbook do not show: cells that hold an error, formulas that were never calculated, and numbers
that are shown with leading zeros: codes that were typed as numbers (ZIP codes, bank and patient numbers)."""

from __future__ import annotations

import posixpath
import re
import zipfile
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from defusedxml import ElementTree

_BLOCK = 1 << 20
_TAG = r"(?:\w+:)?"
# Neither part can run over the next `<c`, so that the search stays linear on broken XML.
_CELL = re.compile(
    rf"<{_TAG}c\s([^<>]*[^/<>])>([^<]*(?:<(?!/?{_TAG}c[\s>])[^<]*)*)</{_TAG}c>".encode(),
)
_REF = re.compile(rb"""\br=["']([A-Z]{1,3})([0-9]{1,7})["']""")
_ERROR = re.compile(rb"""\bt=["']e["']""")
_VALUE = re.compile(rf"<{_TAG}v[^>]*>([^<]+)</{_TAG}v>".encode())
_STYLE = re.compile(rb"""\bs=["']([0-9]+)["']""")
_STYLES = "xl/styles.xml"
_LITERAL = re.compile(r'\\(.)|"([^"]*)"')
_CODE = re.compile(r"[0 ()/-]+")
_FORMULA = re.compile(rf"<{_TAG}f[\s/>]".encode())


@dataclass(frozen=True, slots=True)
class Flaw:
    """`value` is the error (`#DIV/0!`), or None for a formula without a stored result."""

    cell: str
    row: int
    value: str | None


@dataclass(frozen=True, slots=True)
class CodeFormat:
    """A number format of zeros and separators, such as `00000` or `000-00-0000`: all digits are shown, always."""

    signs: str
    """`0` for a digit, else the sign itself."""

    def shown(self, number: float) -> str | None:
        """The text that the workbook shows; None for what is no whole number, or below zero."""
        if number < 0 or not float(number).is_integer():
            return None
        places = self.signs.count("0")
        digits = str(int(number)).zfill(places)
        more, rest = digits[: len(digits) - places], iter(digits[len(digits) - places :])
        text = "".join(next(rest) if sign == "0" else sign for sign in self.signs)
        first = self.signs.index("0")
        return text[:first] + more + text[first:]


Run = tuple[int, int, CodeFormat]
"""First and last row, from 0."""


class Codes:
    """The cells of a sheet that have such a format: by column, from 0, runs of rows in order."""

    def __init__(self, runs: dict[int, list[Run]]) -> None:
        self._runs = runs
        self._starts = {column: [run[0] for run in found] for column, found in runs.items()}
        self.columns = runs.keys()

    def format_of(self, row: int, column: int) -> CodeFormat | None:
        place = bisect_right(self._starts[column], row) - 1
        if place < 0:
            return None
        _, last, found = self._runs[column][place]
        return found if row <= last else None


def flaws_by_sheet(path: Path, sheets: Mapping[str, str]) -> dict[str, Iterator[Flaw]]:
    """Flawed cells by sheet name, read lazily from the sheet's XML; `sheets` as `sheet_parts` gives them."""
    return {name: _flaws(path, member) for name, member in sheets.items()}


def codes_by_sheet(path: Path, sheets: Mapping[str, str]) -> dict[str, Codes]:
    """Of the sheets of an XLSX archive that have such cells; a workbook without such a format costs one small part."""
    if not sheets:
        return {}
    with zipfile.ZipFile(path) as archive:
        formats = _code_formats(archive) if _STYLES in archive.namelist() else {}
        if not formats:
            return {}
        found = {}
        for name, member in sheets.items():
            with archive.open(member) as sheet:
                runs = _code_runs(sheet, formats)
            if runs:
                found[name] = Codes(runs)
        return found


def _code_runs(sheet: IO[bytes], formats: dict[bytes, CodeFormat]) -> dict[int, list[Run]]:
    runs: dict[int, list[Run]] = {}
    for attributes, _ in _cells(sheet):
        style = _STYLE.search(attributes)
        code = formats.get(style[1]) if style else None
        if code is None or not (reference := _REF.search(attributes)):
            continue
        row, column = int(reference[2]) - 1, _column(reference[1])
        of_column = runs.setdefault(column, [])
        if of_column and of_column[-1][1] == row - 1 and of_column[-1][2] == code:
            of_column[-1] = (of_column[-1][0], row, code)
        else:
            of_column.append((row, row, code))
    return runs


def _code_formats(archive: zipfile.ZipFile) -> dict[bytes, CodeFormat]:
    """By the number of a cell's style; ECMA-376 part 1, 18.8.30 (numFmt) and 18.8.10 (cellXfs)."""
    root = ElementTree.fromstring(archive.read(_STYLES))
    codes: dict[str, CodeFormat] = {}
    for node in root.iter():
        if node.tag.rpartition("}")[2] == "numFmt" and (signs := _signs(node.get("formatCode", ""))):
            codes[node.get("numFmtId", "")] = CodeFormat(signs)
    styles = next((node for node in root if node.tag.rpartition("}")[2] == "cellXfs"), ())
    ids = [style.get("numFmtId", "") for style in styles]
    return {str(number).encode(): codes[id_] for number, id_ in enumerate(ids) if id_ in codes}


def _signs(code: str) -> str | None:
    r"""`000-00-0000` of `000\-00\-0000`; None of what is not made of zeros, two at least, and separators."""
    positive = code.split(";")[0]
    if any("0" in literal.group() for literal in _LITERAL.finditer(positive)):
        return None  # a zero that is no digit of the number
    signs = _LITERAL.sub(lambda literal: literal[1] or literal[2] or "", positive)
    return signs if _CODE.fullmatch(signs) and signs.count("0") > 1 else None


def _column(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + letter - ord("A") + 1
    return number - 1


def sheet_parts(path: Path) -> dict[str, str]:
    """The part of each sheet that is there, by the sheet's name; empty for files that are no XLSX archive."""
    if not zipfile.is_zipfile(path):
        return {}
    with zipfile.ZipFile(path) as archive:
        if "xl/workbook.xml" not in archive.namelist():
            return {}
        present = set(archive.namelist())
        return {name: member for name, member in _sheet_members(archive) if member in present}


def _sheet_members(archive: zipfile.ZipFile) -> Iterator[tuple[str, str]]:
    relations = ElementTree.fromstring(archive.read("xl/_rels/workbook.xml.rels"))
    targets = {node.get("Id"): node.get("Target", "") for node in relations}
    for node in ElementTree.fromstring(archive.read("xl/workbook.xml")).iter():
        if node.tag.rpartition("}")[2] == "sheet":
            # The namespace of r:id differs between the transitional and the strict format.
            identity = next((value for key, value in node.attrib.items() if key.endswith("}id")), None)
            yield node.get("name", ""), posixpath.normpath(posixpath.join("/xl", targets.get(identity, ""))).lstrip("/")


def _flaws(path: Path, member: str) -> Iterator[Flaw]:
    with zipfile.ZipFile(path) as archive, archive.open(member) as sheet:
        for attributes, content in _cells(sheet):
            value = _VALUE.search(content)
            is_error = bool(_ERROR.search(attributes))
            if not is_error and (value or not _FORMULA.search(content)):
                continue
            if reference := _REF.search(attributes):
                cell = (reference[1] + reference[2]).decode()
                error = value[1].decode(errors="replace") if is_error and value else None
                yield Flaw(cell, int(reference[2]), error)


def _cells(sheet: IO[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """(attributes, content) of every cell, in blocks; cells without content are passed over."""
    rest = b""
    while block := sheet.read(_BLOCK):
        text, end = rest + block, 0
        for cell in _CELL.finditer(text):
            end = cell.end()
            yield cell[1], cell[2]
        rest = text[end:][-_BLOCK:]
