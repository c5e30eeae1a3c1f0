"""Word documents in body order: headings, paragraphs, lists, tables, text boxes, notes, headers and footers."""

from __future__ import annotations

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
from pipelines.parsing.assembly import Assembly, Kind
from pipelines.parsing.docx_numbering import Numbering
from pipelines.parsing.docx_styles import Styles, is_on, local_name, w
from pipelines.parsing.docx_text import TextReader
from pipelines.parsing.office_charts import chart_text, diagram_text
from pipelines.parsing.office_pictures import NO_TEXT_FIX, picture_warnings
from pipelines.parsing.office_xml import check_office_file, malformed_named, transitional
from pipelines.parsing.table_lines import ABOVE, LEFT, Row, table_text

PARSER = "docx/2"

_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_MOST_COLUMNS = 64


def parse(path: Path, file_name: str) -> ParsedDocument:
    """Parse a DOCX. Hidden text and tracked deletions are left out, insertions kept; nothing outside is fetched.

    Raises EmptyFile, EncryptedFile, DamagedFile, ResourceLimit (a ZIP bomb) and NoContent.
    """
    check_office_file(path, file_name)
    with malformed_named(path, file_name):
        document = _open(path, file_name)
        reader = _Reader(document)
        reader.read()
    if not reader.assembly.elements:
        raise NoContent(f"{file_name} opens but holds no text.", fix=NO_TEXT_FIX)
    text = reader.assembly.text()
    titles = (text[e.start : e.end] for e in reader.assembly.elements if e.kind == "title" and e.level == 1)
    title = (document.core_properties.title or "").strip()
    warnings = picture_warnings(path, file_name)
    if document.element.body.xpath(".//w:altChunk"):
        message = f"{file_name} embeds another document (altChunk), which was not read."
        warnings.append(FileWarning("embedded_not_read", message))
    return ParsedDocument(text, reader.assembly.elements, PARSER, title=title or next(titles, None), warnings=warnings)


def _open(path: Path, file_name: str) -> Document:
    try:
        return docx.Document(transitional(path))
    except (KeyError, ValueError, PackageNotFoundError) as error:
        raise DamagedFile(f"{file_name} is no Word document: parts that every one has are missing.") from error


class _Reader:
    def __init__(self, document: Document) -> None:
        self._document = document
        self._styles = Styles(document.styles.element)
        self._text = TextReader(self._styles)
        numbering = next(self._related(RELATIONSHIP_TYPE.NUMBERING), None)
        self._numbering = Numbering(numbering, self._styles)
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
        label = self._numbering.label(paragraph)  # Word counts empty paragraphs too
        if text:
            level = self._styles.heading_level(paragraph)
            shown = text if not label or text.startswith(label) else f"{label} {text}"
            if level is not None:
                yield "title", " ".join(shown.split()), level
            else:
                yield "list_item" if self._styles.is_list_item(paragraph) else "paragraph", shown, None
        for box in self._text.text_boxes(paragraph):
            yield from self._pieces(box)
        yield from self._graphics(paragraph)

    def _graphics(self, paragraph: Any) -> Iterator[tuple[Kind, str, int | None]]:
        """Charts and diagrams, whose data lies in parts of their own."""
        for element in paragraph.iter("{*}chart", "{*}relIds"):
            name = "id" if local_name(element) == "chart" else "dm"
            relation = self._document.part.rels.get(element.get(_RELATION + name, ""))
            if relation is None or relation.is_external:
                continue
            if name == "dm":
                yield from (("paragraph", text, None) for text in diagram_text(relation.target_part.blob))
            elif text := chart_text(relation.target_part.blob):
                yield "table", text, None

    def _table(self, table: Any) -> Iterator[tuple[Kind, str, int | None]]:
        cells = [cell for row in _children(table, "tr") for cell in _cells(row)]
        if len(cells) == 1:
            # A frame around text, not a table.
            yield from self._pieces(cells[0])
        elif text := self._table_text(table):
            yield "table", text, None

    def _table_text(self, table: Any) -> str:
        rows = list(_children(table, "tr"))
        marked = 0
        while marked < len(rows) and _is_marked(rows[marked]):
            marked += 1
        bold = len(rows) > 1 and self._is_bold(table, rows[0]) and not _all_bold(rows[1])
        return table_text(self._rows(rows), marked, bold=bold)

    def _is_bold(self, table: Any, row: Any) -> bool:
        look = table.find(f"{w('tblPr')}/{w('tblLook')}")
        style = table.find(f"{w('tblPr')}/{w('tblStyle')}")
        if look is not None and style is not None and look.get(w("firstRow"), "0") in ("1", "true", "on"):
            return _all_bold(row) or self._styles.sets_first_row_apart(style.get(w("val")))
        return _all_bold(row)

    def _rows(self, rows: list[Any]) -> list[Row]:
        """Cell texts by row; a nested table's lines follow the row that it stands in."""
        result: list[Row] = []
        above: dict[int, str] = {}
        for row in rows:
            cells = [""] * min(_number(row.find(f"{w('trPr')}/{w('gridBefore')}"), 0), _MOST_COLUMNS)
            nested: list[str] = []
            for cell in _cells(row):
                properties = cell.find(w("tcPr"))
                merge = properties.find(w("vMerge")) if properties is not None else None
                span = _number(properties.find(w("gridSpan")), 1) if properties is not None else 1
                text = self._cell(cell, nested)
                if merge is not None and merge.get(w("val"), "continue") == "continue":
                    # Programs that write tables repeat the first cell's text here; text of its own is not lost.
                    text = ABOVE if text in ("", above.get(len(cells))) else text
                else:
                    above[len(cells)] = text
                cells += [text, *[LEFT] * (min(span, _MOST_COLUMNS) - 1)]
            result += [cells, *nested]
        return result

    def _cell(self, cell: Any, nested: list[str]) -> str:
        texts = []
        for child in cell:
            if local_name(child) == "tbl":
                nested.append(self._table_text(child))
            else:
                texts += [text for _, text, _ in self._pieces([child])]
        return " ".join(texts)


def _children(parent: Any, name: str) -> Iterator[Any]:
    """Children of that name, content controls and insertions looked through, deleted rows left out."""
    for child in parent:
        if local_name(child) == name:
            if name != "tr" or child.find(f"{w('trPr')}/{w('del')}") is None:
                yield child
        elif local_name(child) in ("sdt", "sdtContent", "ins", "customXml"):
            yield from _children(child, name)


def _cells(row: Any) -> list[Any]:
    return list(_children(row, "tc"))


def _is_marked(row: Any) -> bool:
    """Whether the file says that the row is repeated as header on each page."""
    mark = row.find(f"{w('trPr')}/{w('tblHeader')}")
    return mark is not None and is_on(mark)


def _all_bold(row: Any) -> bool:
    """Whether every run with text is bold by its own properties."""
    runs = [run for run in row.iter(w("r")) if any((t.text or "").strip() for t in run.findall(w("t")))]
    marks = [run.find(f"{w('rPr')}/{w('b')}") for run in runs]
    return bool(marks) and all(mark is not None and is_on(mark) for mark in marks)


def _number(element: Any, default: int) -> int:
    value = element.get(w("val"), "") if element is not None else ""
    return int(value) if value.isdigit() else default
