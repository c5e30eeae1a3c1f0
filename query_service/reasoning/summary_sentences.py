"""The sentences of a parsed document that may stand in a summary: running text, without what only surrounds it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from foundation.sentences import split_sentences
from foundation.types import Element, ParsedDocument
from query_service.reasoning.summary_sections import run_in_heading

_FEWEST_WORDS, _MOST_CHARACTERS = 5, 600
_PAIR = 320  # characters of two sentences that go together
_ENOUGH = 3  # whole sentences; a document with fewer is summed up by its fragments as well
_REPEATED = 3  # times that a line stands in a document, before it counts as furniture

_BULLET = re.compile(r"(?:[•‣⁃∙▪■□●○◦◆➢✓✔❑❏☐\uf0b7\uf0a7*–—-]|\(?(?:\d{1,3}|[a-zA-Z])[.)])\s+")
_ENDS = re.compile(r"[.!?。！？][\"'”’»)\]]*(?:\s?\[?\d{1,3}(?:[,–-]\d{1,3})*\]?)?$")
_DEPENDENT = re.compile(
    r"(?:it|its|they|their|them|these|this|those|that|such|he|she|his|her|both|however|also|therefore|thus|moreover|"
    r"furthermore|in addition|additionally|instead|otherwise|for example|for instance|but|and|or|so|then)\b",
    re.I,
)
_SELF = re.compile(
    r"this (?:document|guide|guideline|policy|booklet|notice|article|paper|report|study|section|form|leaflet)", re.I
)
_PRONOUN = re.compile(r"(?:it|its|they|their|these|those|this|he|she|his|her|both)\b", re.I)
_TERM = re.compile(r"[^.:]{2,60}: [a-z]")  # `Hypertension: blood pressure of …`
# An item that only completes the line above it: `Wash your hands:` | `After contact with blood.`
_COMPLETES = re.compile(
    r"(?:before|after|during|when|while|until|if|to|for|in|of|with|by|from|at|on|as|prior|where|who|that)\b", re.I
)
_FURNITURE = re.compile(
    r"https?:|www\.|\bdoi\b|@\w+\.|\.{4,}|_{3,}|\bet al\b.*\d{4}|©|\bcopyright\b|all rights reserved|\bISBN\b|"
    r"\b(?:see|refer to|go back to) (?:page|appendix|table|figure)\b|\b(?:available|accessed) (?:at|from|on)\b|"
    r"\bcontinued\b|\bpages? \d|"
    r"\bthis page (?:is )?intentionally\b|\bskip to\b|\bcheck (?:one|all|here|if)\b|\bnot applicable\b|\b[IVX]{1,5}\.$",
    re.I,
)
_APPARATUS = re.compile(
    r"\W*(?:\d+[.)]?\s*)?(?:references?|bibliography|works cited|(?:table of )?contents|index|acknowledge?ments?|"
    r"source documents|further reading|disclaimer|copyright|key links.*|for more information|notes|"
    r"where can i (?:get|find) more information.*|list of (?:tables|figures))\W*$",
    re.I,
)
_PART = re.compile(r"\s*(?:appendix|annex|chapter|section|part)\b", re.I)


@dataclass(frozen=True, slots=True)
class Sentence:
    """parsed text[start:end], white space apart, is `text`."""

    start: int
    end: int
    text: str
    heading: str | None
    place: int
    """Its place in its paragraph, from 0."""
    order: int = 0
    """Its place among the document's sentences, from 0."""
    dependent: bool = False
    """It opens with a word that points back."""
    fragment: bool = False
    """A list item, table row or line that is no whole sentence."""


def sentences_of(parsed: ParsedDocument) -> list[Sentence]:
    """In order. Headers, footers, headings, tables, lists of contents, references and links are left out."""
    found = list(_sentences(parsed))
    repeated = Counter(sentence.text.casefold() for sentence in found)
    once: dict[str, Sentence] = {}
    for sentence in found:
        if repeated[sentence.text.casefold()] < _REPEATED:
            once.setdefault(sentence.text.casefold(), sentence)
    whole = [sentence for sentence in once.values() if not sentence.fragment]
    kept = whole if len(whole) >= _ENOUGH else list(once.values())
    return [replace(sentence, order=order) for order, sentence in enumerate(kept)]


