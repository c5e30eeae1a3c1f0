"""The sections of a document that a question names, by number or by the words of their headings."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from foundation.types import ParsedDocument
from query_service.reasoning.question_words import content_words

_NUMBER = re.compile(
    r"(?:(?:section|chapter|part|appendix|annex|article|clause|§)\s*)?(\d+(?:\.\d+)*|[A-Z])(?:[.):\s–-]|$)", re.I
)
_ENOUGH = 0.6  # of the topic's words must stand in headings, for the headings to narrow it
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
    """Every heading up to the next of its level or above; a title of the document that is repeated stays one."""
    titles = sorted((e for e in parsed.elements if e.kind == "title"), key=lambda e: e.start)
    sections = []
    for index, element in enumerate(titles):
        level = element.level or 1
        end = next((t.start for t in titles[index + 1 :] if (t.level or 1) <= level), len(parsed.text))
        sections.append(Section(" ".join(parsed.text[element.start : element.end].split()), level, element.start, end))
    return sections


def find_sections(parsed: ParsedDocument, topic: str, number: str | None) -> tuple[Section, ...]:
    """The outermost sections that the number or the topic's words name; none: the whole document."""
    sections = sections_of(parsed)
    if number is not None:
        return _outermost([s for s in sections if _numbered(s.title, number)])
    wanted = set(content_words(topic))
    if not wanted:
        return ()
    document = set(content_words(parsed.title or ""))
    named: list[Section] = []
    for section in sections:
        own = set(content_words(section.title))
        common = own & wanted
        if own and len(common) >= _OWN * len(own) and not (own == document and section.level == 1):
            named.append(section)
    covered = {word for s in named for word in content_words(s.title)} & wanted
    if len(covered) < _ENOUGH * len(wanted):
        return ()
    best = _outermost(named)
    full = [s for s in best if wanted <= set(content_words(s.title))]
    return tuple(full) or best


def _numbered(title: str, number: str) -> bool:
    found = _NUMBER.match(title)
    return found is not None and found[1].casefold() == number.casefold()


def _outermost(sections: Sequence[Section]) -> tuple[Section, ...]:
    return tuple(
        s
        for s in sections
        if not any(
            o is not s and o.start <= s.start and s.end <= o.end and (o.start, o.end) != (s.start, s.end)
            for o in sections
        )
    )
