"""What OpenDocument's styles say of a paragraph: hidden, heading, numbered."""

from __future__ import annotations

import re
from typing import Any

from pipelines.parsing.docx_numbering import number_text
from pipelines.parsing.odf_text import q

_HEADING = re.compile(r"Heading_20_(\d+)")
_FORMATS = {"1": "decimal", "a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}
_LEVELS = 10


class OdfStyles:
    def __init__(self, *roots: Any) -> None:
        self._styles: dict[str, Any] = {}
        self._lists: dict[str, Any] = {}
        self._counts: dict[tuple[str, int], int] = {}
        for root in roots:
            if root is not None:
                self._styles |= {s.get(q("style", "name"), ""): s for s in root.iter(q("style", "style"))}
                self._lists |= {s.get(q("style", "name"), ""): s for s in root.iter(q("text", "list-style"))}

    def is_hidden(self, element: Any) -> bool:
        name, seen = element.get(q("text", "style-name")), set[str]()
        while name in self._styles and name not in seen:
            seen.add(name)
            style = self._styles[name]
            for properties in style.iterfind(q("style", "text-properties")):
                display = properties.get(q("text", "display"))
                if display is not None:
                    return bool(display == "none")
            name = style.get(q("style", "parent-style-name"))
        return False

    def is_hidden_section(self, element: Any) -> bool:
        return element.get(q("text", "display")) == "none"

    def heading_level(self, element: Any) -> int | None:
        """Of a paragraph that has a heading's style without being one; the style `Title` counts as 1."""
        name, seen = element.get(q("text", "style-name")), set[str]()
        while name and name not in seen:
            seen.add(name)
            if match := _HEADING.fullmatch(name):
                return max(1, int(match[1]))
            if name == "Title":
                return 1
            style = self._styles.get(name)
            name = style.get(q("style", "parent-style-name")) if style is not None else None
        return None

    def counter(self, element: Any, outer: ListCounter | None) -> ListCounter:
        """Counts the items of a list; a list inside an item goes on with the outer one's style."""
        name = element.get(q("text", "style-name")) or (outer.name if outer is not None else "")
        level = outer.level + 1 if outer is not None else 1
        goes_on = element.get(q("text", "continue-numbering")) == "true" or element.get(q("text", "continue-list"))
        counter = ListCounter(self, name, level)
        if not goes_on:
            self._counts.pop((name, level), None)
        return counter

    def count(self, name: str, level: int, start: str | None) -> str:
        """The label of the next item; empty where the level has bullets or no format."""
        if level > _LEVELS or name not in self._lists:
            return ""
        wanted = (s for s in self._lists[name] if s.get(q("text", "level")) == str(level))
        style = next(wanted, None)
        if style is None or style.tag != q("text", "list-level-style-number"):
            return ""
        kind = _FORMATS.get(style.get(q("style", "num-format"), ""))
        first = start or style.get(q("text", "start-value")) or "1"
        known = self._counts.get((name, level))
        value = (int(first) if first.isdigit() else 1) if known is None or start else known + 1
        self._counts[name, level] = value
        if kind is None:
            return ""
        before, after = style.get(q("style", "num-prefix"), ""), style.get(q("style", "num-suffix"), "")
        return f"{before}{number_text(value, kind)}{after}".strip()


class ListCounter:
    def __init__(self, styles: OdfStyles, name: str, level: int) -> None:
        self._styles = styles
        self.name = name
        self.level = level

    def next(self, item: Any) -> str:
        return self._styles.count(self.name, self.level, item.get(q("text", "start-value")))
