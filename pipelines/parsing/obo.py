"""OBO files of terms: the text is the file's own, each stanza is read line by line, so that a line is what is cited.

https://owlcollab.github.io/oboformat/doc/GO.format.obo-1_4.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from foundation.errors import EmptyFile, NoContent
from foundation.types import Element, ParsedDocument
from pipelines.parsing.text import decode

PARSER = "obo/1"

_STANZA = re.compile(r"\S(?:.*\S)?(?:\n[^\S\n]*\S.*)*")


def parse(path: Path, file_name: str) -> ParsedDocument:
    """Raises EmptyFile, NoContent, DamagedFile (no text at all)."""
    data = path.read_bytes()
    if not data:
        raise EmptyFile(f"{file_name} is empty (0 bytes).")
    text, warnings = decode(data, file_name)
    elements = list(_stanzas(text))
    if not elements:
        raise NoContent(f"{file_name} holds nothing but white space.", fix="Upload a file that has terms.")
    return ParsedDocument(text, elements, PARSER, warnings=warnings)


def _stanzas(text: str) -> Iterator[Element]:
    """Of kind `table`, whose lines are never cut nor joined."""
    for stanza in _STANZA.finditer(text):
        yield Element("table", stanza.start(), stanza.start() + len(stanza.group().rstrip()))
