"""A follow-up becomes a question that stands alone, by rules: what it lacks comes from the question before it.

`What about 2022?` after `How many encounters were there in 2021?` asks the same of another year; a pronoun without its
noun takes the topic of the question before.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_ABOUT = re.compile(r"^(?:and|what about|how about|and what about|and how about)\b[\s,]*(?:for|in|of)?\s*", re.I)
_PRONOUN = re.compile(r"\b(it|its|they|them|their|this|that|these|those|he|she|his|her)\b", re.I)
_NAMED = re.compile(r"\b[A-Z][\w-]{2,}|\b\w*\d\w*\b|\"[^\"]+\"")
# The noun phrase that ends the question, behind its last preposition or verb.
_SUBJECT = re.compile(
    r"^.*\b(?:of|for|about|with|on|does|do|is|are|was|were)\s+((?:the\s+|an?\s+)?[\w-]+(?:\s+[\w-]+){0,4})\??\s*$", re.I
)


def standalone(question: str, earlier: Sequence[str]) -> str:
    """The question itself when it stands alone or nothing came before; else rewritten with the one before it."""
    if not earlier:
        return question
    before = earlier[-1]
    opening = _ABOUT.match(question)
    if opening and len(question.split()) <= 8:
        return _replaced(before, question[opening.end() :].strip(" ?."))
    if _PRONOUN.search(question) and len(question.split()) <= 12 and not _NAMED.search(question[1:]):
        topic = _SUBJECT.search(before)
        if topic:
            return _PRONOUN.sub(lambda m: _possessive(m.group(), topic.group(1)), question, count=1)
    return question


def _replaced(before: str, new: str) -> str:
    """The earlier question about `new`: in place of the year, or of its subject."""
    if _YEAR.search(new) and _YEAR.search(before):
        return _YEAR.sub(_YEAR.search(new).group(), before)  # type: ignore[union-attr]  # just matched
    subject = _SUBJECT.search(before)
    if subject:
        return f"{before[: subject.start(1)]}{new}?"
    return f"{before.rstrip('?. ')}, {new}?"


def _possessive(pronoun: str, topic: str) -> str:
    return f"{topic}'s" if pronoun.lower() in ("its", "their", "his", "her") else topic
