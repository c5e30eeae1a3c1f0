"""Word documents in body order: headings, paragraphs, lists, tables, text boxes, notes, headers and footers."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docx
from docx.document import Document
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.opc.exceptions import PackageNotFoundError
from docx.oxml import parse_xml

from foundation.errors import DamagedFile, NoContent
from foundation.types import FileWarning, ParsedDocument
from pipelines.parsing.assembly import Assembly, Kind, table_text
from pipelines.parsing.docx_styles import Styles, local_name, w
from pipelines.parsing.docx_text import TextReader
from pipelines.parsing.office_xml import check_office_file

PARSER = "docx/1"

# ISO 29500 Strict has namespaces of its own for the same elements; python-docx knows the transitional ones.
_STRICT = b"http://purl.oclc.org/ooxml/"
_TRANSITIONAL = (
    (b"http://purl.oclc.org/ooxml/officeDocument/math", b"http://schemas.openxmlformats.org/officeDocument/2006/math"),
    (
        b"http://purl.oclc.org/ooxml/officeDocument/relationships",
        b"http://schemas.openxmlformats.org/officeDocument/2006/relationships",
    ),
    (
        b"http://purl.oclc.org/ooxml/wordprocessingml/main",
        b"http://schemas.openxmlformats.org/wordprocessingml/2006/main",
    ),
    (b"http://purl.oclc.org/ooxml/drawingml/", b"http://schemas.openxmlformats.org/drawingml/2006/"),
)


def parse(path: Path, file_name: str) -> ParsedDocument:
    """Parse a DOCX. Hidden text and tracked deletions are left out, insertions kept; nothing outside is fetched.

    Raises EmptyFile, EncryptedFile, DamagedFile, ResourceLimit (a ZIP bomb) and NoContent.
    """
    check_office_file(path, file_name)
    document = _open(path, file_name)
    reader = _Reader(document)
    reader.read()
    if not reader.assembly.elements:
        raise NoContent(f"{file_name} opens but holds no text.", fix="Upload a file that has text, not only images.")
    text = reader.assembly.text()
    titles = (text[e.start : e.end] for e in reader.assembly.elements if e.kind == "title" and e.level == 1)
    title = (document.core_properties.title or "").strip()
    warnings = []
    if document.element.body.xpath(".//w:altChunk"):
        message = f"{file_name} embeds another document (altChunk), which was not read."
        warnings.append(FileWarning("embedded_not_read", message))
    return ParsedDocument(text, reader.assembly.elements, PARSER, title=title or next(titles, None), warnings=warnings)


def _open(path: Path, file_name: str) -> Document:
    try:
        source = _transitional(path)
        return docx.Document(source if source is not None else str(path))
    except (KeyError, ValueError, PackageNotFoundError) as error:
        raise DamagedFile(f"{file_name} is no Word document: parts that every one has are missing.") from error


def _transitional(path: Path) -> io.BytesIO | None:
    """A copy of a Strict document in the transitional namespaces; None for a transitional one."""
    with zipfile.ZipFile(path) as archive:
        if _STRICT not in archive.read("_rels/.rels"):
            return None
        copy = io.BytesIO()
        with zipfile.ZipFile(copy, "w", zipfile.ZIP_DEFLATED) as target:
            for entry in archive.infolist():
                data = archive.read(entry)
                if entry.filename.endswith((".xml", ".rels")):
                    for strict, transitional in _TRANSITIONAL:
                        data = data.replace(strict, transitional)
                target.writestr(entry.filename, data)
    copy.seek(0)
    return copy


class _Reader:
    def __init__(self, document: Document) -> None:
        self._document = document
        self._styles = Styles(document.styles.element)
        self._text = TextReader(self._styles)
        self.assembly = Assembly()

    def read(self) -> None:
        self._margin("header")
        self._blocks(self._document.element.body)
        for kind in (RELATIONSHIP_TYPE.FOOTNOTES, RELATIONSHIP_TYPE.ENDNOTES):
            for notes in self._related(kind):
                for note in notes:
                    # Types other than a plain note are the rulers above the notes.
                    if note.get(w("type")) is None:
                        self._blocks(note)
        self._margin("footer")

    def _related(self, kind: str) -> Iterator[Any]:
        for relation in self._document.part.rels.values():
            if relation.reltype == kind and not relation.is_external:
                yield parse_xml(relation.target_part.blob)

    def _margin(self, kind: Kind) -> None:
        """Each different header or footer of the sections once."""
        seen: set[str] = set()
        for section in self._document.sections:
            for name in (kind, f"first_page_{kind}", f"even_page_{kind}"):
                part = getattr(section, name)
                if part.is_linked_to_previous:
                    continue
                lines = [text for _, text, _ in self._pieces(part._element)]
                text = "\n".join(lines).strip()
                if text and text not in seen:
                    seen.add(text)
                    self.assembly.add(kind, text)

    def _blocks(self, container: Any) -> None:
        for kind, text, level in self._pieces(container):
            self.assembly.add(kind, text, level=level)

    def _pieces(self, container: Any) -> Iterator[tuple[Kind, str, int | None]]:
        """(kind, text, level) of what stands in a body, cell, text box, note, header or footer, in its order."""
        for child in container:
            match local_name(child):
                case "p":
                    yield from self._paragraph(child)
                case "tbl":
                    yield from self._table(child)
                case "sdt":
                    for content in child.findall(w("sdtContent")):
                        yield from self._pieces(content)
                case "ins" | "moveTo" | "customXml" | "smartTag":
                    yield from self._pieces(child)

    def _paragraph(self, paragraph: Any) -> Iterator[tuple[Kind, str, int | None]]:
        text = self._text.paragraph(paragraph)
        if text:
            level = self._styles.heading_level(paragraph)
            if level is not None:
                yield "title", " ".join(text.split()), level
            else:
                yield "list_item" if self._styles.is_list_item(paragraph) else "paragraph", text, None
        for box in self._text.text_boxes(paragraph):
            yield from self._pieces(box)

    def _table(self, table: Any) -> Iterator[tuple[Kind, str, int | None]]:
        rows = table.findall(w("tr"))
        cells = [cell for row in rows for cell in _cells(row)]
        if len(cells) == 1:
            # A frame around text, not a table.
            yield from self._pieces(cells[0])
        elif text := table_text(self._rows(table)):
            yield "table", text, None

    def _rows(self, table: Any) -> list[list[str]]:
        """Cell texts by row; a merged cell stands once, where it begins. A nested table's rows follow its row."""
        result: list[list[str]] = []
        above: dict[int, str] = {}
        for row in _children(table, "tr"):
            cells = [""] * _number(row.find(f"{w('trPr')}/{w('gridBefore')}"), 0)
            nested: list[list[str]] = []
            for cell in _cells(row):
                properties = cell.find(w("tcPr"))
                merge = properties.find(w("vMerge")) if properties is not None else None
                span = _number(properties.find(w("gridSpan")), 1) if properties is not None else 1
                text = self._cell(cell, nested)
                if merge is not None and merge.get(w("val"), "continue") == "continue":
                    # Programs that write tables repeat the first cell's text here; text of its own is not lost.
                    text = "" if text == above.get(len(cells)) else text
                else:
                    above[len(cells)] = text
                cells += [text, *[""] * (min(span, 64) - 1)]
            result += [cells, *nested]
        return result

    def _cell(self, cell: Any, nested: list[list[str]]) -> str:
        texts = []
        for child in cell:
            if local_name(child) == "tbl":
                nested += self._rows(child)
            else:
                texts += [text for _, text, _ in self._pieces([child])]
        return " ".join(texts)


def _children(parent: Any, name: str) -> Iterator[Any]:
    """Children of that name, content controls and insertions looked through."""
    for child in parent:
        if local_name(child) == name:
            yield child
        elif local_name(child) in ("sdt", "sdtContent", "ins", "customXml"):
            yield from _children(child, name)


def _cells(row: Any) -> list[Any]:
    return list(_children(row, "tc"))


def _number(element: Any, default: int) -> int:
    value = element.get(w("val"), "") if element is not None else ""
    return int(value) if value.isdigit() else default
