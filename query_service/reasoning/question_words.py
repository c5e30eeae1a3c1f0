"""The words of a question: which carry content, how rare each is, and what it is about."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from foundation.ports.embeddings import Embedder

_WORD = re.compile(r"[^\W_]+(?:[.'’\-][^\W_]+)*")
# Words that carry no content of a question: function words, and those that only ask.
STOP_WORDS = frozenset(
    """
    a about after all also am an and any are as at be because been being between both but by can could did do does
    doing done each else for from further get give had has have having he her here him his how i if in into is it
    its just like may me might more most much must my need no not of off on once only or other our out over own
    per please same say says shall she should show so some such tell than that the their them then there these they this
    those through to too under until up us very was we were what when where whether which while who whom whose why
    will with would you your am's explain describe list find know known there's what's information
    """.split()
)
_BEFORE_A_SUBJECT = ("of", "for", "about")
_ARTICLES = frozenset("a an any my our the this your".split())
# Past tense and participle → the verb as `stem` leaves it; those whose forms differ in more than an ending.
_IRREGULAR = dict(
    pair.split(":")
    for pair in """
    led:lead held:hold kept:keep built:build bought:buy sold:sell paid:pay made:make taken:take took:take given:give
    gave:give written:writ wrote:writ begun:begin began:begin chosen:choos chose:choos broken:break broke:break
    fell:fall fallen:fall felt:feel found:find grew:grow grown:grow knew:know known:know left:leav lost:los
    met:meet ran:run sent:send shown:show spent:spend spoke:speak spoken:speak stood:stand taught:teach told:tell
    thought:think understood:understand went:go gone:go won:win worn:wear wore:wear caught:catch brought:bring
    driven:driv drove:driv eaten:eat ate:eat drank:drink drunk:drink flew:fly flown:fly hidden:hid laid:lay
    lent:lend sought:seek seen:see saw:see slept:sleep sought:seek withdrawn:withdraw withdrew:withdraw
    children:child women:woman men:man feet:foot teeth:tooth
    """.split()
)
_SUFFIXES = (
    "ations",
    "ation",
    "ings",
    "ing",
    "ments",
    "ment",
    "edly",
    "ed",
    "ions",
    "ion",
    "ance",
    "ence",
    "es",
    "is",
    "ly",
    "s",
    "e",
)


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """A light stem: one English ending off, four letters stay (after Harman 1991, How effective is suffixing?)."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if word.endswith("ies") and len(word) > 5:
        return word[:-3] + "y"
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 4:
            return word[: -len(suffix)]
    return word


def content_words(text: str) -> list[str]:
    """Stems of the words that carry content, in order, with repeats."""
    return [stem(word) for word in _words(text) if word not in STOP_WORDS]


def rarity(question: str, embedder: Embedder) -> dict[str, float]:
    """Weight of each content word of the question, from 1.

    The tokenizer knows frequent words whole and spells rare ones in pieces, so pieces stand for rarity without any
    statistics of the corpus. A number or a capital inside the question names something, and weighs more.
    """
    weights: dict[str, float] = {}
    for match in _WORD.finditer(question):
        word = match[0].lower().replace("’", "'").removesuffix("'s")
        if word in STOP_WORDS:
            continue
        pieces = embedder.count_tokens(word)
        named = match.start() > 0 and match[0][0].isupper()
        weight = 1.0 + 0.5 * min(pieces - 1, 4) + 0.5 * (named or word[0].isdigit()) + 0.25 * (len(word) > 7)
        weights[stem(word)] = max(weight, weights.get(stem(word), 0.0))
    return weights


def asked_about(question: str) -> list[list[str]]:
    """What `of`, `for` and `about` name, as the words of each; numbers alone name nothing."""
    subjects: list[list[str]] = []
    subject: list[str] | None = None
    end = 0
    for match in _WORD.finditer(question):
        word = match[0].lower().replace("’", "'").removesuffix("'s")
        parted = question[end : match.start()].strip() != ""
        end = match.end()
        if word in _BEFORE_A_SUBJECT:
            subject = []
            subjects.append(subject)
        elif parted or (word in STOP_WORDS and (subject or word not in _ARTICLES)):
            subject = None
        elif subject is not None and word not in STOP_WORDS:
            subject.append(word)
    return [words for words in subjects if any(c.isalpha() for word in words for c in word)]


def coverage(weights: Mapping[str, float], words: frozenset[str]) -> float:
    """The share of the question's content, by weight, that `words` holds; 0 for a question without content."""
    total = sum(weights.values())
    return sum(weight for word, weight in weights.items() if word in words) / total if total else 0.0


def _words(text: str) -> list[str]:
    return [match[0].lower().replace("’", "'").removesuffix("'s") for match in _WORD.finditer(text)]
