"""The text of one Word paragraph, as a reader sees it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pipelines.parsing.assembly import clean
from pipelines.parsing.docx_math import math_text
from pipelines.parsing.docx_styles import Styles, is_on, local_name, w

_SKIPPED = {"del", "moveFrom", "delText", "instrText", "rPr", "pPr", "txbxContent", "Fallback", "commentReference"}
_BREAKS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "softHyphen": ""}
# Wingdings that forms use as check boxes and check marks.
_SYMBOLS = {"F0A8": "☐", "F06F": "☐", "F0FE": "☒", "F078": "☒", "F0FC": "✓", "F0B7": "•", "F0A7": "•", "F0E0": "→"}


class TextReader:
    def __init__(self, styles: Styles) -> None:
        self._styles = styles

    def paragraph(self, paragraph: Any) -> str:
        """Without hidden runs, tracked deletions, field codes and text boxes (see `text_boxes`)."""
        return clean("".join(self._pieces(paragraph))).strip()

    def text_boxes(self, paragraph: Any) -> Iterator[Any]:
        """The outermost text boxes anchored in the paragraph; a file has each twice, in new and in old markup."""
        for child in paragraph:
            name = local_name(child)
            if name == "txbxContent":
                yield child
            elif name not in ("Fallback", "del", "moveFrom"):
                yield from self.text_boxes(child)

    def _pieces(self, parent: Any) -> Iterator[str]:
        for child in parent:
            name = local_name(child)
            if name == "t":
                yield child.text or ""
            elif name in _BREAKS:
                yield _BREAKS[name]
            elif name == "oMath":
                yield math_text(child)
            elif name == "checkBox":
                yield _legacy_box(child)
            elif name == "sym":
                yield _SYMBOLS.get(child.get(w("char"), "").upper(), "")
            elif name == "r" and self._is_hidden(child):
                continue
            elif name not in _SKIPPED:
                yield from self._pieces(child)

    def _is_hidden(self, run: Any) -> bool:
        properties = run.find(w("rPr"))
        if properties is not None:
            vanish = properties.find(w("vanish"))
            if vanish is not None:
                return is_on(vanish)
            style = properties.find(w("rStyle"))
            if style is not None and self._styles.is_hidden(style.get(w("val"))):
                return True
        paragraph = next(run.iterancestors(w("p")), None)
        return paragraph is not None and self._styles.is_hidden(self._styles.style_id(paragraph))


def _legacy_box(box: Any) -> str:
    """A check box of a form from before content controls."""
    state = box.find(w("checked"))
    if state is None:
        state = box.find(w("default"))
    return "☒ " if state is not None and is_on(state) else "☐ "
