"""Names that no lexicon lists, of things that it knows: by the ways in which its own synonyms differ.

Where synonyms of many terms differ by one part alone (`renal` for `kidney`, `SPG` for `spastic paraplegia`), a name
that differs from a known one by this part names the same thing. Such an exchange counts by how often it leads from a
name of a term to another name of that term, and how seldom to a name of another. Nothing here is written for a field:
another lexicon teaches other exchanges.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations

from rapidfuzz import process
from rapidfuzz.distance import OSA

from foundation.lexicon import Lexicon, normalise

Words = tuple[str, ...]
Exchange = tuple[Words, Words]
"""Two parts, the lesser first."""
_Turn = tuple[Words, Words]
"""Old part and new."""

_UNSAID = frozenset("of the a an and with in for type".split())
"""Words that a name may have or lack."""
_DIRECTED = frozenset("due to by from after secondary caused induced positive negative".split())
"""What stands before one of these is not what stands behind it: the order of words counts."""
_SERIES = re.compile(r"([a-z]{2,})(\d+[a-z]?)\Z")  # SPG39 is SPG, 39
_MAX_NAMES = 20  # of one term, that are compared with each other
_MAX_PART = 6  # words of one side of an exchange
_MIN_PRECISION = 0.9
_MIN_TERMS, _MIN_TERMS_ADDED = 3, 10
"""How many terms teach an exchange; one that only adds or leaves out needs more: it mostly makes a narrower term."""
_MIN_TERMS_OF_TWO = 5
"""How many terms teach an exchange that may be one of two."""
_MIN_LETTERS = 6
"""Of a word that can be misspelt; in shorter ones a letter makes another word."""
_PREFIX = 3
"""Letters that a misspelling keeps: a-, in- and their like turn a word into its opposite."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """The one term that a name means, by which rule, and the reason in words."""

    term_id: str
    rule: str
    reason: str
    score: float


def words_of(name: str) -> Words:
    """The words that tell a name from another, sorted where their order says nothing; () for no words at all."""
    words = []
    for word in normalise(name).split():
        if word[0].isalnum() and word not in _UNSAID:
            series = _SERIES.match(word)
            words += [series[1], series[2]] if series else [word]
    return tuple(words) if _DIRECTED.intersection(words) else tuple(sorted(words))


def numerals(words: Iterable[str]) -> Words:
    """What tells one of a series from the next: numbers and single letters."""
    return tuple(sorted(w for w in words if len(w) == 1 or any(c.isdigit() for c in w)))


def minus(words: Words, other: Words) -> Words:
    left = Counter(words)
    left.subtract(other)
    return tuple(sorted(word for word, count in left.items() for _ in range(max(count, 0))))


def exchange_of(one: Words, other: Words) -> Exchange:
    """What the two names do not share, in a fixed order."""
    parts = minus(one, other), minus(other, one)
    return parts if parts[0] <= parts[1] else (parts[1], parts[0])


class NameVariants:
    """Learned from a lexicon in about 0.4 s for 27,000 names; asking takes well under a millisecond."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._terms: dict[Words, set[str]] = defaultdict(set)
        taught: dict[Exchange, set[str]] = defaultdict(set)
        for term in lexicon.terms.values():
            names = {words_of(name) for name in (term.name, *term.aliases)} - {()}
            for words in names:
                self._terms[words].add(term.term_id)
            for one, other in combinations(sorted(names)[:_MAX_NAMES], 2):
                exchange = exchange_of(one, other)
                if _teaches(exchange, one):
                    taught[exchange].add(term.term_id)
        self._taught = {
            exchange: len(terms) for exchange, terms in taught.items() if len(terms) >= _least_terms(exchange)
        }
        self._by_word: dict[str, list[Exchange]] = defaultdict(list)
        self._additions: list[Exchange] = []
        for less, more in self._taught:
            for old, new in ((less, more), (more, less)):
                if old:
                    self._by_word[old[0]].append((old, new))
                else:
                    self._additions.append((old, new))
        self._names_with: dict[str, list[Words]] = defaultdict(list)
        for words in self._terms:
            for word in set(words):
                self._names_with[word].append(words)
        self._spellings: dict[str, list[str]] = defaultdict(list)
        for word in self._names_with:
            if len(word) >= _MIN_LETTERS and word.isalpha():
                self._spellings[word[:_PREFIX]].append(word)
        self._last_words = {
            normalise(name).rpartition(" ")[2] for term in lexicon.terms.values() for name in (term.name, *term.aliases)
        }
        self._counted: dict[Exchange, tuple[int, int]] = {}

    def resolve(self, name: str) -> Resolved | None:
        """The lexicon's term that `name` means, or None where none does or several may."""
        words = words_of(name)
        found = self._same_words(words, name) or self._exchanged(words, name)
        if found is not None:
            return found
        corrected, reason = self._corrected(words)
        meant = (self._same_words(corrected, name) or self._exchanged(corrected, name)) if reason else None
        return meant and Resolved(meant.term_id, "spelling", f"{reason}; {meant.reason}", 0.9 * meant.score)

    def alike(self, one: Words, other: Words) -> str | None:
        """Why two names that the lexicon does not know are names of one thing; None where nothing says so."""
        exchange = exchange_of(one, other)
        return self._reason(exchange) if exchange in self._taught and self._holds(exchange) else None

    def is_word(self, word: str) -> bool:
        return word in self._names_with

    def _same_words(self, words: Words, name: str) -> Resolved | None:
        terms = self._terms.get(words, set())
        if len(terms) != 1:
            return None
        return Resolved(next(iter(terms)), "word_order", f"{name!r} has the words of a name in the lexicon", 1.0)

    def _exchanged(self, words: Words, name: str) -> Resolved | None:
        """By one exchange, else by two that are well taught."""
        last = normalise(name).rpartition(" ")[2]
        # `heart` is no heart disease: what ends no name of the lexicon names another kind of thing.
        if not words or words in self._terms or (last.isalpha() and last not in self._last_words):
            return None
        found: dict[str, tuple[float, str]] = {}
        firm: list[tuple[Words, _Turn]] = []
        for turned, turn in self._turned(words):
            exchange = _ordered(*turn)
            if turned in self._terms and self._holds(exchange):
                self._note(found, turned, (exchange,))
            elif not found and self._may_be_one_of_two(exchange):
                firm.append((turned, turn))
        if not found:
            for turned, (old, new) in firm:
                first = _ordered(old, new)
                for twice, turn in self._turned(turned, within=minus(words, old)):
                    second = _ordered(*turn)
                    known = twice in self._terms and self._may_be_one_of_two(second)
                    if known and self._holds(first) and self._holds(second) and self._allowed(words, twice):
                        self._note(found, twice, (first, second))
        best = sorted(((score, term_id, reason) for term_id, (score, reason) in found.items()), reverse=True)
        if not best or (len(best) > 1 and best[0][0] == best[1][0]):
            return None
        score, term_id, reason = best[0]
        return Resolved(term_id, "exchange", reason, score)

    def _note(self, found: dict[str, tuple[float, str]], words: Words, exchanges: tuple[Exchange, ...]) -> None:
        score, reason = 1.0, []
        for exchange in exchanges:
            right, wrong = self._counts(exchange)
            score *= right / (right + wrong + 1)
            reason.append(self._reason(exchange))
        for term_id in self._terms[words]:
            if score > found.get(term_id, (0.0, ""))[0]:
                found[term_id] = score, "; ".join(reason)

    def _turned(self, words: Words, within: Words | None = None) -> Iterator[tuple[Words, _Turn]]:
        """The names that an exchange makes of this one, old part and new; the old part lies `within` these words.

        Of two exchanges the second has its own part: one upon the other would make recessive of dominant by way of
        hereditary.
        """
        free = words if within is None else within
        for word in dict.fromkeys(free):
            for old, new in self._by_word.get(word, ()):
                if not minus(old, free) and minus(free, old):
                    yield tuple(sorted(minus(words, old) + new)), (old, new)
        if within is None:
            for old, new in self._additions:
                yield tuple(sorted(words + new)), (old, new)

    def _allowed(self, words: Words, twice: Words) -> bool:
        """Not where the two exchanges together tell terms apart (dominant, recessive: both are hereditary)."""
        right, wrong = self._counts(exchange_of(words, twice))
        return right >= wrong

    def _may_be_one_of_two(self, exchange: Exchange) -> bool:
        return all(exchange) and self._taught[exchange] >= _MIN_TERMS_OF_TWO

    def _holds(self, exchange: Exchange) -> bool:
        right, wrong = self._counts(exchange)
        return right >= _least_terms(exchange) and right >= _MIN_PRECISION * (right + wrong)

    def _counts(self, exchange: Exchange) -> tuple[int, int]:
        """How often the exchange turns a name of a term into one of that term, and how often into another's."""
        if exchange not in self._counted:
            old, new = exchange if exchange[0] else (exchange[1], exchange[0])
            right = wrong = 0
            for words in self._names_with[min(old, key=lambda word: len(self._names_with[word]))]:
                turned = tuple(sorted(minus(words, old) + new))
                if turned in self._terms and not minus(old, words) and turned != words:
                    same = bool(self._terms[turned] & self._terms[words])
                    right, wrong = right + same, wrong + (not same)
            self._counted[exchange] = right, wrong
        return self._counted[exchange]

    def _reason(self, exchange: Exchange) -> str:
        right, wrong = self._counts(exchange)
        less, more = (" ".join(part) or "nothing" for part in exchange)
        return f"'{more}' for '{less}' makes a synonym in {right} of {right + wrong} names of the lexicon"

    def _corrected(self, words: Words) -> tuple[Words, str]:
        """With the words that the lexicon has nowhere as the one word there that is a letter away."""
        fixed, reasons = [], []
        for word in words:
            meant = word
            if len(word) >= _MIN_LETTERS and word.isalpha() and not self.is_word(word):
                near = process.extract(
                    word, self._spellings.get(word[:_PREFIX], []), scorer=OSA.distance, score_cutoff=1, limit=2
                )
                if len(near) == 1:
                    meant = near[0][0]
                    reasons.append(f"{word!r} is {meant!r} misspelt")
            fixed.append(meant)
        return (tuple(fixed) if _DIRECTED.intersection(fixed) else tuple(sorted(fixed))), "; ".join(reasons)


def _teaches(exchange: Exchange, one: Words) -> bool:
    """Names that share a word, and differ by a part that is short and holds no number."""
    own = exchange[0] if not minus(exchange[0], one) else exchange[1]
    shares = len(own) < len(one)
    return shares and max(map(len, exchange)) <= _MAX_PART and numerals(exchange[0]) == numerals(exchange[1])


def _least_terms(exchange: Exchange) -> int:
    return _MIN_TERMS if all(exchange) else _MIN_TERMS_ADDED


def _ordered(one: Words, other: Words) -> Exchange:
    return (one, other) if one <= other else (other, one)
