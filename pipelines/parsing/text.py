"""Plain text and Markdown. The parsed text is the file's own text; elements are spans of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from foundation.charset import detect_encoding
from foundation.errors import DamagedFile, EmptyFile, NoContent
from foundation.types import Element, FileWarning, ParsedDocument
from pipelines.parsing.assembly import BULLET, Kind, clean

PARSER = "text/2"

_ATX = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t#]*$")
_UNDERLINE = re.compile(r" {0,3}(={3,}|-{3,}|~{3,})\s*")
_RULE = re.compile(r"\s*([=\-~_*#]\s*){3,}")
_FENCE = re.compile(r" {0,3}(```|~~~)")
# YAML between two rules at the top of a Markdown file: what foundation.card reads, not what the document says.
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(?=[\w\"' -]+:)(?:.*\n)*?(?:---|\.\.\.)[ \t]*(?:\n|\Z)")
_LONGEST_HEADING = 80


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    text: str

    @property
    def blank(self) -> bool:
        return not self.text.strip()


def parse(path: Path, file_name: str) -> ParsedDocument:
    """Parse a text file in whatever encoding it is. Raises EmptyFile, NoContent, DamagedFile (no text at all)."""
    data = path.read_bytes()
    if not data:
        raise EmptyFile(f"{file_name} is empty (0 bytes).")
    text, warnings = decode(data, file_name)
    if not text.strip():
        raise NoContent(f"{file_name} holds nothing but white space.", fix="Upload a file that has text.")
    markdown = PurePosixPath(file_name).suffix.lower() in (".md", ".markdown")
    body = _FRONT_MATTER.match(text) if markdown else None
    elements = list(text_elements(text, markdown=markdown, start=body.end() if body else 0))
    if body and not elements:
        raise NoContent(f"{file_name} holds nothing but front matter.", fix="Upload a file that has text.")
    title = next((text[e.start : e.end] for e in elements if e.kind == "title" and e.level == 1), None)
    return ParsedDocument(text, elements, PARSER, title=title, warnings=warnings)


def decode(data: bytes, file_name: str) -> tuple[str, list[FileWarning]]:
    """In whatever encoding it is, with what that cost. DamagedFile where it is no text."""
    encoding = detect_encoding(data)
    if encoding is None:
        raise DamagedFile(f"{file_name} is binary data, not text.", fix="Upload a text file, or name its real type.")
    text = data.decode(encoding, errors="replace")
    return clean(text), encoding_warnings(data, text, encoding, file_name, guessed=not encoding.startswith("utf"))


def encoding_warnings(data: bytes, text: str, encoding: str, file_name: str, *, guessed: bool) -> list[FileWarning]:
    """What a reader should know of `text`, which is `data` decoded by `encoding`."""
    warnings = []
    if guessed:
        message = f"{file_name} does not say its encoding; it was read as {encoding}."
        warnings.append(FileWarning("encoding_guessed", message))
    damaged = text.count("\ufffd") - data.count("\ufffd".encode())
    if damaged > 0:
        message = f"{file_name} has {damaged} places that are not valid {encoding}; they show as \ufffd."
        warnings.append(FileWarning("encoding_damaged", message))
    return warnings


def text_elements(text: str, *, markdown: bool, start: int = 0) -> Iterator[Element]:
    """The elements of a text; `start` is where its body begins."""
    lines = _lines(text)
    i = next((number for number, line in enumerate(lines) if line.start >= start), len(lines))
    while i < len(lines):
        if lines[i].blank or _RULE.fullmatch(lines[i].text):
            i += 1
        elif (title := _title(lines, i, markdown=markdown)) is not None:
            start, end, level, i = title
            yield Element("title", start, end, level=level)
        else:
            stop = _block_end(lines, i, markdown=markdown)
            yield _span(_kind(lines[i], markdown=markdown), lines[i:stop])
            i = stop


def _lines(text: str) -> list[_Line]:
    lines, start = [], 0
    for raw in text.split("\n"):
        lines.append(_Line(start, raw))
        start += len(raw) + 1
    return lines


def _title(lines: list[_Line], i: int, *, markdown: bool) -> tuple[int, int, int, int] | None:
    """(start, end, level, index of the line after) of a heading at line i."""
    line = lines[i]
    if markdown and (match := _ATX.match(line.text)) and match[2]:
        return line.start + match.start(2), line.start + match.end(2), len(match[1]), i + 1
    if len(line.text.strip()) > _LONGEST_HEADING or (i > 0 and not lines[i - 1].blank):
        return None
    start = line.start + len(line.text) - len(line.text.lstrip())
    end = line.start + len(line.text.rstrip())
    if i + 1 < len(lines) and (rule := _UNDERLINE.fullmatch(lines[i + 1].text)):
        return start, end, 1 if rule[1].startswith("=") else 2, i + 2
    followed_by_capitals = i + 1 < len(lines) and _is_capitals(lines[i + 1].text)
    if not markdown and _is_capitals(line.text) and not followed_by_capitals:
        return start, end, 1, i + 1
    return None


def _is_capitals(text: str) -> bool:
    """A heading in capitals: at least four letters, more letters than anything else, no full stop at the end."""
    letters = sum(c.isalpha() for c in text)
    marks = sum(not c.isalpha() and not c.isspace() for c in text)
    return text.isupper() and letters >= 4 and letters > marks and text.rstrip()[-1] not in ".,;"


def _block_end(lines: list[_Line], i: int, *, markdown: bool) -> int:
    """Index after the block that starts at line i: up to a blank line, a heading, a table's edge or a list item."""
    if markdown and (fence := _FENCE.match(lines[i].text)):
        closing = (j for j in range(i + 1, len(lines)) if lines[j].text.strip().startswith(fence[1]))
        return next(closing, len(lines) - 1) + 1
    in_table = _kind(lines[i], markdown=markdown) == "table"
    for j in range(i + 1, len(lines)):
        line = lines[j]
        if line.blank or _RULE.fullmatch(line.text) or (markdown and _ATX.match(line.text)):
            return j
        kind = _kind(line, markdown=markdown)
        if kind == "list_item" or (kind == "table") != in_table:
            return j
    return len(lines)


def _kind(line: _Line, *, markdown: bool) -> Kind:
    text = line.text.lstrip()
    if markdown and text.startswith("|"):
        return "table"
    return "list_item" if BULLET.match(text) else "paragraph"


def _span(kind: Kind, lines: list[_Line]) -> Element:
    first, last = lines[0], lines[-1]
    start = first.start + len(first.text) - len(first.text.lstrip())
    return Element(kind, start, last.start + len(last.text.rstrip()))
