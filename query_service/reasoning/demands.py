"""What a question demands of its evidence: its numbers, dates and names, the thing that it asks of, the right kind.

A passage that is near the question in meaning may still be about another station, another year or another drug. What
can be checked by words is checked here; what the evidence model weighs is not repeated.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from foundation.ports.embeddings import Embedder
from foundation.types import Vector
from query_service.reasoning.answer_kinds import Asked, asked, asks_value, explained, fits
from query_service.reasoning.question_words import STOP_WORDS, asked_about, content_words, stem

SAME_MEANING = 0.845
"""Cosine of two words that say the same. Measured with bge-small on 80 pairs: kids/children .95, sugar/glucose .88,
cost/price .87, car/vehicle .85; insulin/diabetes .83, open/closed .81, tents/blankets .73, fax/telephone .63. No pair
of different things is over .83; of those that mean the same, some are as low (staff/employees .77): they are missed."""
_ENOUGH = 0.6
"""Share of the question's content that stands with the value it asks for."""
_COMPLETE = 0.85
_UNNAMED = 0.3  # of the question, by weight: names that the whole passage may lack
_MANY_WORDS = 8
_BESIDE = 3  # words
_COMPLETE_ROW = 0.75  # where a column is called what is asked for
_LOST = 0.5  # of a thing's name, by weight, that may be missing
_LOST_KEY = 0.3  # the same, for what a row is about
_REMEMBERED = 20_000  # word vectors; 30 MB

_MONTHS = "january february march april may june july august september october november december".split()
_MONTH = "|".join(f"{name[:3]}(?:{name[3:]})?" if len(name) > 3 else name for name in _MONTHS)
_DAY = re.compile(rf"\b(?:(?P<m1>{_MONTH})\.? (?P<d1>\d{{1,2}})|(?P<d2>\d{{1,2}})\.? (?P<m2>{_MONTH}))\b", re.I)
_YEAR = re.compile(r"\b(?:1[5-9]|20)\d\d\b")
_LABELLED = re.compile(
    r"\b(?P<label>[A-Za-z]{2,})\s+(?:no\.? ?|number |# ?)?(?P<number>\d{1,6}(?:\.\d+)*[a-z]?)\b"
    r"(?!\s*[%°]|[-\w]|\s+(?:years?|months?|weeks?|days?|hours?|minutes?|mg|g|ml|kg|cm|mm|patients?|people|cases?)\b)"
)
_IDENTIFIER = re.compile(r"\b(?=\w*\d)(?=\w*[A-Za-z])[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*\b|\b[A-Za-z]+-\d+\b")
_QUANTITY = re.compile(r"(?<![\w.,-])\d[\d,]*(?:\.\d+)?(?![\w-])")
_COMPARES = re.compile(
    r"\b(?:below|above|over|under|at least|at most|more|less|fewer|up to|higher|lower|older|younger|between|to|until"
    r"|within|every|each|aged)\b|[≥≤<>–]",
    re.I,
)
# Words before a number that are no label of it.
_NO_LABEL = frozenset(
    "below above over under than least most about around next last first past every within until exactly only nearly"
    " almost since before after between from with without equal was were and plus minus times age aged year years"
    " ages day days total".split()
) | frozenset(_MONTHS) | {name[:3] for name in _MONTHS} | STOP_WORDS  # fmt: skip
_COUNTED = frozenset(
    "rule step item point paragraph section article clause chapter part question station table figure".split()
)
_MARKER = re.compile(r"\W*\(?(\d+(?:\.\d+)*[a-z]?)(?:[.)]|\s)")
_WORD_NUMBERS = dict(
    zip("one two three four five six seven eight nine ten eleven twelve".split(), range(1, 13), strict=True)
)
# Verbs and nouns that a question needs for its grammar; what it is about is said by others.
_LIGHT = frozenset(
    map(
        stem,
        "cost take takes taken give given make made get use used using need needed carry go come call called"
        " happen mean people person thing type kind number patient way according document text handbook"
        " say said state stated apply work available time many within"
        # what a text calls the house that it is of
        " clinic hospital practice facility center centre organization organisation company office".split(),
    )
)


class WordVectors:
    """Whether two words mean the same, by the model's vectors; each word is embedded once."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: OrderedDict[str, Vector] = OrderedDict()

    def same(self, word: str, others: Sequence[str]) -> bool:
        if not others:
            return False
        new = [w for w in dict.fromkeys((word, *others)) if w not in self._known]
        if new:
            self._known.update(zip(new, self._embedder.embed_passages(new), strict=True))
        cosines = np.stack([self._known[w] for w in others]) @ self._known[word]
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return bool(cosines.max() >= SAME_MEANING)


@dataclass(frozen=True, slots=True)
class Scope:
    """Where a demand may be met: `narrow` is the sentence with its headings and header, `wide` the whole passage."""

    sentence: str
    narrow: str
    wide: str
    value: str | None
    """Where the value has to stand; None where a table's header says that it is there."""


