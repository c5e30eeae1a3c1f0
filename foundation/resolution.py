"""Are two nodes of the graph one thing? Rules on name, type and context; each answer has its rule and its reason.

docs/adr/0007 tells the rules. They look at nothing but the nodes that are there now, so that the order in which
documents come and go changes no answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from rapidfuzz.distance import OSA

from foundation.graph_schema import GraphSchema
from foundation.lexicon import Lexicon, is_abbreviation, normalise
from foundation.name_variants import NameVariants, Resolved, Words, numerals, words_of
from foundation.person_names import PersonName, compare_names, parse_name, same_date
from foundation.types import Node

BORN = "born:"
"""Prefix of a person's external id; the birth date follows, then the name."""
_THING = "thing"
_MIN_LETTERS, _PREFIX = 6, 3
"""Of a misspelt word, as in name_variants."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """`score` orders merges: where two exclude each other the higher one stays."""

    same: bool
    rule: str
    reason: str
    score: float = 1.0


def birth_date(node: Node) -> str | None:
    external = node.external_id or ""
    return external.removeprefix(BORN).partition(":")[0] if external.startswith(BORN) else None


class Resolver:
    """`load` gives the lexicon and the schema when the first node has to be judged."""

    def __init__(self, load: Callable[[], tuple[Lexicon, GraphSchema]]) -> None:
        self._load = load
        self.meaning = lru_cache(maxsize=50_000)(self._meaning)

    @cached_property
    def _domain(self) -> tuple[Lexicon, GraphSchema]:
        return self._load()

    @cached_property
    def _variants(self) -> NameVariants:
        return NameVariants(self._domain[0])

    def load_ahead(self) -> None:
        """What the first judgement would load and learn, about 1 s."""
        _ = self._variants

    def keys(self, node: Node) -> list[str]:
        """What a node shares with every node that may be the same thing. Few nodes share one: these are compared."""
        names = {normalise(name) for name in (node.name, *node.aliases)} - {""}
        keys = [f"name:{name}" for name in sorted(names)]
        if node.type == self._domain[1].person_type:
            return keys + _person_keys(node)
        meaning = self._term_of(node)
        if meaning is not None:
            keys.append(f"term:{meaning}")
        if len(_joined(node.name)) >= _MIN_LETTERS:
            keys.append(f"joined:{_joined(node.name)}")
        if node.external_id is None:
            words = words_of(node.name)
            keys += [f"words:{' '.join(words)}", f"letters:{_consonants(words)}"] if words else []
        return keys

    def judge(self, one: Node, other: Node, around: Sequence[Node]) -> Verdict | None:
        """None where nothing says that they may be one. `around`: every node that shares a key with either."""
        one, other = sorted((one, other), key=lambda node: node.node_id)
        kinds = self._kind(one), self._kind(other)
        shared = self._shared_name(one, other)
        if None not in kinds and kinds[0] != kinds[1]:
            if shared is None:
                return None
            return Verdict(False, "types", f"{shared!r} is a {one.type} in one place and a {other.type} in another.")
        if kinds[0] == kinds[1] == self._domain[1].person_type:
            return _judge_persons(one, other, around)
        if None in kinds and kinds != (None, None) and _THING not in kinds:
            return self._judge_untyped(one, other, around)
        return self._judge_things(one, other, around)

    def _kind(self, node: Node) -> str | None:
        """Types that exclude each other; None where the extractor knew no type."""
        schema = self._domain[1]
        return None if node.type == schema.free_type else node.type if node.type in schema.exclusive_types else _THING

    def _meaning(self, name: str) -> Resolved | None:
        return self._variants.resolve(name)

    def _term_of(self, node: Node) -> str | None:
        if node.external_id is not None:
            return node.external_id
        if self._kind(node) not in (None, _THING):
            return None
        found = self.meaning(node.name)
        return found.term_id if found else None

    def _shared_name(self, one: Node, other: Node) -> str | None:
        known = {normalise(name) for name in (other.name, *other.aliases)} - {""}
        return next((name for name in (one.name, *one.aliases) if normalise(name) in known), None)

    def _judge_untyped(self, one: Node, other: Node, around: Sequence[Node]) -> Verdict | None:
        """A name that one extractor took for a person, place or organisation, and another for some thing."""
        if normalise(one.name) != normalise(other.name):
            return None
        typed = {node.node_id for node in around if self._kind(node) and self._shared_name(node, one)}
        if len(typed) > 1:
            return Verdict(False, "ambiguous", f"Several things are called {one.name!r}.")
        return Verdict(True, "same_name", f"One name, typed {one.type} by one extractor and {other.type} by another.")

    def _judge_things(self, one: Node, other: Node, around: Sequence[Node]) -> Verdict | None:
        terms = self._term_of(one), self._term_of(other)
        if one.external_id and other.external_id:
            reason = f"The lexicon has two terms for them, {one.external_id} and {other.external_id}."
            return Verdict(False, "lexicon", reason) if self._shared_name(one, other) else None
        if normalise(one.name) == normalise(other.name):
            typed = "" if one.type == other.type else f", typed {one.type} by one extractor and {other.type} by another"
            return Verdict(True, "same_name", f"One name{typed}.")
        if None not in terms:
            reasons = [found.reason for node in (one, other) if (found := self._found(node))]
            scores = [found.score for node in (one, other) if (found := self._found(node))]
            if terms[0] == terms[1]:
                return Verdict(True, "variant", f"Both are {terms[0]}: {'; '.join(reasons)}.", min(scores))
            return Verdict(False, "lexicon", f"The names mean two terms of the lexicon, {terms[0]} and {terms[1]}.")
        return self._judge_names(one, other, around)

    def _found(self, node: Node) -> Resolved | None:
        return None if node.external_id else self.meaning(node.name)

    def _judge_names(self, one: Node, other: Node, around: Sequence[Node]) -> Verdict | None:
        """By what the names share, where the lexicon does not know both."""
        for short, long in ((one, other), (other, one)):
            if is_abbreviation(short.name) and normalise(short.name) in {normalise(a) for a in long.aliases}:
                return self._judge_abbreviation(short, long, around)
        if _joined(one.name) == _joined(other.name):
            return Verdict(True, "same_name", "One name, written together or apart.", 0.95)
        words, others = words_of(one.name), words_of(other.name)
        if words == others:
            return Verdict(True, "word_order", f"{one.name!r} and {other.name!r} have the same words.", 0.95)
        if reason := self._variants.alike(words, others):
            return Verdict(True, "variant", f"{reason}.", 0.9)
        if reason := self._misspelt(words, others):
            return Verdict(True, "spelling", f"{reason}.", 0.85)
        shared = self._shared_name(one, other)
        if shared is not None:
            return Verdict(False, "alias", f"They share no more than the name {shared!r}.")
        return Verdict(False, "names", f"{one.name!r} and {other.name!r} are spelt too differently.")

    def _judge_abbreviation(self, short: Node, long: Node, around: Sequence[Node]) -> Verdict:
        key = normalise(short.name)
        means = {
            normalise(n.name) for n in (*around, long) if n is not short and key in {normalise(a) for a in n.aliases}
        }
        if len(means) > 1:
            return Verdict(False, "ambiguous", f"{short.name} is short for several things.")
        return Verdict(True, "abbreviation", f"A document defines {short.name} as {long.name}.", 0.95)

    def _misspelt(self, words: Words, others: Words) -> str | None:
        """One word a letter off, and not both of them words of the lexicon."""
        left, right = (tuple(w for w in a if a.count(w) > b.count(w)) for a, b in ((words, others), (others, words)))
        if len(left) != 1 or len(right) != 1 or numerals(left) or numerals(right):
            return None
        one, other = left[0], right[0]
        if min(len(one), len(other)) < _MIN_LETTERS or one[:_PREFIX] != other[:_PREFIX] or OSA.distance(one, other) > 1:
            return None
        if self._variants.is_word(one) and self._variants.is_word(other):
            return None
        return f"{one!r} and {other!r} are a letter apart, and the lexicon does not know both"


def _joined(name: str) -> str:
    return normalise(name).replace(" ", "")


def _consonants(words: Words) -> str:
    """Misspelt names mostly keep them; doubled ones count once."""
    single = (re.sub(r"(.)\1+", r"\1", word) for word in words)
    return " ".join(word[0] + re.sub("[aeiouyh]", "", word[1:]) for word in single)


def _person_keys(node: Node) -> list[str]:
    name, born = parse_name(node.name), birth_date(node)
    if name is None:
        return []
    keys = [f"person:{name.given[0]} {name.surname}"]
    if born is not None:
        # By the year and the letters that a misspelling leaves: the rules look at the rest.
        keys += sorted({f"born:{day[:4]} {name.surname[0]}{name.given[0][0]}" for day in born.split("~")})
    return keys


def _judge_persons(one: Node, other: Node, around: Sequence[Node]) -> Verdict | None:
    names = parse_name(one.name), parse_name(other.name)
    if names[0] is None or names[1] is None:
        return None
    likeness = compare_names(names[0], names[1])
    born = birth_date(one), birth_date(other)
    if born[0] and born[1]:
        if likeness == "different":
            return None
        if not same_date(born[0], born[1]):
            return Verdict(False, "birth_date", f"Born {_written(born[0])} and {_written(born[1])}.")
        alike = {"equal": "One name", "compatible": "Forms of one name", "misspelt": "Names a letter apart"}[likeness]
        return Verdict(
            True, "birth_date", f"{alike}, both born {_written(born[0])}.", 0.9 if likeness == "misspelt" else 1
        )
    if likeness == "different":
        return None
    if likeness != "equal":
        return Verdict(False, "no_birth_date", "The names differ, and no birth date says that they are one person's.")
    dates = _dates_of(names[0], around)
    if len(dates) > 1:
        return Verdict(False, "ambiguous", "Several persons have this name, and no birth date says which one it is.")
    return Verdict(True, "same_name", "One full name, and no birth date against it.", 0.8)


def _dates_of(name: PersonName, around: Sequence[Node]) -> list[str]:
    """The different birth dates of the persons who have this name or a form of it."""
    dates: list[str] = []
    for node in sorted(around, key=lambda n: n.node_id):
        born, other = birth_date(node), parse_name(node.name)
        if born is None or other is None or any(same_date(born, known) for known in dates):
            continue
        if compare_names(name, other) in ("equal", "compatible"):
            dates.append(born)
    return dates


def _written(born: str) -> str:
    return born.replace("~", " or ")
