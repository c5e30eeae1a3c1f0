"""PowerPoint 97-2003, read by ppt2pptx: slide by slide texts and tables, then the speaker's notes."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ppt2pptx
from ppt2pptx.errors import EncryptedPresentationError, Ppt2PptxError

from foundation.errors import DamagedFile, EncryptedFile, NoContent
from foundation.types import FileWarning, ParsedDocument
from pipelines.parsing.assembly import Assembly, Kind, clean
from pipelines.parsing.box_grid import TextBox, grids, table_rows
from pipelines.parsing.table_lines import table_text

PARSER = "ppt/1"

_NOT_READ = {"CHART_OMITTED", "DIAGRAM_OR_SMARTART_OMITTED", "EMBEDDED_OLE_OMITTED", "OLE_OBJECT_OMITTED"}
Piece = tuple[Kind, str, int | None]


def parse(path: Path, file_name: str) -> ParsedDocument:
    """Parse an old PowerPoint file; a slide is a page. Raises EncryptedFile, DamagedFile and NoContent."""
    try:
        with tempfile.TemporaryDirectory(prefix="askline-ppt-") as folder:
            result = ppt2pptx.convert(path, Path(folder) / "slides.pptx")
    except EncryptedPresentationError as error:
        raise EncryptedFile(f"{file_name} is protected by a password.") from error
    except Ppt2PptxError as error:
        raise DamagedFile(f"{file_name} is no PowerPoint 97-2003 file that can be read: {error}.") from error
    assembly, warnings = Assembly(), list[FileWarning]()
    if any(warning["code"] in _NOT_READ for warning in result.report.warnings):
        message = f"{file_name} holds charts or embedded objects, which were not read."
        warnings.append(FileWarning("embedded_not_read", message))
    for number, slide in enumerate(result.presentation.slides, 1):
        if slide.hidden:
            message = f"{file_name}: slide {number} is hidden; it was read like the others."
            warnings.append(FileWarning("hidden_slide", message, page=number))
        for kind, text, level in _pieces(slide):
            assembly.add(kind, text, page=number, level=level)
    if not assembly.elements:
        raise NoContent(f"{file_name} opens but holds no text.", fix="Upload a file that has text, not only images.")
    text = assembly.text()
    title = next((text[e.start : e.end] for e in assembly.elements if e.kind == "title"), None)
    pages = len(result.presentation.slides)
    return ParsedDocument(text, assembly.elements, PARSER, page_count=pages, title=title, warnings=warnings)


def _pieces(slide: Any) -> Iterator[Piece]:
    placed = [box for box in slide.text_boxes if _lines(box.text)]
    outline = [box for box in placed if box.is_placeholder]
    # The first placeholder of a slide is its title where it is one line without a bullet.
    if outline and len(_lines(outline[0].text)) == 1 and not any(outline[0].paragraph_bullets[:1]):
        yield "title", _lines(outline.pop(0).text)[0], 1
    for box in outline:
        for line, bullet in zip(_lines(box.text), _bullets(box), strict=True):
            yield "list_item" if bullet else "paragraph", line, None
    loose = [
        TextBox(box.left, box.top, box.width, box.height, "\n".join(_lines(box.text)))
        for box in placed
        if not box.is_placeholder
    ]
    for group in grids(loose):
        rows = table_rows(group)
        if rows is None:
            yield from (("paragraph", box.text, None) for box in group)
        elif text := table_text(rows):
            yield "table", text, None
    for note in slide.notes or ():
        if lines := _lines(note):
            yield "paragraph", "\n".join(lines), None


def _lines(text: str) -> list[str]:
    return [line for line in (" ".join(part.split()) for part in clean(text).split("\n")) if line]


def _bullets(box: Any) -> list[bool]:
    """For each line of `_lines` whether it has a bullet."""
    paragraphs = box.text.replace("\r\n", "\r").replace("\n", "\r").split("\r")
    marks = [*box.paragraph_bullets, *[False] * len(paragraphs)]
    found = [mark for text, mark in zip(paragraphs, marks, strict=False) for _ in _lines(text)]
    return found