@dataclass(slots=True)
class Demands:
    question: str
    kind: Asked | None
    value: bool
    """Only an answer of that kind answers."""
    weights: Mapping[str, float]
    vectors: WordVectors
    labelled: list[tuple[str, str]] = field(default_factory=list)
    days: list[tuple[str, int]] = field(default_factory=list)
    years: list[str] = field(default_factory=list)
    identifiers: list[str] = field(default_factory=list)
    quantities: list[str] = field(default_factory=list)
    names: list[list[str]] = field(default_factory=list)
    spelt: dict[str, str] = field(default_factory=dict)
    """Stem → the word as the question has it."""
    _missing: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, question: str, weights: Mapping[str, float], vectors: WordVectors) -> Demands:
        kind = asked(question)
        found = cls(question, kind, asks_value(question, kind), weights, vectors)
        for word in re.findall(r"[^\W_]+(?:[.'’\-][^\W_]+)*", question):
            found.spelt.setdefault(stem(word.lower().replace("’", "'").removesuffix("'s")), word)
        found._numbers(question)
        found._names(question)
        return found

    def _numbers(self, question: str) -> None:
        rest = question
        for match in _DAY.finditer(question):
            month, day = match["m1"] or match["m2"], match["d1"] or match["d2"]
            self.days.append((month[:3].lower(), int(day)))
        rest = _DAY.sub(" ", rest)
        for match in _LABELLED.finditer(rest):
            label = match["label"].lower()
            if label not in _NO_LABEL and not (_YEAR.fullmatch(match["number"]) and label not in _COUNTED):
                self.labelled.append((label, match["number"].lower()))
        rest = _LABELLED.sub(
            lambda m: " " if m["label"].lower() not in _NO_LABEL and not _YEAR.fullmatch(m["number"]) else m[0], rest
        )
        self.years = _YEAR.findall(rest)
        rest = _YEAR.sub(" ", rest)
        self.identifiers = [m[0] for m in _IDENTIFIER.finditer(rest)]
        self.quantities = [m[0] for m in _QUANTITY.finditer(_IDENTIFIER.sub(" ", rest))]

    def _names(self, question: str) -> None:
        """Runs of capitalized words inside the question; none in a headline, where most words have a capital."""
        words = [w for w in re.findall(r"[^\W\d_]+", question)[1:] if w.lower() not in STOP_WORDS]
        if len(words) > 3 and 2 * sum(word[0].isupper() for word in words) > len(words):
            return
        end = -1
        for match in re.finditer(r"[^\W_]+(?:['’\-][^\W_]+)*", question):
            word, opens = match[0], question[: match.start()].strip()[-1:] in ("", ".", "?", "!", ":")
            low = word.lower()
            if not word[0].isupper() or opens or low in STOP_WORDS or low[:3] in {m[:3] for m in _MONTHS if m == low}:
                continue
            if self.names and question[end : match.start()] == " ":
                self.names[-1].append(word)
            else:
                self.names.append([word])
            end = match.end()

    # -- checks -------------------------------------------------------------------------------------------------

    def met(self, scope: Scope) -> bool:
        """Whether nothing that the question names or counts speaks against this passage."""
        return (
            all(self._has_label(label, number, scope) for label, number in self.labelled)
            and all(_has_day(month, day, scope.narrow) for month, day in self.days)
            and all(self._has_year(year, scope) for year in self.years)
            and self._has_names(scope)
            and (not self.value or self._has_value(scope))
        )

    def _has_names(self, scope: Scope) -> bool:
        """Names, identifiers and amounts: all of them for a value, the telling ones for a question of many words."""
        if self.value:
            held = [self._has_name(name, scope) for name in self.names]
            return (
                2 * sum(held) >= len(held)
                and all(_squeezed(name) in _squeezed(scope.wide) for name in self.identifiers)
                and all(_has_quantity(number, scope.narrow) for number in self.quantities)
            )
        words = [w for name in self.names for w in name] + self.identifiers
        absent = [w for w in words if _squeezed(w) not in _squeezed(scope.wide) and not self._holds(w, scope.wide)]
        lost = sum(self.weights.get(stem(word.lower()), 1.0) for word in absent)
        amounts = len(self.weights) > _MANY_WORDS or all(_has_quantity(n, scope.narrow) for n in self.quantities)
        return amounts and lost <= _UNNAMED * sum(self.weights.values())

    def share(self, text: str) -> float:
        """Share, by weight, of the question's content that `text` holds, or words that mean the same."""
        missing = self.missing(text)
        counted = {word: weight for word, weight in self.weights.items() if word not in self._silent()}
        total = sum(counted.values())
        return 1 - sum(counted[word] for word in missing) / total if total else 1.0

    def missing(self, text: str) -> list[str]:
        """Stems of the question's content words that `text` does not hold."""
        if text not in self._missing:
            self._missing[text] = self._look_for_missing(text)
        return self._missing[text]

    def _look_for_missing(self, text: str) -> list[str]:
        stems = frozenset(content_words(text))
        absent = [word for word in self.weights if word not in self._silent() and word not in stems]
        if not absent:
            return []
        short = _abbreviated(self.question, text)
        words = [w for w in dict.fromkeys(re.findall(r"[^\W\d_]{3,}", text.lower())) if w not in STOP_WORDS][:80]
        return [
            word
            for word in absent
            if word not in short
            and not _abbreviates(self.spelt.get(word, word), text)
            and (word[0].isdigit() or not self.vectors.same(self.spelt.get(word, word).lower(), words))
        ]

    def complete(self, scope: Scope, *, row: bool) -> bool:
        """Whether the sentence answers by itself, whatever the whole passage is like.

        row: it is a row with the column that the question names, which is a value of whatever kind.
        """
        if row:
            return self.enough(scope, lost=_LOST_KEY) and self.share(scope.narrow) >= _COMPLETE_ROW
        said = len(self.weights.keys() - self._silent()) + len(self.labelled)
        told = (self.value and said > 1) or self.marked(scope.sentence) or said > 2
        return told and self.share(scope.narrow) >= _COMPLETE

    def enough(self, scope: Scope, lost: float = _LOST) -> bool:
        """Whether a value stands with what it is asked of: most of the question, and most of each `of …`, `for …`."""
        if not self.value:
            return True
        missing = frozenset(self.missing(scope.narrow))
        for words in asked_about(self.question):
            subject = {stem(word) for word in words} & self.weights.keys()
            absent = sum(self.weights[word] for word in subject & missing)
            if absent > lost * sum(self.weights[word] for word in subject):
                return False
        return self.share(scope.narrow) >= _ENOUGH

    def matched(self, header: str, row: str) -> float:
        """How well a column's name fits what the question says beside the words of the row; 0 where it does not."""
        if any(_label(label, number).search(header) for label, number in self.labelled):
            return 10.0
        words, own = frozenset(content_words(header)), frozenset(content_words(row))
        said = [word for word in self.weights if word in words and word not in own]
        held = {*said, *(word for word in self.missing(row) if word not in self.missing(header))}
        # A long name of which the question has one word fits less than one that it says whole.
        return sum(self.weights[word] for word in held) * min(1.0, len(held) / max(1, len(words))) if held else 0.0

    def marked(self, text: str) -> bool:
        """Whether the text is the item of a list that the question asks for by number."""
        marker = _MARKER.match(text)
        return marker is not None and any(label in _COUNTED and marker[1] == number for label, number in self.labelled)

    def _silent(self) -> frozenset[str]:
        numbers = frozenset(number for _, number in self.labelled)
        counted = frozenset(stem(label) for label, _ in self.labelled)
        return frozenset(map(stem, explained(self.kind))) | _LIGHT | numbers | counted

    def _has_value(self, scope: Scope) -> bool:
        text = scope.value
        if text is None:
            return True
        if self.kind == "number":
            known = {number for _, number in self.labelled} | set(self.quantities) | set(self.years)
            text = _MARKER.sub(" ", text, count=1) if re.match(r"\W*\(?\d+[.)]\s", text) else text
            text = re.sub(
                r"\d[\d.,]*", lambda m: " " if m[0].rstrip(".,") in known or _YEAR.fullmatch(m[0]) else m[0], text
            )
        if self.kind == "name":
            known = {word.lower() for word in re.findall(r"[^\W_]+", self.question)}
            text = re.sub(r"[^\W_]+", lambda m: "" if m[0].lower() in known else m[0], text)
        if (
            self.kind == "phone"
            and re.search(r"\bfax\b", self.question, re.I)
            and not re.search(r"\bfax\b", scope.narrow, re.I)
        ):
            return False
        return fits(self.kind, text)

    def _counts(self, text: str) -> bool:
        """Whether a number stands beside what `how many …` counts; true where the text has another word for that."""
        asked_for = re.search(r"\bhow many\s+([\w-]+)", self.question, re.I)
        counted = stem(asked_for[1].lower()) if asked_for is not None else ""
        words = re.findall(r"[\w.,-]+", text.lower())
        places = [i for i, word in enumerate(words) if stem(word.strip(".,")) == counted]
        if not places or counted in _LIGHT:
            return True
        return any(fits("number", " ".join(words[max(0, i - _BESIDE) : i + _BESIDE + 1])) for i in places)

    def _has_label(self, label: str, number: str, scope: Scope) -> bool:
        pattern, other = _label(label, number), re.compile(rf"\b{stem(label)}\w*\s+(?:no\.? ?|number |# ?)?\d", re.I)
        if pattern.search(scope.narrow):
            return True
        if label in _COUNTED and (marker := _MARKER.match(scope.sentence)) and marker[1].rstrip(".") == number:
            return True
        if re.search(rf"\b{label[0]}{number}", scope.wide, re.I):
            return True  # type 2 diabetes mellitus is T2DM
        named = {m[0].lower() for m in re.finditer(rf"{other.pattern}+", scope.wide, re.I)}
        return not other.search(scope.narrow) and len(named) == 1 and pattern.search(scope.wide) is not None

    def _has_year(self, year: str, scope: Scope) -> bool:
        if year in scope.narrow:
            return True
        return year in scope.wide and not _YEAR.search(scope.narrow) and self.kind not in ("date", "time")

    def _has_name(self, name: Sequence[str], scope: Scope) -> bool:
        known = any(self._holds(word, scope.narrow) for word in name)
        if known or not any(self._holds(word, scope.wide) for word in name):
            return known
        if self.kind in ("name", "person"):
            return True
        others = re.finditer(r"(?<=[a-z,] )[A-Z][a-zA-Z]+", scope.sentence)
        return not any(m[0].lower() not in self.question.lower() for m in others) and " | " not in scope.sentence

    def _holds(self, word: str, text: str) -> bool:
        low = word.lower().removesuffix("'s").removesuffix("’s")
        return stem(low) in frozenset(content_words(text)) or _abbreviates(word, text) or low in text.lower()


