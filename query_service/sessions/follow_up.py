"""A follow-up becomes a question that stands alone, by rules: what it lacks comes from the question before it.

Two things can be lacking: what a pronoun stands for (`How is it treated?`), and all that an ellipsis leaves out (`And
metformin?`, `only in 2019`, `why?`). A question that lacks neither is never touched.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from query_service.reasoning.question_words import STOP_WORDS, stem
from query_service.sessions.ellipsis import completed, fragment
from query_service.sessions.topics import Find, nothing_known, topics

_WORD = re.compile(r"[^\W_]+(?:['’\-][^\W_]+)*")
_PRONOUN = re.compile(
    r"\b(?P<poss>its|their|his|her)\b(?=\s+\w)|\b(?P<plain>it|they|them|he|she|him|her|theirs|hers)\b"
    r"|\b(?P<pointing>that|this|those|these)\b(?=\s*(?:[?.!,]|$)"
    r"|\s+(?:is|are|was|were|does|do|did|has|have|had|can|may|must|should|will|work|works|apply|applies|cost|costs|happen|"
    r"last|mean|in|for|by|at|on|with|before|after|since|too|also|valid|allowed|needed|required|necessary|treated|decided)\b)"
    r"|\b(?:the\s+)?(?P<ones>ones?)\b(?=\s*[?.!]?$)",
    re.I,
)
_DETERMINED = re.compile(r"\b(?:that|this|those|these|the same)\s+(?P<noun>[a-z]+)\b", re.I)
_EXPLETIVE = re.compile(
    r"\bit\b(?=\s+(?:is\s+|was\s+|be\s+)?(?:\w+ly\s+)?(?:necessary|possible|safe|allowed|permitted|required|true|normal"
    r"|ok|okay|important|better|best|legal|takes?|costs?)\b.*\b(?:to|that|if)\b)"
    r"|\b(?:does|will|did) it (?:take|cost) to\b",
    re.I,
)
_RELATIVE = re.compile(r"\w\s+(?:that|this)$", re.I)
_CLAUSE = re.compile(r"[,;]|\b(?:if|when|because|after|before|while|and|but|although|unless|until)\b", re.I)
_PLURAL = frozenset("they them their these those theirs".split())
# Asks who or what does something: `Which drug treats influenza?`, not `What does metformin treat?`
_LISTS = re.compile(r"^\W*(?:which|what|who)\b(?!.*\b(?:does|do|did)\b)", re.I)

_GROUP = re.compile(
    r"^\W*(?:which|how many|what|list|show|give me|find)\s+(?:all\s+|the\s+|of the\s+)*(?P<noun>[\w-]+(?:\s[\w-]+)?)\s+"
    r"(?P<verb>were there|are there|did we have|do we have|were|are|was|have|had|has|who|with|in|from|since|that)\b"
    r"(?P<rest>.*?)[?.!\s]*$",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Turn:
    """A question that was asked before, as it stood alone, and what its answer said."""

    question: str
    answers: tuple[str, ...] = ()
    """Texts of the claims."""
    from_tables: bool = False


def standalone(
    question: str,
    earlier: Sequence[Turn],
    find: Find = nothing_known,
    type_words: Mapping[str, str] | None = None,
) -> list[str]:
    """Questions that stand alone and may be meant, the likeliest first; the question alone where it lacks nothing.

    find: the domain's entities in a text. type_words: what its types are called (`medicine`: drug).
    """
    if not earlier:
        return [question]
    before = earlier[-1]
    part = fragment(question)
    if part is not None:
        return completed(part, before.question, find) or [question]
    return _with_antecedent(question, before, find, type_words or {})


def _with_antecedent(question: str, before: Turn, find: Find, type_words: Mapping[str, str]) -> list[str]:
    match = _loose(question)
    if match is not None:
        found = [_replaced(question, match, topic) for topic in _antecedents(question, match, before, find)]
        return list(dict.fromkeys(found)) or [question]
    for determined in _DETERMINED.finditer(question):
        # `that drug` is the drug of the question before; `that policy` may as well be one of several.
        type_ = type_words.get(determined["noun"].lower())
        same = [e for e in find(before.question) if e.type == type_]
        if len(same) == 1:
            name = before.question[same[0].start : same[0].end]
            return [question[: determined.start()] + name + question[determined.end() :]]
    return [question]


def _loose(question: str) -> re.Match[str] | None:
    """The first pronoun that nothing in the question itself explains."""
    barred = [m.span() for m in _EXPLETIVE.finditer(question)]
    for match in _PRONOUN.finditer(question):
        if any(start <= match.start() < end for start, end in barred):
            continue
        ahead = question[: match.start()]
        pointing = match["pointing"] or ""
        if pointing and _RELATIVE.search(question[: match.end("pointing")]) and _content(ahead.split()[-1:]):
            continue  # `patients that have asthma`
        clauses = _CLAUSE.split(ahead)
        own = clauses if match["poss"] or match["ones"] else clauses[:-1]
        if any(_content(_WORD.findall(clause)) for clause in own):
            continue
        return match
    return None


def _content(words: Sequence[str]) -> bool:
    return any(word.lower() not in STOP_WORDS and len(word) > 2 for word in words)


def _antecedents(question: str, match: re.Match[str], before: Turn, find: Find) -> list[str]:
    """What the pronoun may stand for, the likeliest first."""
    pronoun = match.group().lower().split()[-1]
    named = topics(before.question, find)
    if pronoun in _PLURAL or pronoun == "ones":
        group = _group(before.question)
        if group is not None:
            return [group, *named]
    answered = _answered(before, find)
    if answered is None:
        return named
    verb = re.match(r"\s+(\w+)", question[match.end() :])
    passive = re.search(r"\b(?:is|are|was|were|be|been)\s*$", question[: match.start()], re.I) is not None
    same = verb is not None and stem(verb[1].lower()) in {stem(w.lower()) for w in _WORD.findall(before.question)}
    return [*named, answered] if passive and same else [answered, *named]


def _answered(before: Turn, find: Find) -> str | None:
    """The one thing that the answer named, where the question asked which it is."""
    if not _LISTS.match(before.question) or before.from_tables:
        return None
    asked = {before.question[e.start : e.end].lower() for e in find(before.question)}
    new = {text[e.start : e.end].lower(): text[e.start : e.end] for text in before.answers for e in find(text)}
    others = [name for low, name in new.items() if low not in asked]
    if len(others) != 1:
        return None
    return others[0] if others[0].isupper() else others[0].lower()  # a claim opens with a capital


def _group(question: str) -> str | None:
    """`Which patients were born before 1930?` → patients who were born before 1930."""
    match = _GROUP.match(question)
    if match is None:
        return None
    verb, rest = match["verb"].lower(), match["rest"].strip()
    if "there" in verb or verb.endswith("we have"):
        return f"{match['noun']} {rest}".strip()
    if verb in ("were", "are", "was", "have", "had", "has"):
        return f"{match['noun']} who {verb} {rest}".strip()
    return f"{match['noun']} {verb} {rest}".strip()


def _replaced(question: str, match: re.Match[str], topic: str) -> str:
    """The question with the topic in the pronoun's place; `its dose` becomes `the dose of …`."""
    head, tail = question[: match.start()], question[match.end() :]
    if match["poss"]:
        owned = re.match(r"\s+((?:[a-z-]+\s)?[a-z-]+)(?=\s*(?:[?.!,]|$))", tail)
        if owned is not None:
            return f"{head}the {owned[1]} of {topic}{tail[owned.end() :]}"
        return f"{head}{topic}{'’' if topic.endswith('s') else '’s'}{tail}"
    if not head.strip():
        topic = topic[0].upper() + topic[1:]
    return f"{head}{topic}{tail}"
