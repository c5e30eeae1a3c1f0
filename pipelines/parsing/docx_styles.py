"""What Word's styles say of a paragraph: heading level, list, hidden; a style inherits from its base."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_NAMESPACE = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_HEADING = re.compile(r"heading (\d)", re.IGNORECASE)
_LIST = re.compile(r"list (bullet|number|paragraph)", re.IGNORECASE)
_BODY_LEVEL = 9
"""Outline levels from 0; 9 says body text."""


def w(name: str) -> str:
    """A name in Word's main namespace."""
    return _NAMESPACE + name


def local_name(element: Any) -> str:
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def is_on(element: Any) -> bool:
    """A switch such as <w:vanish/>: on unless its value says no."""
    return element.get(w("val"), "true") not in ("0", "false", "off")


class Styles:
    def __init__(self, element: Any) -> None:
        self._styles = {style.get(w("styleId")): style for style in element.findall(w("style"))}
        defaults = [s for s in self._styles.values() if s.get(w("type")) == "paragraph" and s.get(w("default")) == "1"]
        self._default = defaults[0].get(w("styleId")) if defaults else None

    def style_id(self, paragraph: Any) -> str | None:
        style = paragraph.find(f"{w('pPr')}/{w('pStyle')}")
        return style.get(w("val")) if style is not None else self._default

    def heading_level(self, paragraph: Any) -> int | None:
        """From 1; the style `Title` counts as 1. None for body text."""
        outline = paragraph.find(f"{w('pPr')}/{w('outlineLvl')}")
        if outline is not None:
            return _outline_level(outline)
        for style in self.chain(self.style_id(paragraph)):
            name = _name(style)
            if match := _HEADING.fullmatch(name):
                return max(1, int(match[1]))
            if name.casefold() == "title":
                return 1
            if (outline := style.find(f"{w('pPr')}/{w('outlineLvl')}")) is not None:
                return _outline_level(outline)
        return None

    def is_list_item(self, paragraph: Any) -> bool:
        numbering = paragraph.find(f"{w('pPr')}/{w('numPr')}/{w('numId')}")
        if numbering is not None:
            # Number 0 takes a paragraph out of its style's list.
            return bool(numbering.get(w("val")) != "0")
        for style in self.chain(self.style_id(paragraph)):
            if style.find(f"{w('pPr')}/{w('numPr')}") is not None or _LIST.match(_name(style)):
                return True
        return False

    def is_hidden(self, style_id: str | None) -> bool:
        for style in self.chain(style_id):
            vanish = style.find(f"{w('rPr')}/{w('vanish')}")
            if vanish is not None:
                return is_on(vanish)
        return False

    def sets_first_row_apart(self, table_style: str | None) -> bool:
        """Whether a table style makes the first row bold or gives it a colour of its own."""
        for style in self.chain(table_style):
            for part in style.findall(w("tblStylePr")):
                if part.get(w("type")) == "firstRow":
                    bold, shade = part.find(f"{w('rPr')}/{w('b')}"), part.find(f"{w('tcPr')}/{w('shd')}")
                    return shade is not None or (bold is not None and is_on(bold))
        return False

    def chain(self, style_id: str | None) -> Iterator[Any]:
        """The style and those that it is based on; a file may make a circle of them."""
        seen: set[str] = set()
        while style_id is not None and style_id in self._styles and style_id not in seen:
            seen.add(style_id)
            style = self._styles[style_id]
            yield style
            base = style.find(w("basedOn"))
            style_id = base.get(w("val")) if base is not None else None


def _name(style: Any) -> str:
    name = style.find(w("name"))
    return name.get(w("val"), "") if name is not None else ""


def _outline_level(outline: Any) -> int | None:
    value = outline.get(w("val"), "")
    return int(value) + 1 if value.isdigit() and int(value) < _BODY_LEVEL else None
