"""The text of one OpenDocument paragraph, as a reader sees it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pipelines.parsing.assembly import clean

if TYPE_CHECKING:
    from pipelines.parsing.odf_styles import OdfStyles

_OASIS = "urn:oasis:names:tc:opendocument:xmlns:"
_NAMESPACES = {
    "office": _OASIS + "office:1.0",
    "text": _OASIS + "text:1.0",
    "table": _OASIS + "table:1.0",
    "draw": _OASIS + "drawing:1.0",
    "style": _OASIS + "style:1.0",
    "presentation": _OASIS + "presentation:1.0",
    "dc": "http://purl.org/dc/elements/1.1/",
}


def q(prefix: str, name: str) -> str:
    """A name in one of OpenDocument's namespaces, as lxml writes it."""
    return f"{{{_NAMESPACES[prefix]}}}{name}"


SKIPPED = {
    *(
        q("text", name)
        for name in ("tracked-changes", "sequence-decls", "hidden-text", "hidden-paragraph", "ruby-text")
    ),
    *(q("text", name) for name in ("variable-decls", "user-field-decls", "dde-connection-decls", "note", "script")),
    *(q("office", name) for name in ("annotation", "annotation-end", "forms", "scripts", "event-listeners")),
    *(q("draw", name) for name in ("image", "object", "object-ole", "plugin", "layer-set", "glue-point")),
}
_ANCHORED = tuple(
    q("draw", name)
    for name in ("frame", "custom-shape", "rect", "ellipse", "g", "line", "polygon", "path", "connector")
)


def line_of(paragraph: Any, styles: OdfStyles) -> str:
    return clean("".join(_pieces(paragraph, styles))).strip()


def notes_of(paragraph: Any) -> Iterator[Any]:
    """The bodies of the foot- and endnotes that are cited in the paragraph."""
    yield from paragraph.iter(q("text", "note-body"))


def boxes_of(paragraph: Any) -> Iterator[Any]:
    """The outermost frames and shapes that are anchored in the paragraph, outside of notes."""
    for child in paragraph:
        if child.tag in _ANCHORED:
            yield child
        elif child.tag not in SKIPPED and isinstance(child.tag, str):
            yield from boxes_of(child)


def _pieces(parent: Any, styles: OdfStyles) -> Iterator[str]:
    yield _folded(parent.text)
    for child in parent:
        tag = child.tag
        if tag == q("text", "s"):
            count = child.get(q("text", "c"), "1")
            yield " " * min(int(count) if count.isdigit() else 1, 100)
        elif tag == q("text", "tab"):
            yield "\t"
        elif tag == q("text", "line-break"):
            yield "\n"
        elif isinstance(tag, str) and tag not in SKIPPED and tag not in _ANCHORED and not styles.is_hidden(child):
            yield from _pieces(child, styles)
        yield _folded(child.tail)


def _folded(text: str | None) -> str:
    """White space in the file is one blank; more is written as elements."""
    if not text:
        return ""
    inner = " ".join(text.split())
    lead, trail = text[0].isspace(), text[-1].isspace()
    return f"{' ' if lead else ''}{inner}{' ' if trail and inner else ''}"
