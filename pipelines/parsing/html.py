"""Web pages: what a reader sees, in the page's order. Scripts and styles never reach the text, nothing is fetched."""

from __future__ import annotations

import re
from pathlib import Path

from selectolax.lexbor import LexborHTMLParser, LexborNode

from foundation.charset import codec_of, detect_encoding
from foundation.errors import DamagedFile, EmptyFile, NoContent
from foundation.types import ParsedDocument
from pipelines.parsing.assembly import Assembly, Kind, clean
from pipelines.parsing.html_tables import HtmlTable
from pipelines.parsing.html_text import UNSEEN, alternative_text, children, is_hidden, tidy
from pipelines.parsing.text import encoding_warnings

PARSER = "html/2"

_BLOCKS = frozenset(
    "address article aside blockquote body center dd details dialog dir div dl dt fieldset figcaption figure footer "
    "form frameset h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu nav ol optgroup option p pre search "
    "section summary table tbody td textarea tfoot th thead title tr ul".split()
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_META = re.compile(
    rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]{1,40})|<\?xml[^>]{0,200}encoding=[\"']([\w.:-]+)"
)
_META_WITHIN = 4096
_PROVABLE = ("utf", "iso2022")


def parse(path: Path, file_name: str) -> ParsedDocument:
    """Parse a page. Raises EmptyFile, DamagedFile (no text), NoContent (nothing a reader would see)."""
    data = path.read_bytes()
    if not data:
        raise EmptyFile(f"{file_name} is empty (0 bytes).")
    decoded = decode_html(data)
    if decoded is None:
        raise DamagedFile(f"{file_name} is binary data, not HTML.", fix="Upload the page, or name its real type.")
    text, encoding, guessed = decoded
    warnings = encoding_warnings(data, text, encoding, file_name, guessed=guessed)
    tree = LexborHTMLParser(text)
    document = _read(tree)
    if not document.elements:
        raise NoContent(
            f"{file_name} opens but shows no text.", fix="Save the page with its content, or print it as PDF."
        )
    title = _page_title(tree)
    first = next((e for e in document.elements if e.kind == "title" and e.level == 1), None)
    whole = document.text()
    heading = whole[first.start : first.end] if first is not None else None
    return ParsedDocument(whole, document.elements, PARSER, title=title or heading, warnings=warnings)


def read_html(text: str) -> Assembly:
    """The visible elements of a page or of a mail's body."""
    return _read(LexborHTMLParser(text))


def _read(tree: LexborHTMLParser) -> Assembly:
    reader = _Reader()
    if tree.body is not None:
        reader.read(tree.body)
    return reader.assembly


def _page_title(tree: LexborHTMLParser) -> str | None:
    title = tree.css_first("head > title")
    return (tidy(clean(title.text())) or None) if title is not None else None


def decode_html(data: bytes) -> tuple[str, str, bool] | None:
    """(text, codec, whether the codec is a guess); None for what is no text.

    What the bytes prove goes before what the page says of itself, and its word goes before a guess.
    """
    found = detect_encoding(data)
    declared = _META.search(data[:_META_WITHIN])
    label = (declared[1] or declared[2]).decode("ascii", errors="replace") if declared else ""
    named = codec_of(label)
    proven = found is not None and found.startswith(_PROVABLE) and not data.isascii()
    encoding = found if proven else named or found
    if encoding is None:
        return None
    text = data.decode(encoding, errors="replace").lstrip("\ufeff")
    return text, encoding, named is None and not encoding.startswith(_PROVABLE)


class _Reader:
    """Walks the tree with a stack of its own: a page may nest deeper than Python calls."""

    def __init__(self) -> None:
        self.assembly = Assembly()
        self._buffer: list[str] = []
        self._preformatted = 0
        self._items: list[str | None] = []
        self._numbers: dict[int, str] = {}
        self._level: int | None = None

    def read(self, root: LexborNode) -> None:
        stack: list[tuple[LexborNode, bool]] = [(root, True)]
        while stack:
            node, entering = stack.pop()
            if not entering:
                self._leave(node.tag or "")
            elif self._enter(node):
                stack.append((node, False))
                stack.extend((child, True) for child in reversed(list(children(node))))
        self._flush()

    def _enter(self, node: LexborNode) -> bool:
        """Whether the children are to be read, and `_leave` to be called after them."""
        tag = node.tag or ""
        if tag == "-text":
            text = node.text_content or ""
            self._buffer.append(text if self._preformatted else re.sub(r"[ \t\r\n\f]+", " ", text))
            return False
        if tag in UNSEEN or tag.startswith(("-", "!")) or is_hidden(node):
            return False
        if tag in ("br", "img", "input"):
            self._buffer.append("\n" if tag == "br" else alternative_text(node))
            return False
        if tag in _BLOCKS and not (tag == "dd" and self._buffer):
            self._flush()
        elif tag == "dd":
            self._buffer.append("\n")
        if tag == "table":
            table = HtmlTable(node)
            if table.is_data():
                self._add_table(table)
                return False
        self._open(tag, node)
        return True

    def _open(self, tag: str, node: LexborNode) -> None:
        if tag in _HEADINGS:
            self._level = _HEADINGS[tag]
        elif tag == "ol":
            self._numbers |= _numbers(node)
        elif tag == "li":
            self._items.append(self._numbers.pop(node.mem_id, None))
        elif tag in ("pre", "textarea"):
            self._preformatted += 1

    def _leave(self, tag: str) -> None:
        if tag in _BLOCKS and tag != "dt":
            self._flush()
        if tag in _HEADINGS:
            self._level = None
        elif tag == "li" and self._items:
            self._items.pop()
        elif tag in ("pre", "textarea"):
            self._preformatted -= 1

    def _flush(self) -> None:
        text = clean("".join(self._buffer))
        self._buffer.clear()
        text = text.strip("\n").rstrip() if self._preformatted and text.strip() else tidy(text)
        if not text.strip():
            return
        kind: Kind = "paragraph"
        if self._level is not None:
            kind, text = "title", " ".join(text.split())
        elif self._items:
            kind = "list_item"
            number, self._items[-1] = self._items[-1], None
            text = f"{number} {text}" if number else text
        self.assembly.add(kind, text.strip(), level=self._level)

    def _add_table(self, table: HtmlTable) -> None:
        if caption := table.caption():
            self.assembly.add("paragraph", caption)
        if text := table.text():
            self.assembly.add("table", text)


def _numbers(ordered: LexborNode) -> dict[int, str]:
    """The number that a browser shows before each item of an ordered list, by the item's `mem_id`; hidden ones count.

    Nodes themselves are no keys: selectolax calls two nodes equal that have the same HTML, and serialises both for it.
    """
    start = (ordered.attributes.get("start") or "1").strip()
    first = int(start) if start.isascii() and start.isdigit() and len(start) < 7 else 1
    items = (child for child in children(ordered) if child.tag == "li")
    return {item.mem_id: f"{number}." for number, item in enumerate(items, first)}
