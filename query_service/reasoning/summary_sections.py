"""The sections of a document that a question names, by number or by the words of their headings."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from foundation.types import Element, ParsedDocument
from query_service.reasoning.question_words import STOP_WORDS, content_words

_NUMBER = re.compile(
    r"(?:(?:section|chapter|part|appendix|annex|article|clause|§)\s*)?(\d+(?:\.\d+)*|[A-Z])(?:[.):\s–-]|$)", re.I
)
_ENOUGH = 0.6  # of the topic's words must stand in headings, for the headings to narrow it
_RUN_IN, _RUN_IN_WORDS = 50, 9  # level, and most words of one
_TITLED = 0.7  # of its longer words begin with a capital
_WHOLE = 0.8  # of the text: a section so long is the document
_OWN = 0.5  # of a heading's words must be of the topic


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with what stands under it: parsed text[start:end]."""

    title: str
    level: int
    start: int
    end: int

    def holds(self, position: int) -> bool:
        return self.start <= position < self.end


def sections_of(parsed: ParsedDocument) -> list[Section]:
    """Every heading up to the next of its level or above. Run-in headings stand below all others."""
    headings = [(e.start, e.end, e.level or 1) for e in parsed.elements if e.kind == "title"]
    for element in parsed.elements:
        end = run_in_heading(parsed, element)
        if end is not None:
            headings.append((element.start, end, _RUN_IN))
    headings.sort()
    sections = []
    for index, (start, end, level) in enumerate(headings):
        stop = next((other for other, _, its in headings[index + 1 :] if its <= level), len(parsed.text))
        sections.append(Section(" ".join(parsed.text[start:end].split()), level, start, stop))
    return sections


def run_in_heading(parsed: ParsedDocument, element: Element) -> int | None:
    """Where the heading ends that is set as the first line of a paragraph, or is all of it; None without one."""
    if element.kind != "paragraph":
        return None
    line, newline, rest = parsed.text[element.start : element.end].partition("\n")
    words = line.split()
    long = [word for word in words if len(word) > 3 and word[0].isalpha()]
    titled = sum(word[0].isupper() for word in long)
    if (
        not 1 <= len(words) <= _RUN_IN_WORDS
        or not long
        or titled < _TITLED * len(long)
        or line.rstrip()[-1] in ".:;,?!…"
        or words[-1].casefold() in STOP_WORDS
    ):
        return None
    if any(c.isdigit() for c in line) or not line[0].isupper() or (newline and not rest[:1].isupper()):
        return None
    return element.start + len(line)


def find_sections(parsed: ParsedDocument, topic: str, number: str | None, titled: str = "") -> tuple[Section, ...]:
    """The outermost sections that the number or the topic's words name; none: the whole document.

    titled: words of the topic that are of the document's title too. They name a section only where that is not the
    heading of the whole, and only along with other words.
    """
    sections = sections_of(parsed)
    if number is not None:
        return _outermost([s for s in sections if _numbered(s.title, number)])
    wanted = set(content_words(topic))
    if not wanted:
        return ()
    named = [s for s in sections if s.end - s.start < _WHOLE * len(parsed.text) and _of_words(s, wanted)]
    covered = {word for s in named for word in content_words(s.title)} & wanted
    if len(covered) < _ENOUGH * len(wanted):
        return ()
    best = _outermost(named)
    full = [s for s in best if wanted <= set(content_words(s.title))]
    body = min((e.start for e in parsed.elements if e.kind not in ("title", "header", "footer")), default=0)
    others = set(content_words(titled))
    return _outermost([*(full or best), *(s for s in sections if s.start > body and others and _of_words(s, others))])


def _of_words(section: Section, words: set[str]) -> bool:
    own = set(content_words(section.title))
    return bool(own) and len(own & words) >= _OWN * len(own)


def _numbered(title: str, number: str) -> bool:
    found = _NUMBER.match(title)
    return found is not None and found[1].casefold() == number.casefold()


def _outermost(sections: Sequence[Section]) -> tuple[Section, ...]:
    """Without those that lie in another; of two with the same span the first."""
    kept: list[Section] = []
    for section in sorted(sections, key=lambda s: (s.start, -s.end)):
        if not kept or section.end > kept[-1].end:
            kept.append(section)
    return tuple(kept)
