"""A field's vocabulary: terms with aliases and parents, and finding them in text. Both programs read names this way.

A lexicon file is TSV (plain or .gz) with a header: id, type, name, parents, aliases; the last two are lists parted by
`|`. A row whose id is already known adds to that term; an alias with a leading `-` takes one away, and so does the type
`-` with the whole term.
"""

from __future__ import annotations

import gzip
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path

from foundation import ids
from foundation.errors import ConfigurationError

# A blank line, a word with its possessive, or one mark. Hyphens, apostrophes and white space part words and leave no
# trace; no name runs over a blank line.
_TOKEN = re.compile(r"\n[^\S\n]*\n|[^\W_]+(?:['’][sS](?![^\W_]))?|[^\w\s'’\-‐‑–]")
_NUMBERED = frozenset({"type", "stage", "grade", "class", "phase", "group", "factor"})
_ROMAN = {
    r: str(n)
    for n, r in enumerate(
        ["i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii", "xiii", "xiv", "xv"], start=1
    )
}
_ROMAN_SERIES = re.compile(r"([IVX]+)([a-z]|[A-HJ-UWYZ])")
_GREEK = {"α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "κ": "kappa", "λ": "lambda"}
_ORDER = re.compile(r"(type \w{1,3}) (.+)\Z"), re.compile(r"(.+) (type \w{1,3})\Z")


@dataclass(frozen=True, slots=True)
class Term:
    term_id: str
    type: str
    name: str
    parents: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()


LOCAL = "text:"
"""Prefix of ids of terms that no lexicon knows, only a text; what follows is the normalised name."""


def node_id_of(term: Term) -> str:
    """The graph node of a term: by the lexicon's id, or by the normalised name of what only a text knows."""
    return ids.node_id(term.type, term.term_id.removeprefix(LOCAL))


@dataclass(frozen=True, slots=True)
class TermMatch:
    """text[start:end] names one of these terms; more than one id where the alias is ambiguous."""

    start: int
    end: int
    term_ids: tuple[str, ...]


@lru_cache(maxsize=200_000)
def _normal_word(word: str) -> str:
    """One spelling for one word: case, accents, possessive, British ae/oe/our/sulph, plural."""
    if word.isascii():
        word = word.lower()
    else:
        word = unicodedata.normalize("NFKD", word).casefold()
        word = "".join(_GREEK.get(c, c) for c in word if not unicodedata.combining(c))
    if word.endswith(("'s", "’s")):
        word = word[:-2]
    if len(word) < 4 or not word.isalpha():
        return word
    word = word.replace("ae", "e").replace("oe", "e").replace("sulph", "sulf")
    if word.endswith(("our", "ours")) and len(word) > 5:
        word = word.replace("our", "or")
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("oses", "yses", "stases")) and len(word) > 6:
        return word[:-2] + "is"
    adds_es = word.endswith(("uses", "sses", "xes", "ches", "shes")) and len(word) > 5
    if adds_es and not word.endswith(("auses", "ouses", "cuses", "aches")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def tokens(text: str) -> tuple[list[str], list[tuple[int, int]]]:
    """Normalised words and marks of `text`, and the character span of each. `type IIc` gives `type`, `2c`."""
    spans = [match.span() for match in _TOKEN.finditer(text)]
    words = [_normal_word(text[start:end]) for start, end in spans]
    if not _NUMBERED.isdisjoint(words):
        for i in range(1, len(words)):
            if words[i - 1] in _NUMBERED:
                words[i] = _number(text[slice(*spans[i])], words[i])
    return words, spans


def _number(written: str, word: str) -> str:
    """Roman numerals as digits: `IIi` is 2i, `III` is 3."""
    if series := _ROMAN_SERIES.fullmatch(written):
        return _ROMAN.get(series[1].lower(), series[1].lower()) + series[2].lower()
    return _ROMAN.get(word, word)


@lru_cache(maxsize=100_000)
def normalise(name: str) -> str:
    """The key under which two spellings of a name meet; '' for a name without letters or digits."""
    words = tokens(name)[0]
    return " ".join(words) if any(w[0].isalnum() for w in words) else ""


def is_abbreviation(name: str) -> bool:
    """Short and mostly capitals (CKD, HbA1c, AIDS): means something else, or nothing, in lower case."""
    if len(name) > 10:
        return False
    letters = [c for c in name if c.isalpha()]
    upper = sum(c.isupper() for c in letters)
    return upper >= 2 and len(letters) <= 5 and len(letters) - upper <= 2


@dataclass(slots=True)
class Lexicon:
    """Terms by id, and every alias under its normalised key. Matching is leftmost-longest over whole words."""

    terms: dict[str, Term]
    _phrases: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _abbreviations: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _longest: dict[str, int] = field(default_factory=dict)
    """By the first word and by the first two, how many words the longest key has."""
    _ancestors: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Of the terms that were asked for."""

    @classmethod
    def of(cls, terms: Iterable[Term]) -> Lexicon:
        lexicon = cls({term.term_id: term for term in terms})
        # Names before aliases: where one term's alias is another's name, the name wins.
        for term in lexicon.terms.values():
            lexicon._add(term.name, term.term_id)
        names = frozenset(lexicon._phrases)
        for term in lexicon.terms.values():
            for alias in term.aliases:
                lexicon._add(alias, term.term_id, keep=names)
        lexicon._add_type_orders()
        return lexicon

    def _add(self, name: str, term_id: str, keep: frozenset[str] = frozenset()) -> None:
        key = normalise(name)
        index = self._abbreviations if is_abbreviation(name) else self._phrases
        known = index.get(key, ())
        if not key or term_id in known or key in keep:
            return
        index[key] = (*known, term_id)
        self._index_length(key)

    def _index_length(self, key: str) -> None:
        words = key.split(" ", 2)
        length = key.count(" ") + 1
        for start in {words[0], " ".join(words[:2])}:
            if self._longest.get(start, 0) < length:
                self._longest[start] = length

    def _add_type_orders(self) -> None:
        """`type 2 diabetes` is also written `diabetes type 2`, and the other way round."""
        for key, term_ids in list(self._phrases.items()):
            for order in _ORDER if "type " in key else ():
                if found := order.match(key):
                    turned = f"{found.group(2)} {found.group(1)}"
                    if turned not in self._phrases:
                        self._phrases[turned] = term_ids
                        self._index_length(turned)

    def lookup(self, name: str) -> tuple[str, ...]:
        """Ids of the terms that have exactly this name or alias."""
        key = normalise(name)
        return self._phrases.get(key) or self._abbreviations.get(key, ())

    def find(
        self,
        text: str,
        *,
        fold_abbreviations: bool = False,
        tokenised: tuple[list[str], list[tuple[int, int]]] | None = None,
    ) -> list[TermMatch]:
        """Terms named in `text`, in order, without overlap; `tokenised` is tokens(text) where the caller has it.

        An abbreviation counts only in its capitals and outside an all-capital line, unless `fold_abbreviations`
        (for what people type in a hurry).
        """
        words, spans = tokenised or tokens(text)
        known = self._longest
        matches: list[TermMatch] = []
        following = 0
        for i in [i for i, word in enumerate(words) if word in known]:
            if i < following:
                continue
            longest = known[words[i]]
            if longest > 1:
                longest = known.get(" ".join(words[i : i + 2]), 1)
            for length in range(min(longest, len(words) - i), 0, -1):
                key = words[i] if length == 1 else " ".join(words[i : i + length])
                start, end = spans[i][0], spans[i + length - 1][1]
                term_ids = self._phrases.get(key, ())
                if (
                    not term_ids
                    and key in self._abbreviations
                    and (fold_abbreviations or _stands_out(text, start, end))
                ):
                    term_ids = self._abbreviations[key]
                if term_ids and not _continues_word(text, start):
                    if text[end - 2 : end] in ("'s", "’s"):
                        end -= 2
                    matches.append(TermMatch(start, end, term_ids))
                    following = i + length
                    break
        return matches

    def ancestors(self, term_id: str) -> tuple[str, ...]:
        """Parents first, then theirs, each once."""
        if term_id not in self.terms:
            return ()
        if term_id not in self._ancestors:
            self._ancestors[term_id] = tuple(self._walk_up(term_id))
        return self._ancestors[term_id]

    def _walk_up(self, term_id: str) -> Iterator[str]:
        seen = {term_id}
        level: Sequence[str] = (term_id,)
        while level:
            level = [p for t in level if t in self.terms for p in self.terms[t].parents if p not in seen]
            level = list(dict.fromkeys(level))
            seen.update(level)
            yield from level


def _continues_word(text: str, start: int) -> bool:
    """`Stüve-Wiedemann syndrome` is not Wiedemann syndrome."""
    return start > 1 and text[start - 1] in "-‐‑" and text[start - 2].isalnum()


def _stands_out(text: str, start: int, end: int) -> bool:
    """Written as an abbreviation is: capitals in a line that is not all capitals."""
    surface = text[start:end]
    if sum(map(str.isupper, surface)) < 2:
        return False
    line = text[text.rfind("\n", 0, start) + 1 : start] + text[end : (text.find("\n", end) + 1 or len(text) + 1) - 1]
    letters = sum(map(str.isalpha, line))
    return letters < 8 or sum(map(str.isupper, line)) < 0.7 * letters


def read_terms(paths: Iterable[Path]) -> list[Term]:
    """The terms of these files, later files adding to earlier ones. ConfigurationError names the line that is wrong."""
    terms: dict[str, Term] = {}
    for path in paths:
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        for number, line in enumerate(data.decode().split("\n"), start=1):
            if number == 1 or line.startswith("#") or not line.strip():
                continue
            fields = line.rstrip("\r").split("\t")
            if len(fields) != 5 or not fields[0] or not fields[1] or not fields[2]:
                raise ConfigurationError(
                    f"{path}, line {number}: expected id, type, name, parents, aliases parted by tabs.",
                    fix="Correct the line; parents and aliases may be empty, the tabs may not be missing.",
                )
            term_id, type_, name, parents, aliases = fields
            if type_ == "-":
                terms.pop(term_id, None)
                continue
            terms[term_id] = _merge(terms.get(term_id), term_id, type_, name, parents, aliases)
    return list(terms.values())


def _merge(known: Term | None, term_id: str, type_: str, name: str, parents: str, aliases: str) -> Term:
    listed = [a for a in aliases.split("|") if a]
    removed = {a[1:] for a in listed if a.startswith("-")}
    kept = [a for a in (*(known.aliases if known else ()), *listed) if not a.startswith("-") and a not in removed]
    all_parents = (*(known.parents if known else ()), *(p for p in parents.split("|") if p))
    return Term(term_id, type_, name, tuple(dict.fromkeys(all_parents)), tuple(dict.fromkeys(kept)))


@cache
def load_lexicon(folder: Path) -> Lexicon:
    """The lexicon of a domain's folder: `lexicon*.tsv.gz`, then `lexicon*.tsv`; empty where it has none.

    Read once per process.
    """
    return Lexicon.of(read_terms([*sorted(folder.glob("lexicon*.tsv.gz")), *sorted(folder.glob("lexicon*.tsv"))]))
