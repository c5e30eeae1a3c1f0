"""The numbers that Word shows before list items and headings; the file holds only how to count."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from pipelines.parsing.docx_styles import Styles, w

_PLACE = re.compile(r"%(\d)")
_ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"))
_ROMAN_LOW = ((10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))
_LEVELS = 9


class Numbering:
    """Counts while a document is read from its top; `label` is to be asked once for each paragraph, in order."""

    def __init__(self, root: Any, styles: Styles) -> None:
        self._root = root
        self._styles = styles
        self._counts: dict[str, list[int | None]] = {}
        self._started: set[str] = set()

    @cached_property
    def _abstract(self) -> dict[str, Any]:
        """By id; like the lists, made for the first paragraph that counts: a template defines many that nobody uses."""
        return {abstract.get(w("abstractNumId")): abstract for abstract in self._defined("abstractNum")}

    @cached_property
    def _lists(self) -> dict[str, tuple[str, dict[int, Any]]]:
        """By id: the abstract list that it is one of, and its own start or form of a level."""
        lists = {}
        for number in self._defined("num"):
            base = number.find(w("abstractNumId"))
            overrides = {_int(o.get(w("ilvl"))): o for o in number.findall(w("lvlOverride"))}
            lists[number.get(w("numId"))] = (base.get(w("val")) if base is not None else "", overrides)
        return lists

    def _defined(self, kind: str) -> list[Any]:
        return [] if self._root is None else self._root.findall(w(kind))

    def label(self, paragraph: Any) -> str:
        """`3.`, `b)`, `2.1`; empty for what is not counted: plain paragraphs, bullets, unknown formats."""
        found = self._place(paragraph)
        if found is None or found[0] not in self._lists:
            return ""
        number, level = found
        base, overrides = self._lists[number]
        counts = self._counts.setdefault(base, [None] * _LEVELS)
        if number not in self._started:
            self._started.add(number)
            for at, override in overrides.items():
                if at < _LEVELS and override.find(w("startOverride")) is not None:
                    counts[at] = None
        current = counts[level]
        counts[level] = self._start(base, overrides, level) if current is None else current + 1
        counts[level + 1 :] = [None] * (_LEVELS - level - 1)
        return self._shown(base, overrides, level, counts)

    def _place(self, paragraph: Any) -> tuple[str, int] | None:
        """(list, level) from the paragraph itself, else from its style."""
        number, level = None, None
        for properties in self._properties(paragraph):
            if number is None and (found := properties.find(w("numId"))) is not None:
                number = found.get(w("val"))
            if level is None and (found := properties.find(w("ilvl"))) is not None:
                level = _int(found.get(w("val")))
        return None if number in (None, "0") else (str(number), min(level or 0, _LEVELS - 1))

    def _properties(self, paragraph: Any) -> Iterator[Any]:
        own = paragraph.find(f"{w('pPr')}/{w('numPr')}")
        if own is not None:
            yield own
        for style in self._styles.chain(self._styles.style_id(paragraph)):
            of_style = style.find(f"{w('pPr')}/{w('numPr')}")
            if of_style is not None:
                yield of_style

    def _level(self, base: str, overrides: dict[int, Any], level: int) -> Any:
        override = overrides.get(level)
        if override is not None and (own := override.find(w("lvl"))) is not None:
            return own
        abstract = self._abstract.get(base)
        levels = abstract.findall(w("lvl")) if abstract is not None else []
        return next((one for one in levels if _int(one.get(w("ilvl"))) == level), None)

    def _start(self, base: str, overrides: dict[int, Any], level: int) -> int:
        override = overrides.get(level)
        forced = override.find(w("startOverride")) if override is not None else None
        if forced is not None:
            return _int(forced.get(w("val")))
        definition = self._level(base, overrides, level)
        start = definition.find(w("start")) if definition is not None else None
        return _int(start.get(w("val"))) if start is not None else 1

    def _shown(self, base: str, overrides: dict[int, Any], level: int, counts: list[int | None]) -> str:
        definition = self._level(base, overrides, level)
        text = definition.find(w("lvlText")) if definition is not None else None
        if text is None or self._format(base, overrides, level) in ("bullet", "none"):
            return ""

        def place(match: re.Match[str]) -> str:
            at = int(match[1]) - 1
            value = counts[at] if 0 <= at < _LEVELS else None
            if value is None:
                value = self._start(base, overrides, max(at, 0))
            return number_text(value, self._format(base, overrides, at))

        shown = _PLACE.sub(place, text.get(w("val"), ""))
        return shown.strip() if any(c.isalnum() for c in shown) else ""

    def _format(self, base: str, overrides: dict[int, Any], level: int) -> str:
        definition = self._level(base, overrides, level)
        kind = definition.find(w("numFmt")) if definition is not None else None
        return kind.get(w("val"), "decimal") if kind is not None else "decimal"


def number_text(value: int, kind: str) -> str:
    """A number in one of Word's formats (`lowerLetter`, `upperRoman`, …)."""
    match kind:
        case "lowerLetter" | "upperLetter" if value > 0:
            letters = chr(ord("a") + (value - 1) % 26) * min((value - 1) // 26 + 1, 9)
            return letters.upper() if kind == "upperLetter" else letters
        case "lowerRoman" | "upperRoman" if 0 < value < 4000:
            roman = ""
            for size, sign in (*_ROMAN, *_ROMAN_LOW):
                roman += sign * (value // size)
                value %= size
            return roman.upper() if kind == "upperRoman" else roman
        case "decimalZero":
            return f"{value:02d}"
        case _:
            return str(value)


def _int(text: str | None) -> int:
    return int(text) if text is not None and text.isascii() and text.isdigit() else 0
