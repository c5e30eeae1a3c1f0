"""What a question is about: the noun phrases that a pronoun of the next question may stand for."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from query_service.reasoning.question_words import STOP_WORDS


@dataclass(frozen=True, slots=True)
class Entity:
    """text[start:end] is a name of the domain; `type` as its graph schema calls it."""

    start: int
    end: int
    type: str


Find = Callable[[str], Sequence[Entity]]

_BE = "is|are|was|were"
_DO = "does|do|did|can|could|may|must|should|will|would|has|have|had"
NOUNS = r"(?:the\s+|an?\s+)?[\w-]+(?:\s+[\w-]+){0,4}"
# The noun phrase that ends the question, behind its last preposition or auxiliary.
_LAST = re.compile(rf"^.*\b(?P<word>of|for|about|with|on|in|to|{_BE}|{_DO})\s+(?P<phrase>{NOUNS})\W*$", re.I)
_NAME = re.compile(
    r"(?<=[\w,] )(?:(?:patient|member|Dr\.?|Mr\.?|Ms\.?)\s)?[A-Z][\w'-]+(?:\s[A-Z][\w'-]+)*|\"[^\"]+\""
    r"|\S+\.\w{2,5}\b"
)
_SUBJECT = re.compile(
    rf"\b(?:{_BE}|{_DO})\s+((?:the|an?|my|our)\s+[\w-]+(?:\s+(?!(?:of|for|in|on|to|be|{_BE})\b)[\w-]+)??)\s+(?=\w)",
    re.I,
)
PREDICATE = re.compile(
    r"\s+(?:(?:be|been|being)\b.*|\w+(?:ed|en)|kept|held|made|built|sold|paid|valid|open|closed|due|free|safe|needed)$",
    re.I,
)


def nothing_known(_: str) -> Sequence[Entity]:
    return ()


def topics(question: str, find: Find) -> list[str]:
    """The likeliest first: names of the domain, proper names, the phrase that ends the question, its subject."""
    found = [with_determiner(question, e.start, e.end) for e in reversed(find(question))]
    found += [with_determiner(question, m.start(), m.end()) for m in _NAME.finditer(question)]
    if (last := _LAST.search(question)) is not None:
        phrase = last["phrase"].strip()
        if re.fullmatch(_DO, last["word"], re.I) and len(phrase.split()) > 1:
            phrase = phrase.rpartition(" ")[0]  # its verb
        found.append(PREDICATE.sub("", phrase))
    if (subject := _SUBJECT.search(question)) is not None:
        found.append(PREDICATE.sub("", subject[1].strip()))
    return [topic for topic in dict.fromkeys(found) if any(w not in STOP_WORDS for w in topic.lower().split())]


def with_determiner(text: str, start: int, end: int) -> str:
    """`the clinic` for `clinic`, where it stands so."""
    before = re.search(r"\b(?:the|an?)\s+$", text[:start], re.I)
    return text[before.start() if before is not None else start : end].strip()
