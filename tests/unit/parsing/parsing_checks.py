"""What holds for every parsed document."""

from __future__ import annotations

from foundation.types import ParsedDocument


def assert_exact(document: ParsedDocument) -> None:
    """Elements and word boxes lie in the text, in order, apart from each other, without outer white space."""
    text = document.text
    text.encode()
    assert "\0" not in text
    for spans in (document.elements, document.word_boxes):
        end = 0
        for span in spans:
            assert end <= span.start < span.end <= len(text)
            piece = text[span.start : span.end]
            assert piece == piece.strip()
            end = span.end
    for word in document.word_boxes:
        assert 1 <= word.page <= (document.page_count or 0)
        assert word.box[0] <= word.box[2] and word.box[1] <= word.box[3]


def kinds(document: ParsedDocument) -> list[tuple[str, str]]:
    return [(e.kind, document.text[e.start : e.end]) for e in document.elements]
