"""People and places that a text itself marks as such: by a title, a label, a birth date, or `lives in`.

spaCy's named entities would find more, at four times the tagger's cost, and take drugs and diseases for people; what is
found here is certain enough to hang facts on.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from foundation.graph_schema import GraphSchema
from foundation.lexicon import LOCAL, Lexicon, Term
from foundation.person_names import DATE, TITLES, PersonName, parse_name, read_birth_date
from foundation.resolution import BORN
from foundation.types import Chunk
from pipelines.extraction.entities import Entity, local_term

_UPPER, _LOWER = "A-ZÀ-ÖØ-Þ", "a-zß-öø-ÿ"
_WORD = rf"[{_UPPER}](?:[{_LOWER}]*['’\-]?[{_UPPER}])?[{_LOWER}]+(?:[-'’][{_UPPER}]?[{_LOWER}]+)*"
_PARTICLE = r"(?:van|von|de|der|den|del|della|di|da|la|le|du|dos|bin|ibn|al|el)"
_TITLE = rf"(?:{'|'.join(title.capitalize() for title in sorted(TITLES))})\.?"
_MIDDLE = rf"(?: {_WORD}| [{_UPPER}]\.?(?=[ ,])| {_PARTICLE}(?= )){{0,3}}"
_FULL = rf"(?:{_TITLE} )?{_WORD}{_MIDDLE} {_WORD}(?:,? (?:Jr|Sr|II|III)\b\.?)?"
_TURNED = rf"{_WORD}, {_WORD}(?: {_WORD}| [{_UPPER}]\b\.?){{0,2}}"
_NAME = rf"(?P<name>{_TURNED}|{_FULL})"
_BIRTH = r"(?i:born|b\.|d\.?\s?o\.?\s?b\.?|date of birth|birth ?date)[\s:|]*(?i:on |in |is |was )?"
_DATE = rf"(?i:{DATE})"

_WITH_DATE = re.compile(rf"\b{_NAME}(?:\s*[,;(|\-–]\s*|\s+)(?i:who )?(?i:(?:was|is) )?{_BIRTH}{_DATE}")
_LABELLED = re.compile(
    r"\b(?i:(?:patient|full|client|resident|employee|contact)?[ _]?name|patient|client|resident)\s*[:|]\s*" + _NAME
)
_NEXT_FIELD = re.compile(rf"[^\n]{{0,60}}?(?:\n[^\n]{{0,60}}?){{0,3}}?\b{_BIRTH}{_DATE}")
_TITLED = re.compile(rf"\b(?P<name>{_TITLE} {_WORD}{_MIDDLE} {_WORD})")
_PATIENT = re.compile(rf"\b(?i:patient|resident|client) (?P<name>{_FULL})")
_REGION = r"(?:city|town|village|county|state|province|district|region|capital|municipality) of"
_LIVING, _MOVED = r"lives?|lived|living|resides?|residing|born", r"moved|travell?ed|relocated"
_PLACE = re.compile(rf"\b(?:(?i:{_REGION})|(?i:{_LIVING}) in|(?i:{_MOVED}) to) (?P<name>{_WORD}(?: {_WORD}){{0,2}})")
# What a slow pattern cannot do without, in lower case: the pattern tries every capital, this only a few letters.
_PLACE_NEEDS = re.compile(rf"(?:{_REGION}|(?:{_LIVING}) in|(?:{_MOVED}) to) ")
_MARKS = (
    (_WITH_DATE, re.compile(r"born|birth|b\.|d\.?\s?o\.?\s?b")),
    (_LABELLED, re.compile(r"(?:name|patient|client|resident)\s*[:|]")),
    (_TITLED, None),
    (_PATIENT, None),
)
# What every pattern needs one of, in lower case: looked for first, since most texts have none; the frequent ones first.
_CUES = (
    *("name", "patient", "born", "birth"),
    *(f"{title}{end}" for title in sorted(TITLES) for end in (" ", ".")),
    *("dob", "d.o.b", "d. o. b", " b. ", "resident", "client", "relocated to"),
    *(
        "lives in",
        "live in",
        "lived in",
        "living in",
        "reside",
        "residing in",
        "moved to",
        "traveled to",
        "travelled to",
    ),
    *(f"{kind} of" for kind in "city town village county state province district region capital municipality".split()),
)


@dataclass(frozen=True, slots=True)
class _Person:
    chunk: int
    start: int
    end: int
    name: PersonName
    born: str | None


def find_people(
    chunks: Sequence[Chunk], entities: Sequence[Sequence[Entity]], lexicon: Lexicon, schema: GraphSchema
) -> list[list[Entity]]:
    """By chunk: the people and places of one version. `entities` are the terms found so far.

    A person's node is of the name and the birth date; without a date of the name in this version, so that the rules of
    resolution decide whom else it is.
    """
    found: list[list[Entity]] = [[] for _ in chunks]
    lower = [chunk.text.lower() for chunk in chunks]
    cued = [n for n, text in enumerate(lower) if any(cue in text for cue in _CUES)]
    if schema.person_type is not None and cued:
        people = [person for n in cued for person in _people(n, chunks[n].text, lower[n], entities[n])]
        dates: dict[PersonName, set[str]] = defaultdict(set)
        for person in people:
            if person.born:
                dates[person.name].add(person.born)
        for person in (*people, *_again(people, chunks)):
            term = _term(person, dates, chunks, schema.person_type)
            found[person.chunk].append(Entity(person.start, person.end, term, "person"))
    if schema.place_type is not None:
        for n in (n for n in cued if _PLACE_NEEDS.search(lower[n])):
            found[n] += _places(chunks[n].text, [*entities[n], *found[n]], lexicon, schema.place_type)
    return [_apart(row) for row in found]


def _people(number: int, text: str, lower: str, known: Sequence[Entity]) -> Iterator[_Person]:
    taken: list[tuple[int, int]] = []
    for pattern, needed in _MARKS:
        if needed and not needed.search(lower):
            continue
        for match in pattern.finditer(text):
            start, end = match.span("name")
            name = parse_name(match["name"])
            overlaps = any(start < b and a < end for a, b in taken)
            names_thing = pattern is not _WITH_DATE and any(start < e.end and e.start < end for e in known)
            if name is None or overlaps or names_thing:
                continue
            dated = match if pattern is _WITH_DATE else _NEXT_FIELD.match(text, end) if pattern is _LABELLED else None
            taken.append((start, end))
            yield _Person(number, start, end, name, read_birth_date(dated) if dated else None)


def _again(people: Sequence[_Person], chunks: Sequence[Chunk]) -> Iterator[_Person]:
    """Where the names stand again without their mark."""
    written = {chunks[p.chunk].text[p.start : p.end]: p.name for p in people}
    if not written:
        return
    names = "|".join(re.escape(name) for name in sorted(written, key=len, reverse=True))
    taken = {(p.chunk, p.start) for p in people}
    for n, chunk in enumerate(chunks):
        for match in re.finditer(rf"\b(?:{names})(?!\w)", chunk.text):
            if (n, match.start()) not in taken:
                yield _Person(n, match.start(), match.end(), written[match.group()], None)


def _term(person: _Person, dates: Mapping[PersonName, set[str]], chunks: Sequence[Chunk], type_: str) -> Term:
    """`dates`: of birth, that this version gives to each name."""
    born = person.born
    if born is None:
        known = dates.get(person.name, set())
        born = next(iter(known)) if len(known) == 1 else None
    name = _shown(chunks[person.chunk].text[person.start : person.end])
    if born is not None:
        return Term(f"{BORN}{born}:{person.name.key}", type_, name)
    return Term(f"{LOCAL}{person.name.key}@{chunks[0].version_id[:16]}", type_, name)


def _shown(written: str) -> str:
    """Without the title; the surname last."""
    name = re.sub(rf"\A{_TITLE} ", "", " ".join(written.split()))
    first, comma, rest = name.partition(", ")
    return f"{rest} {first}" if comma and re.fullmatch(_TURNED, name) else name


def _places(text: str, taken: Sequence[Entity], lexicon: Lexicon, type_: str) -> Iterator[Entity]:
    for match in _PLACE.finditer(text):
        start, end = match.span("name")
        if not any(start < e.end and e.start < end for e in taken) and not lexicon.lookup(match["name"]):
            yield Entity(start, end, local_term(match["name"], type_), "place")


def _apart(entities: Iterable[Entity]) -> list[Entity]:
    """In order, the longer of two that overlap."""
    kept: list[Entity] = []
    for entity in sorted(entities, key=lambda e: (e.start - e.end, e.start)):
        if all(entity.end <= other.start or other.end <= entity.start for other in kept):
            kept.append(entity)
    return sorted(kept, key=lambda e: e.start)