def _sentences(parsed: ParsedDocument) -> Iterator[Sentence]:
    heading: str | None = None
    skipped: int | None = None  # level of the heading under which nothing counts
    listing = False  # whether what is read are the items under a line that ended with a colon
    for element in _joined(parsed):
        text = parsed.text[element.start : element.end]
        if element.kind == "title":
            level = element.level or 1
            if skipped is None or level <= skipped or _PART.match(text):
                skipped = level if _APPARATUS.match(" ".join(text.split())) else None
            heading, listing = " ".join(text.split()), False
            continue
        run_in = run_in_heading(parsed, element)
        if run_in is not None:
            heading = parsed.text[element.start : run_in]
            element = replace(element, start=run_in)
        listing = listing and element.kind == "list_item"
        if skipped is None:
            yield from _of_element(parsed.text, element, heading, listing)
        listing = listing or text.rstrip().endswith(":")


def _of_element(text: str, element: Element, heading: str | None, listing: bool) -> Iterator[Sentence]:
    """A sentence that points back goes together with the one before it, where both are short."""
    before: Sentence | None = None
    for place, (start, end, item) in enumerate(_pieces(text, element)):
        said = " ".join(text[start:end].split())
        if not _usable(said):
            if before is not None:
                yield before
            before = None
            continue
        dependent = bool(_DEPENDENT.match(said)) and not _SELF.match(said)
        if dependent and before is not None and not item and _PRONOUN.match(said) and end - before.start <= _PAIR:
            before = replace(before, end=end, text=f"{before.text} {said}")
            continue
        if before is not None:
            yield before
        explains = item and _TERM.match(said) is not None
        completes = listing and item and _COMPLETES.match(said) is not None and ", " not in said
        fragment = element.kind == "table" or not _whole(said) or completes
        before = Sentence(start, end, said, heading, place, dependent=dependent or explains, fragment=fragment)
    if before is not None:
        yield before


def _joined(parsed: ParsedDocument) -> Iterator[Element]:
    """The elements; one that breaks off in a sentence takes in the next that goes on with a small letter.

    A layout reader cuts list items at their line ends: `● Use low-fat` | `mayonnaise on bread.`
    """
    elements = [e for e in sorted(parsed.elements, key=lambda e: e.start) if e.kind not in ("header", "footer")]
    if not parsed.elements:
        elements = [Element("paragraph", 0, len(parsed.text))]
    index = 0
    while index < len(elements):
        element = elements[index]
        while index + 1 < len(elements) and _goes_on(parsed, element, elements[index + 1]):
            index += 1
            element = replace(element, end=elements[index].end)
        yield element
        index += 1


def _goes_on(parsed: ParsedDocument, element: Element, following: Element) -> bool:
    between = parsed.text[element.end : following.start]
    return (
        element.kind in ("paragraph", "list_item")
        and following.kind == "paragraph"
        and not between.strip()
        and not _ENDS.search(parsed.text[element.start : element.end].rstrip())
        and not parsed.text[element.start : element.end].rstrip().endswith(":")
        and parsed.text[following.start : following.start + 1].islower()
    )


def _pieces(text: str, element: Element) -> Iterator[tuple[int, int, bool]]:
    """(start, end, whether it is a list item) of each sentence of the element, without its bullet."""
    # A blank line inside a joined element is no end of a sentence.
    body = re.sub(r"\n\s*\n(?=[a-z])", lambda m: " " * len(m[0]), text[element.start : element.end])
    for a, b in split_sentences(body):
        start, end = element.start + a, element.start + b
        bullet = _BULLET.match(text, start, end)
        yield bullet.end() if bullet else start, end, bool(bullet) or element.kind == "list_item"


def _usable(said: str) -> bool:
    words = said.split()
    letters = sum(c.isalpha() for c in said)
    return (
        len(words) >= _FEWEST_WORDS
        and len(said) <= _MOST_CHARACTERS
        and letters >= 0.6 * len(said.replace(" ", ""))
        and not _FURNITURE.search(said)
        and not said.endswith("?")
    )


def _whole(said: str) -> bool:
    first = next((c for c in said if c.isalnum()), "")
    return bool(_ENDS.search(said)) and not first.islower() and not said.isupper()
