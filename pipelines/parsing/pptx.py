"""PowerPoint presentations: slide by slide titles, texts, tables, charts and diagrams, then the speaker's notes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pptx
from pptx.enum.shapes import PP_PLACEHOLDER
from pptx.exc import PackageNotFoundError
from pptx.presentation import Presentation
from pptx.slide import Slide

from foundation.errors import DamagedFile, NoContent
from foundation.types import FileWarning, ParsedDocument
from pipelines.parsing.assembly import Assembly, Kind, clean
from pipelines.parsing.office_charts import chart_text, diagram_text
from pipelines.parsing.office_pictures import NO_TEXT_FIX, picture_warnings
from pipelines.parsing.office_xml import check_office_file, malformed_named, transitional
from pipelines.parsing.table_lines import ABOVE, LEFT, Row, table_text

PARSER = "pptx/1"

_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_DIAGRAM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}relIds"
_TITLES = (PP_PLACEHOLDER.TITLE, PP_PLACEHOLDER.CENTER_TITLE, PP_PLACEHOLDER.VERTICAL_TITLE)
_COUNTED = (PP_PLACEHOLDER.SLIDE_NUMBER, PP_PLACEHOLDER.DATE)
Piece = tuple[Kind, str, int | None]


def parse(path: Path, file_name: str) -> ParsedDocument:
    """Parse a PPTX; a slide is a page. Raises EmptyFile, EncryptedFile, DamagedFile, ResourceLimit and NoContent."""
    check_office_file(path, file_name)
    with malformed_named(path, file_name):
        return read_presentation(path, file_name, PARSER)


def read_presentation(path: Path, file_name: str, parser: str) -> ParsedDocument:
    """The same for a file that is known to be safe."""
    try:
        presentation: Presentation = pptx.Presentation(transitional(path))
        slides = list(presentation.slides)
    except (KeyError, ValueError, AttributeError, PackageNotFoundError) as error:
        raise DamagedFile(f"{file_name} is no PowerPoint file: parts that every one has are missing.") from error
    assembly, warnings = Assembly(), picture_warnings(path, file_name)
    footers: set[str] = set()
    for number, slide in enumerate(slides, 1):
        if slide._element.get("show") in ("0", "false"):
            message = f"{file_name}: slide {number} is hidden; it was read like the others."
            warnings.append(FileWarning("hidden_slide", message, page=number))
        for kind, text, level in _pieces(slide):
            if kind == "footer" and text in footers:
                continue
            footers |= {text} if kind == "footer" else set()
            assembly.add(kind, text, page=number, level=level)
    if not assembly.elements:
        raise NoContent(f"{file_name} opens but holds no text.", fix=NO_TEXT_FIX)
    text = assembly.text()
    first = next((text[e.start : e.end] for e in assembly.elements if e.kind == "title"), None)
    title = (presentation.core_properties.title or "").strip()
    # PowerPoint's own name for a presentation that nobody named.
    named = title if title and title != "PowerPoint Presentation" else None
    return ParsedDocument(
        text, assembly.elements, parser, page_count=len(slides), title=named or first, warnings=warnings
    )


def _pieces(slide: Slide) -> Iterator[Piece]:
    shapes = list(_flat(slide.shapes))
    for shape in sorted(shapes, key=lambda shape: not _is_title(shape)):  # stable: the others stay in their order
        if shape._element.xpath(".//p:cNvPr")[0].get("hidden") not in ("1", "true"):
            yield from _shape(shape)
    frame = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
    if frame is not None and (notes := _frame_text(frame)):
        yield "paragraph", notes, None


def _flat(shapes: Any) -> Iterator[Any]:
    """Shapes in the order in which they are drawn, groups opened, however deep."""
    stack = list(reversed(list(shapes)))
    while stack:
        shape = stack.pop()
        inner = getattr(shape, "shapes", None)
        if inner is None:
            yield shape
        else:
            stack.extend(reversed(list(inner)))


def _placeholder(shape: Any) -> Any:
    return shape.placeholder_format.type if shape.is_placeholder else None


def _is_title(shape: Any) -> bool:
    return _placeholder(shape) in _TITLES


def _shape(shape: Any) -> Iterator[Piece]:
    kind = _placeholder(shape)
    if kind in _COUNTED:
        return
    if shape.has_text_frame:
        text = _frame_text(shape.text_frame)
        if not text:
            return
        if kind in _TITLES:
            yield "title", " ".join(text.split()), 1
        elif kind == PP_PLACEHOLDER.FOOTER:
            yield "footer", text, None
        elif kind in (PP_PLACEHOLDER.BODY, PP_PLACEHOLDER.OBJECT, PP_PLACEHOLDER.VERTICAL_BODY):
            yield from (("list_item", line, None) for line in text.split("\n"))
        else:
            yield "paragraph", text, None
    elif getattr(shape, "has_table", False) and shape.has_table:
        if text := _table(shape.table):
            yield "table", text, None
    elif getattr(shape, "has_chart", False) and shape.has_chart:
        if text := chart_text(shape.chart.part.blob):
            yield "table", text, None
    else:
        yield from _diagram(shape)


def _diagram(shape: Any) -> Iterator[Piece]:
    for element in shape._element.iter(_DIAGRAM):
        relation = shape.part.rels.get(element.get(_RELATION + "dm", ""))
        if relation is not None and not relation.is_external:
            yield from (("list_item", text, None) for text in diagram_text(relation.target_part.blob))


def _frame_text(frame: Any) -> str:
    """Paragraphs as lines; a line break inside one is a space, so that a line is a whole paragraph."""
    lines = (" ".join(clean(paragraph.text).split()) for paragraph in frame.paragraphs)
    return "\n".join(line for line in lines if line)


def _table(table: Any) -> str:
    rows: list[Row] = []
    for row in table.rows:
        cells = []
        for cell in row.cells:
            if cell.is_spanned:
                # A cell inside a merge says of itself whether it hangs on the left or on the one above.
                cells.append(LEFT if cell._tc.hMerge else ABOVE)
            else:
                cells.append(_frame_text(cell.text_frame))
        rows.append(cells)
    marked = table.first_row and len(rows) > 1 and all(not isinstance(row, str) and any(row) for row in rows[:1])
    return table_text(rows, int(marked))
