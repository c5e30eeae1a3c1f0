"""Pages with lines to a parsed document, whatever they were read from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from foundation.types import FileWarning, ParsedDocument, WordBox
from pipelines.parsing import pdf_layout, pdf_text
from pipelines.parsing.pdf_page import Page, transform_box
from pipelines.parsing.pdf_tables import Grid


def page_text(
    pages: Sequence[Page], grids: Mapping[int, list[Grid]], parser: str, warnings: list[FileWarning]
) -> ParsedDocument:
    """Text, elements and word boxes; `grids` by page number. The title is the first heading of the first level.

    A document without any text has no elements.
    """
    blocks = pdf_layout.blocks(pages, grids)
    assembly, word_boxes = pdf_text.write(blocks, pdf_text.vocabulary(pages))
    text = assembly.text()
    headings = (
        " ".join(text[e.start : e.end].split()) for e in assembly.elements if e.kind == "title" and e.level == 1
    )
    return ParsedDocument(
        text=text,
        elements=assembly.elements,
        parser=parser,
        word_boxes=_as_displayed(word_boxes, pages),
        page_count=len(pages),
        page_sizes=[page.displayed[0] if page.displayed else page.size for page in pages],
        title=next(headings, None),
        warnings=warnings,
    )


def _as_displayed(words: list[WordBox], pages: Sequence[Page]) -> list[WordBox]:
    ways = {page.number: page.displayed[1] for page in pages if page.displayed is not None}
    if not ways:
        return words
    return [
        replace(word, box=transform_box(ways[word.page], word.box)) if word.page in ways else word for word in words
    ]
