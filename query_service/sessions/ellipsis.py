"""Fragments that are a question only beside the one before: `And metformin?`, `only in 2019`, `by payer`, `why?`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from query_service.sessions.topics import NOUNS, PREDICATE, Find, topics

Kind = Literal["about", "only", "by", "where", "wh"]

_LEAD = re.compile(r"^\W*(?:(?:and|but|so|ok|okay|then|now|or|also|yes|no|please|hm+)\b[\s,]*)+", re.I)
_OPENS = re.compile(
    r"^(?:what|how|which|who|whom|whose|when|where|why|is|are|was|were|does|do|did|can|could|may|must|should|will|would"
    r"|has|have|had|list|show|give|tell|find|summari[sz]e|classify|define|explain|count|compare)\b",
    re.I,
)
_ABOUT = re.compile(r"^(?:what|how) about\s+(?:the\s+)?(?:same\s+)?|^(?:the\s+)?same\s+(?=for|in|with|of|by)", re.I)
_ONLY = re.compile(r"^(?:only|just)\s+(?:those\s+|the\s+ones\s+|the\s+)?|\s+only$", re.I)
_BY = re.compile(
    r"^(?:(?:split|grouped?|broken down|break it down|instead|rather)\s+)?(?:by|per|for each|for every)\s+", re.I
)
_WHERE = re.compile(
    r"^(?P<word>in|for|since|before|after|during|from|between|with|without|of|at|on|under|over|until|excluding|except)\s+",
    re.I,
)
_INSTEAD = re.compile(r"\s*\b(?:instead|rather|then|too|as well|please)\b\s*$", re.I)
_WH = re.compile(
    r"^(?P<wh>why(?: not)?|when|where|who|since when|until when|how (?:many|much|long|often|soon|far|old|come)"
    r"|for how long|in which (?:year|month|room|case)|by whom|at what (?:age|time|dose|price))$",
    re.I,
)
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_VERB = re.compile(r"\b(?:is|are|was|were|does|do|did|can|could|may|must|should|will|would|has|have|had)\b", re.I)
_WH_PHRASE = re.compile(
    r"^\W*(?:(?:by|in|at|for|within|on|with|to|from)\s+)?(?:what|which|who|whom|when|where|why|how)\b.*?"
    r"(?=\b(?:is|are|was|were|does|do|did|can|could|may|must|should|will|would|has|have|had)\b)",
    re.I,
)
_GROUPED = re.compile(
    r"\s+(?:by|per|for each|for every)\s+[\w\s]+?(?=\s+(?:in|since|before|after|for|of|with)\b|\W*$)", re.I
)
_MONTHS = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DATE = re.compile(rf"\b(?:{_MONTHS}\.? \d{{1,2}}|\d{{1,2}}\.? {_MONTHS})\b(?:,? (?:19|20)\d\d)?", re.I)
_NUMBERED = re.compile(r"\b([A-Za-z]{3,})\s+\d+\b")
_LONGEST = 8  # words


@dataclass(frozen=True, slots=True)
class Fragment:
    kind: Kind
    text: str
    """What is new: `metformin`, `2019`, `payer`, or the question word."""
    preposition: str = ""
    more: bool = False
    """Said to come on top (`and by year`), not in place of something."""


def fragment(question: str) -> Fragment | None:
    """What the question adds to the one before; None for one that is whole."""
    text = question.strip().strip(" ?.!")
    lead = _LEAD.match(text)
    rest = text[lead.end() :].strip() if lead is not None else text
    if not rest or len(rest.split()) > _LONGEST:
        return None
    if match := _WH.match(rest):
        return Fragment("wh", match["wh"].lower())
    about = _ABOUT.match(rest)
    rest = rest[about.end() :] if about is not None else rest
    instead = _INSTEAD.search(rest) is not None
    rest = _INSTEAD.sub("", rest)
    if about is None and _OPENS.match(rest):
        return None
    if about is not None and (_VERB.search(rest) or re.search(r"\w+ of \w+", rest)):
        return None  # `What about the symptoms of asthma?` says it all
    if match := _BY.match(rest):
        return Fragment("by", rest[match.end() :], more=lead is not None and not instead)
    only = _ONLY.search(rest)
    rest = _ONLY.sub("", rest).strip() if only is not None else rest
    where = _WHERE.match(rest)
    marked = about is not None or only is not None or instead or where is not None or lead is not None
    if not marked or not rest or _VERB.search(rest):
        return None
    new = rest[where.end() :] if where is not None else rest
    kind: Kind = "only" if only is not None else "where" if where is not None and about is None else "about"
    return Fragment(kind, new, where["word"].lower() if where is not None else "")


def completed(part: Fragment, before: str, find: Find) -> list[str]:
    """The question before with what is new, in the ways in which it may be meant; the likeliest first."""
    whole = before.strip().rstrip("?.! ")
    if part.kind == "wh":
        return [_asked_anew(part.text, whole)]
    if part.kind == "by":
        bare = _GROUPED.sub("", whole)
        also = [f"{whole} and {part.text}?"] if part.more and bare != whole else []
        return [*also, _inserted(whole, part.text), f"{whole} by {part.text}?"]
    found: list[str] = []
    if _YEAR.search(part.text) and _YEAR.search(whole):
        return [f"{_YEAR.sub(lambda _: _YEAR.search(part.text)[0], whole)}?"]  # type: ignore[index]  # just matched
    if (dated := _other_number(part.text, whole)) is not None:
        return [dated]
    if part.kind == "about":
        found += _exchanged(part, whole, find)
    preposition = part.preposition or ("in" if _YEAR.fullmatch(part.text) else "for")
    if part.preposition and part.kind != "only":
        found += _same_preposition(part, whole)
    return list(dict.fromkeys([*found, f"{whole} {preposition} {part.text}?"]))


def _other_number(new: str, whole: str) -> str | None:
    """The question about another day, whose year stays where the new one has none, or another item of a number."""
    for numbered in _NUMBERED.finditer(new):
        same = re.search(rf"\b{numbered[1]}\s+\d+\b", whole, re.I)
        if same is not None:
            return f"{whole[: same.start()]}{numbered[0]}{whole[same.end() :]}?"
    old, day = _DATE.search(whole), _DATE.search(new)
    if old is None or day is None:
        return None
    year = _YEAR.search(old[0])
    added = f", {year[0]}" if year is not None and not _YEAR.search(new) else ""
    return f"{whole[: old.start()]}{new}{added}{whole[old.end() :]}?"


def _exchanged(part: Fragment, whole: str, find: Find) -> list[str]:
    """Another thing in place of the one that was asked about: of the same type, else the topic."""
    new = find(part.text)
    types = {entity.type for entity in new}
    same = [e for e in find(whole) if e.type in types]
    found = [f"{whole[: e.start]}{part.text}{whole[e.end :]}?" for e in reversed(same)]
    if part.preposition or found:
        return found
    for topic in topics(f"{whole}?", find)[:2]:
        place = whole.rfind(topic)
        if place >= 0:
            found.append(f"{whole[:place]}{part.text}{whole[place + len(topic) :]}?")
    return found


def _same_preposition(part: Fragment, whole: str) -> list[str]:
    """`for women` in place of `for men`."""
    match = re.search(rf"^.*\b{part.preposition}\s+({NOUNS})\W*$", whole, re.I)
    if match is None:
        return []
    phrase = PREDICATE.sub("", match[1])
    return [f"{whole[: match.start(1)]}{part.text}{whole[match.start(1) + len(phrase) :]}?"]


def _inserted(whole: str, new: str) -> str:
    """The grouping in place of the one that was asked for, or in front of the conditions."""
    match = _GROUPED.search(whole)
    return f"{whole[: match.start()]} by {new}{whole[match.end() :]}?" if match is not None else f"{whole} by {new}?"


def _asked_anew(wh: str, whole: str) -> str:
    opening = _WH_PHRASE.match(whole)
    rest = whole[opening.end() :] if opening is not None else whole
    counts = opening is not None and len(opening[0].split()) > 2  # a noun goes with it: `how many visits`
    if counts or (opening is None and not _VERB.match(whole)):
        return f"{wh[0].upper()}{wh[1:]}: {whole[0].lower()}{whole[1:]}?"
    return f"{wh[0].upper()}{wh[1:]} {rest[0].lower()}{rest[1:]}?"