def _label(label: str, number: str) -> re.Pattern[str]:
    return re.compile(rf"\b{re.escape(stem(label))}\w*\s+(?:no\.? ?|number |# ?)?{re.escape(number)}(?![\d.]*\d)", re.I)


def _has_day(month: str, day: int, text: str) -> bool:
    number = _MONTHS.index(next(m for m in _MONTHS if m.startswith(month))) + 1
    if re.search(rf"-{number:02}-{day:02}\b", text):
        return True
    return any(((m["m1"] or m["m2"])[:3].lower(), int(m["d1"] or m["d2"])) == (month, day) for m in _DAY.finditer(text))


def _has_quantity(number: str, text: str) -> bool:
    value = number.replace(",", "")
    said = {m[0].replace(",", "") for m in _QUANTITY.finditer(text)} | set(re.findall(r"\d+(?:\.\d+)?", text))
    said |= {str(n) for word, n in _WORD_NUMBERS.items() if re.search(rf"\b{word}\b", text, re.I)}
    return value in said or (bool(said) and _COMPARES.search(text) is not None)


def _squeezed(text: str) -> str:
    return re.sub(r"[\s\-‐‑]", "", text).lower()


def _abbreviates(word: str, text: str) -> bool:
    """Whether the letters of `CKD` open words that follow each other."""
    letters = word.lower()
    if not 2 <= len(letters) <= 6 or not word.isalpha() or not word.isupper():
        return False
    initials = "".join(w[0] for w in re.findall(r"[a-z0-9]+", text.lower()))
    return (
        letters in initials
        and re.search(r"\b" + r"\w*[\s\-]+(?:of |and |the )?".join(letters) + r"\w*", text, re.I) is not None
    )


def _abbreviated(question: str, text: str) -> frozenset[str]:
    """Stems of the question's words for which the text has their letters only: `T2DM` for type 2 diabetes."""
    shorts = {m[0].lower() for m in re.finditer(r"\b[A-Z][A-Z0-9]{1,5}\b", text)}
    words = [w.lower() for w in re.findall(r"[^\W_]+", question)]
    found: set[str] = set()
    for first in range(len(words)):
        for last in range(first + 2, min(first + 6, len(words)) + 1):
            initials = "".join(word[0] for word in words[first:last])
            if any(short.startswith(initials) and len(short) <= len(initials) + 1 for short in shorts):
                found.update(map(stem, words[first:last]))
    return frozenset(found)


def joined(parts: Iterable[str | None]) -> str:
    return "\n".join(part for part in parts if part)
