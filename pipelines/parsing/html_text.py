"""What of an HTML element a reader sees as text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from selectolax.lexbor import LexborNode

from pipelines.parsing.assembly import clean

UNSEEN = frozenset(
    "script style template noscript head iframe object embed applet audio video canvas svg map datalist".split()
)
_PHRASES = frozenset(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark q ruby s samp small span strike "
    "strong sub sup time tt u var wbr".split()
)
_HIDING = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden|mso-hide\s*:\s*all", re.IGNORECASE)
_IMAGE_FILE = re.compile(r"\S+\.(png|jpe?g|gif|svg|webp|bmp)", re.IGNORECASE)


def is_hidden(node: LexborNode) -> bool:
    attributes = node.attributes
    return "hidden" in attributes or bool(_HIDING.search(attributes.get("style") or ""))


def alternative_text(node: LexborNode) -> str:
    """What stands for an image, or what a form field holds; empty for decoration and passwords."""
    attributes = node.attributes
    if node.tag == "img":
        text = (attributes.get("alt") or "").strip()
        return f" {text} " if text and not _IMAGE_FILE.fullmatch(text) else " "
    kind = (attributes.get("type") or "text").lower()
    if kind in ("checkbox", "radio"):
        return "☒ " if "checked" in attributes else "☐ "
    return f" {attributes.get('value') or ''} " if kind in ("text", "number", "date", "email", "tel", "url") else " "


def tidy(text: str) -> str:
    """Lines without outer white space; no-break spaces stay, several blanks become one, blank lines go."""
    lines = (re.sub(r"[ \t\u00a0]{2,}|\t", " ", line).strip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line)


def children(node: LexborNode) -> Iterator[LexborNode]:
    child = node.child
    while child is not None:
        yield child
        child = child.next


def inline_text(root: LexborNode) -> tuple[str, list[LexborNode]]:
    """The text inside an element on one line, and the outermost tables in it, whose text is not part of it."""
    parts: list[str] = []
    tables: list[LexborNode] = []
    stack: list[LexborNode | None] = list(reversed(list(children(root))))
    while stack:
        node = stack.pop()
        if node is None:  # a block ends
            parts.append(" ")
            continue
        tag = node.tag or ""
        if tag == "-text":
            parts.append(node.text_content or "")
        elif tag == "table":
            tables.append(node)
            parts.append(" ")
        elif tag in ("img", "input", "br"):
            parts.append(" " if tag == "br" else alternative_text(node))
        elif tag not in UNSEEN and not tag.startswith(("-", "!")) and not is_hidden(node):
            if tag not in _PHRASES:
                parts.append(" ")
                stack.append(None)
            stack.extend(reversed(list(children(node))))
    return " ".join(clean("".join(parts)).split()), tables
