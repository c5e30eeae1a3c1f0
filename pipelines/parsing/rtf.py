"""RTF: control words into paragraphs, headings, lists, tables, notes, headers and footers.

Our own reader: striprtf, the library for it, keeps hidden and deleted text, drops notes and text boxes, and gives
table cells that cannot be told from text. Nothing recurses, so nesting costs memory only.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, replace
from pathlib import Path

from foundation.errors import DamagedFile, EmptyFile, NoContent
from foundation.types import ParsedDocument
from pipelines.parsing.assembly import Assembly
from pipelines.parsing.rtf_flow import MERGES, Flow, Piece

PARSER = "rtf/1"

_TOKEN = re.compile(
    rb"\\(?P<word>[a-zA-Z]{1,32})(?P<number>-?\d{1,10})?[ ]?|\\'(?P<hex>[0-9a-fA-F]{2})|\\(?P<symbol>[^a-zA-Z])"
    rb"|(?P<brace>[{}])|(?P<text>[^\\{}\r\n]+)|[\r\n]+|\\",
    re.DOTALL,
)
_HEADING = re.compile(r"heading (\d)", re.IGNORECASE)
_CHARACTERS = {
    **{"tab": "\t", "line": "\n", "lquote": "‘", "rquote": "’", "ldblquote": "“", "rdblquote": "”", "bullet": "•"},
    **{"emdash": "—", "endash": "–", "emspace": " ", "enspace": " ", "qmspace": " ", "lbr": "\n", "softline": "\n"},
}
_SYMBOLS = {b"~": "\u00a0", b"_": "-", b"-": "", b"\\": "\\", b"{": "{", b"}": "}", b"\n": "\n", b"\r": "\n"}
_FLOWS = {"footnote": "note", "shptxt": "box", "dptxbxtext": "box"} | {
    f"{margin}{side}": margin for margin in ("header", "footer") for side in ("", "l", "r", "f")
}
_SKIPPED = frozenset(
    "colortbl pict objdata fldinst info xe tc rxe txe annotation sp shprslt nonshppict nonesttables listtable template "
    "listoverridetable revtbl rsidtbl filetbl datafield mmathPr themedata colorschememapping datastore "
    "latentstyles".split()
)
_STARRED = frozenset("shpinst shptxt nesttableprops mmath moMath moMathPara".split())
# \fcharset → code page; what is not here is the file's own (\ansicpg).
_CHARSETS = {
    **{2: "symbol", 77: "mac_roman", 128: "cp932", 129: "cp949", 134: "gb18030", 136: "big5hkscs", 161: "cp1253"},
    **{162: "cp1254", 163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251", 222: "cp874"},
    238: "cp1250",
}


def parse(path: Path, file_name: str) -> ParsedDocument:
    """Parse an RTF file. Hidden text and tracked deletions are left out. Raises EmptyFile, DamagedFile, NoContent."""
    data = path.read_bytes()
    if not data:
        raise EmptyFile(f"{file_name} is empty (0 bytes).")
    if not data.lstrip().startswith(b"{\\rt"):
        raise DamagedFile(f"{file_name} is no RTF file.")
    reader = Reader(data)
    assembly = Assembly()
    for kind, text, level in reader.read():
        assembly.add(kind, text, level=level)
    if not assembly.elements:
        raise NoContent(f"{file_name} opens but holds no text.", fix="Upload a file that has text, not only images.")
    text = assembly.text()
    title = next((text[e.start : e.end] for e in assembly.elements if e.kind == "title"), None)
    return ParsedDocument(text, assembly.elements, PARSER, title=title)


def plain_text(data: bytes) -> str:
    """The text of an RTF body, a paragraph a line."""
    return "\n".join(text for _, text, _ in Reader(data).read())


@dataclass(slots=True)
class _Group:
    """What holds from a `{` to its `}`."""

    flow: Flow
    skipped: bool = False
    table: str = ""
    """fonttbl or stylesheet while inside one."""
    role: str = ""
    """note, box, header or footer on the group that opened such a flow."""
    hidden: bool = False
    deleted: bool = False
    codec: str = ""
    fallback: int = 1
    """Characters after a \\u that stand for it in old programs."""


class Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._codec = "cp1252"
        self._fonts: dict[int, str] = {}
        self._font = self._style = 0
        self._levels: dict[int, int] = {}
        self._name: list[str] = []
        self._raw = bytearray()
        self._units: list[int] = []
        self._skip = 0
        self._starred = False
        self._body = Flow()
        self._margins: dict[str, list[Piece]] = {"header": [], "footer": [], "note": []}
        self._stack: list[_Group] = [_Group(self._body)]

    def read(self) -> list[Piece]:
        position, data = 0, self._data
        while (match := _TOKEN.match(data, position)) is not None:
            position = match.end()
            if text := match["text"]:
                self._bytes(text)
            elif digits := match["hex"]:
                self._bytes(bytes([int(digits, 16)]))
            elif word := match["word"]:
                number = int(match["number"]) if match["number"] else None
                if word == b"bin":
                    position += max(number or 0, 0)
                else:
                    self._word(word.decode(), number)
            elif brace := match["brace"]:
                self._flush()
                if brace == b"{":
                    self._stack.append(replace(self._stack[-1], role=""))
                elif len(self._stack) > 1:
                    self._close(self._stack.pop())
                self._starred = False
            elif symbol := match["symbol"]:
                if symbol == b"*":
                    self._starred = True
                else:
                    self._write(_SYMBOLS.get(symbol, ""))
        self._flush()
        while len(self._stack) > 1:
            self._close(self._stack.pop())
        body = self._body.finish()
        shown = list(dict.fromkeys(self._margins["header"]))
        headers: list[Piece] = [("header", text, None) for _, text, _ in shown]
        footers: list[Piece] = [("footer", text, None) for _, text, _ in dict.fromkeys(self._margins["footer"])]
        return [*headers, *body, *self._margins["note"], *footers]

    # Text

    def _bytes(self, text: bytes) -> None:
        """Bytes in the font's code page; a letter of an Asian one may be spread over several tokens."""
        if self._skip:
            dropped = min(self._skip, len(text))
            self._skip -= dropped
            text = text[dropped:]
        if text:
            self._flush_units()
            self._raw += text

    def _flush(self) -> None:
        self._skip = 0
        self._flush_units()
        if self._raw:
            codec = self._stack[-1].codec or self._codec
            if codec == "symbol":
                text = "".join("•" if byte == 0xB7 else chr(byte) for byte in self._raw)
            else:
                text = self._raw.decode(codec, errors="replace")
            self._raw.clear()
            self._put(text)

    def _flush_units(self) -> None:
        if self._units:
            pairs = b"".join(unit.to_bytes(2, "little") for unit in self._units)
            self._units = []
            self._put(pairs.decode("utf-16-le", errors="replace"))

    def _write(self, text: str) -> None:
        self._flush()
        self._put(text)

    def _put(self, text: str) -> None:
        group = self._stack[-1]
        if group.table:
            self._name.append(text)
        elif not (group.skipped or group.hidden or group.deleted):
            group.flow.write(text)

    # Control words

    def _word(self, word: str, number: int | None) -> None:
        if word == "u" and number is not None:
            self._skip = 0
            if self._raw:
                self._flush()
            self._units.append(number & 0xFFFF)
            self._skip = self._stack[-1].fallback
            return
        self._flush()
        starred, self._starred = self._starred, False
        group = self._stack[-1]
        if word in ("fonttbl", "stylesheet"):
            group.table, self._name = word, []
        elif word in _FLOWS and not group.skipped:
            group.flow, group.role = Flow(), _FLOWS[word]
        elif word in _SKIPPED or (starred and word not in _STARRED):
            group.skipped = True
        elif word in ("listtext", "pntext"):
            group.flow.is_item = True
        elif word in _CHARACTERS:
            self._put(_CHARACTERS[word])
        elif group.table:
            self._define(group, word, number)
        else:
            self._format(group, word, number)
            if not group.skipped:
                self._structure(group.flow, word, number)

    def _define(self, group: _Group, word: str, number: int | None) -> None:
        """In the tables of fonts and styles."""
        if word == "f" and number is not None:
            self._font = number
        elif word == "fcharset" and number in _CHARSETS:
            self._fonts[self._font] = _CHARSETS[number]
        elif word == "s" and number is not None:
            self._style, self._name = number, []

    def _format(self, group: _Group, word: str, number: int | None) -> None:
        match word:
            case "ansicpg":
                self._codec = _codec(number) or self._codec
            case "mac":
                self._codec = "mac_roman"
            case "f":
                group.codec = self._fonts.get(number or 0, "")
            case "uc":
                group.fallback = min(max(number or 0, 0), 10)
            case "v":
                group.hidden = number != 0
            case "deleted":
                group.deleted = number != 0
            case "plain":
                group.hidden = group.deleted = False
                group.codec = ""

    def _structure(self, flow: Flow, word: str, number: int | None) -> None:
        match word:
            case "par" | "sect" | "page":
                flow.end_paragraph()
            case "pard":
                flow.in_table, flow.level = False, None
            case "intbl":
                flow.in_table = True
            case "outlinelevel" if number is not None:
                flow.level = number + 1 if 0 <= number < 9 else None
            case "s" if number in self._levels:
                flow.level = self._levels[number]
            case "cell" | "nestcell":
                flow.end_cell(inner=word == "nestcell")
            case "row" | "nestrow":
                flow.end_row(inner=word == "nestrow")
            case "trowd":
                flow.start_row()
            case "trhdr":
                flow.header_row = True
            case "clvmrg" | "clmrg":
                flow.merge(MERGES[word])
            case "cellx":
                flow.end_definition()

    def _close(self, group: _Group) -> None:
        if group.table == "stylesheet" and self._name:
            name = "".join(self._name).strip(" ;")
            if match := _HEADING.fullmatch(name):
                self._levels[self._style] = max(1, int(match[1]))
            elif name.casefold() == "title":
                self._levels[self._style] = 1
            self._name = []
        if not group.role or group.skipped:
            return
        pieces = group.flow.finish()
        if group.role == "box":
            self._stack[-1].flow.add_box(pieces)
        else:
            self._margins[group.role] += pieces


def _codec(number: int | None) -> str | None:
    try:
        return codecs.lookup({65001: "utf-8", 10000: "mac_roman", 936: "gb18030"}.get(number or 0, f"cp{number}")).name
    except LookupError:
        return None
