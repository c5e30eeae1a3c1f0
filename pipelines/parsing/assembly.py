"""Text and elements grow together, so that every offset is right by construction."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from foundation.types import Element

Kind = Literal["title", "paragraph", "list_item", "table", "header", "footer"]

BULLET = re.compile(
    r"[•‣⁃∙▪▫■□●○◦◆◇➢➤✓✔\uf0b7\uf0a7]|[-–—*+o](?=\s)|\(?(?:\d{1,3}|[a-z]|[ivx]{2,5}|[A-Z](?=\)))[.)](?=\s)"
)
"""How a list item starts, at the start of its line."""

# C0 and C1 controls but tab and newline, lone surrogates, the non-characters, byte order marks inside a text.
_UNWANTED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufeff\ufffe\uffff]")


def clean(text: str) -> str:
    """`text` with \\n line ends and without control characters: what every store and JSON takes."""
    normal = text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n").replace("\u2028", "\n")
    return _UNWANTED.sub("", normal.replace("\u2029", "\n").replace("\v", "\n"))


@dataclass(slots=True)
class Assembly:
    """Appends elements, two newlines apart."""

    elements: list[Element] = field(default_factory=list)
    _parts: list[str] = field(default_factory=list)
    _length: int = 0

    def add(self, kind: Kind, text: str, *, page: int | None = None, level: int | None = None) -> int:
        """Append `text` (clean, not blank, no outer white space) as one element; returns its start."""
        if self._parts:
            self._append("\n\n")
        start = self._length
        self._append(text)
        self.elements.append(Element(kind, start, self._length, page, level))
        return start

    def text(self) -> str:
        return "".join(self._parts)

    def _append(self, part: str) -> None:
        self._parts.append(part)
        self._length += len(part)
