"""What the values of a workbook do not show: cells that hold an error, and formulas that were never calculated."""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterator
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
_FORMULA = re.compile(rf"<{_TAG}f[\s/>]".encode())


@dataclass(frozen=True, slots=True)
class Flaw:
    """`value` is the error (`#DIV/0!`), or None for a formula without a stored result."""

    cell: str
    row: int
    value: str | None


def flaws_by_sheet(path: Path) -> dict[str, Iterator[Flaw]]:
    """Flawed cells by sheet name, read lazily from the sheet's XML; empty for files that are no XLSX archive."""
    if not zipfile.is_zipfile(path):
        return {}
    with zipfile.ZipFile(path) as archive:
        if "xl/workbook.xml" not in archive.namelist():
            return {}
        members = dict(_sheet_members(archive))
        present = set(archive.namelist())
    return {name: _flaws(path, member) for name, member in members.items() if member in present}


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
