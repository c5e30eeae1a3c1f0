"""OpenDocument texts and presentations: headings, paragraphs, lists, tables, notes, text boxes, headers and footers.

The tree is walked as lxml gives it: the library for it, odfdo, hands out the same elements.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lxml import etree

from foundation.errors import DamagedFile, EncryptedFile, NoContent
from foundation.types import ParsedDocument
from pipelines.parsing.assembly import Assembly, Kind
from pipelines.parsing.odf_styles import OdfStyles
from pipelines.parsing.odf_text import SKIPPED, boxes_of, line_of, notes_of, q
from pipelines.parsing.office_pictures import NO_TEXT_FIX, picture_warnings
from pipelines.parsing.office_xml import check_office_file, malformed_named
from pipelines.parsing.table_lines import ABOVE, LEFT, Row, table_text

PARSER = "odt/1"

_PARTS = ("content.xml", "styles.xml", "meta.xml")
_MOST_REPEATS = 200
Piece = tuple[Kind, str, int | None]


def parse(path: Path, file_name: str) -> ParsedDocument:
    """Parse an ODT or ODP. Tracked deletions and hidden text are left out.

    Raises EmptyFile, EncryptedFile, DamagedFile, ResourceLimit (a ZIP bomb) and NoContent.
    """
    check_office_file(path, file_name, _PARTS, _not_encrypted)
    with malformed_named(path, file_name):
        content, styles, title = _read(path, file_name)
    reader = _Reader(OdfStyles(content, styles))
    for kind in ("text", "presentation", "drawing"):
        for body in content.iter(q("office", kind)):
            reader.read(body, styles)
    assembly = reader.assembly
    if not assembly.elements:
        raise NoContent(f"{file_name} opens but holds no text.", fix=NO_TEXT_FIX)
    text = assembly.text()
    first = next((text[e.start : e.end] for e in assembly.elements if e.kind == "title" and e.level == 1), None)
    pages = reader.pages or None
    warnings = picture_warnings(path, file_name)
    return ParsedDocument(text, assembly.elements, PARSER, page_count=pages, title=title or first, warnings=warnings)


def _not_encrypted(archive: zipfile.ZipFile, file_name: str) -> None:
    if "META-INF/manifest.xml" in archive.namelist() and b"encryption-data" in archive.read("META-INF/manifest.xml"):
        raise EncryptedFile(f"{file_name} is protected by a password.")


def _read(path: Path, file_name: str) -> tuple[Any, Any, str]:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True)
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        if "content.xml" not in names:
            raise DamagedFile(f"{file_name} is no OpenDocument file: content.xml is missing.")
        content = etree.fromstring(archive.read("content.xml"), parser)
        styles = etree.fromstring(archive.read("styles.xml"), parser) if "styles.xml" in names else None
        meta = etree.fromstring(archive.read("meta.xml"), parser) if "meta.xml" in names else None
    title = meta.find(f".//{q('dc', 'title')}") if meta is not None else None
    return content, styles, (title.text or "").strip() if title is not None else ""


class _Reader:
    def __init__(self, styles: OdfStyles) -> None:
        self._styles = styles
        self._notes: list[Piece] = []
        self.assembly = Assembly()
        self.pages = 0

    def read(self, body: Any, styles: Any) -> None:
        for kind, text in self._margins(styles, "header"):
            self.assembly.add(kind, text)
        for child in body:
            if child.tag == q("draw", "page"):
                self._page(child)
            else:
                self._add(self._block(child))
        self._add(self._notes)
        for kind, text in self._margins(styles, "footer"):
            self.assembly.add(kind, text)

    def _add(self, pieces: Any, page: int | None = None) -> None:
        for kind, text, level in pieces:
            self.assembly.add(kind, text, page=page, level=level)

    def _margins(self, styles: Any, kind: Kind) -> Iterator[tuple[Kind, str]]:
        """Each different header or footer of the master pages once."""
        seen: set[str] = set()
        names = {q("style", f"{kind}{which}") for which in ("", "-left", "-first")}
        for element in styles.iter(*names) if styles is not None else ():
            text = "\n".join(text for _, text, _ in self._blocks(element)).strip()
            if text and text not in seen and element.get(q("style", "display")) != "false":
                seen.add(text)
                yield kind, text

    def _page(self, page: Any) -> None:
        self.pages += 1
        frames = sorted(page, key=lambda frame: frame.get(q("presentation", "class")) != "title")
        for frame in frames:
            if frame.tag == q("presentation", "notes"):
                continue
            is_title = frame.get(q("presentation", "class")) == "title"
            pieces = list(self._blocks(frame) if frame.tag == q("draw", "g") else self._frame(frame))
            if is_title and pieces:
                title = " ".join(" ".join(text for _, text, _ in pieces).split())
                pieces = [("title", title, 1)]
            self._add(pieces, self.pages)
        for notes in page.findall(q("presentation", "notes")):
            for frame in notes:
                self._add(self._frame(frame), self.pages)
        self._add(self._notes, self.pages)
        self._notes = []

    def _blocks(self, container: Any) -> Iterator[Piece]:
        for child in container:
            yield from self._block(child)

    def _block(self, element: Any, label: str = "") -> Iterator[Piece]:
        match element.tag:
            case tag if tag in (q("text", "p"), q("text", "h")):
                yield from self._paragraph(element, label)
            case tag if tag == q("text", "list"):
                yield from self._list(element, self._styles.counter(element, None))
            case tag if tag == q("table", "table"):
                if text := self._table(element):
                    yield "table", text, None
            case tag if tag in SKIPPED:
                return
            case tag if isinstance(tag, str) and tag.startswith(q("draw", "")):
                yield from self._frame(element)
            case tag if isinstance(tag, str):  # sections, indexes, groups of rows
                if not self._styles.is_hidden_section(element):
                    yield from self._blocks(element)

    def _paragraph(self, element: Any, label: str = "") -> Iterator[Piece]:
        text = "" if self._styles.is_hidden(element) else line_of(element, self._styles)
        if text:
            shown = f"{label} {text}" if label else text
            if element.tag == q("text", "h"):
                level = element.get(q("text", "outline-level"), "1")
                yield "title", " ".join(shown.split()), max(1, int(level)) if level.isdigit() else 1
            else:
                level = self._styles.heading_level(element)
                yield "title" if level else "paragraph", shown, level
        for note in notes_of(element):
            self._notes += self._blocks(note)
        for box in boxes_of(element):
            yield from self._frame(box)

    def _list(self, element: Any, counter: Any) -> Iterator[Piece]:
        for item in element:
            if item.tag not in (q("text", "list-item"), q("text", "list-header")):
                continue
            label = counter.next(item) if item.tag == q("text", "list-item") else ""
            for child in item:
                if child.tag == q("text", "list"):
                    yield from self._list(child, self._styles.counter(child, counter))
                    continue
                for kind, text, level in self._block(child, label):
                    yield "list_item" if kind == "paragraph" else kind, text, level
                label = ""

    def _frame(self, frame: Any) -> Iterator[Piece]:
        """A text box, a table or the words on a shape; a shape's own paragraphs are its children."""
        for child in frame:
            if child.tag == q("draw", "text-box"):
                yield from self._blocks(child)
            elif child.tag in (q("text", "p"), q("text", "list"), q("table", "table"), q("text", "h")):
                yield from self._block(child)
            elif isinstance(child.tag, str) and child.tag.startswith(q("draw", "")) and child.tag not in SKIPPED:
                yield from self._frame(child)

    def _table(self, table: Any) -> str:
        rows: list[Row] = []
        header = 0
        above: dict[int, int] = {}
        for row, marked in _rows(table):
            cells, nested = self._row(row, above)
            if not any(cell not in ("", ABOVE, LEFT) for cell in cells) and not nested:
                continue
            header += marked and header == len(rows)
            rows += [cells, *nested]
        if len(rows) == 1 and isinstance(rows[0], list) and len(rows[0]) == 1:
            return rows[0][0]
        return table_text(rows, header)

    def _row(self, row: Any, above: dict[int, int]) -> tuple[list[str], list[str]]:
        cells: list[str] = []
        nested: list[str] = []
        for cell in row:
            if cell.tag not in (q("table", "table-cell"), q("table", "covered-table-cell")):
                continue
            repeats = min(_number(cell, "number-columns-repeated"), _MOST_REPEATS)
            if cell.tag == q("table", "covered-table-cell"):
                for _ in range(repeats):
                    reach = above.get(len(cells), 0)
                    above[len(cells)] = max(reach - 1, 0)
                    cells.append(ABOVE if reach > 0 else LEFT)
                continue
            text = self._cell(cell, nested)
            for i in range(min(_number(cell, "number-columns-spanned"), _MOST_REPEATS)):
                if i == 0:
                    above[len(cells)] = _number(cell, "number-rows-spanned") - 1
            cells += [text] * repeats
        while cells and not cells[-1]:
            cells.pop()
        return cells, nested

    def _cell(self, cell: Any, nested: list[str]) -> str:
        texts = []
        for child in cell:
            if child.tag == q("table", "table"):
                nested.append(self._table(child))
            else:
                texts += [text for _, text, _ in self._block(child)]
        return " ".join(texts)


def _rows(table: Any) -> Iterator[tuple[Any, bool]]:
    """(row, whether it is marked as header), groups of rows opened."""
    for child in table:
        if child.tag == q("table", "table-row"):
            yield child, False
        elif child.tag == q("table", "table-header-rows"):
            yield from ((row, True) for row in child.iterfind(q("table", "table-row")))
        elif child.tag in (q("table", "table-rows"), q("table", "table-row-group")):
            yield from _rows(child)


def _number(element: Any, name: str) -> int:
    value = element.get(q("table", name), "1")
    return max(int(value), 1) if value.isascii() and value.isdigit() and len(value) < 8 else 1
