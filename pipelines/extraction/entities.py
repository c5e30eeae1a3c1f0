"""Which terms a version's chunks name: the domain's lexicon, and the abbreviations that the version defines itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from foundation.graph_schema import GraphSchema
from foundation.lexicon import LOCAL, Lexicon, Term, TermMatch, normalise, tokens
from foundation.types import Chunk
from pipelines.extraction import abbreviations
from pipelines.extraction.abbreviations import Definition


@dataclass(frozen=True, slots=True)
class Entity:
    """chunk.text[start:end] names this term."""

    start: int
    end: int
    term: Term
    method: str


def local_term(name: str, type_: str, aliases: tuple[str, ...] = ()) -> Term:
    return Term(LOCAL + normalise(name), type_, " ".join(name.split()), aliases=aliases)


@dataclass(slots=True)
class Found:
    """By chunk: the entities, in order and without overlap; and the spans that define an abbreviation of one."""

    entities: list[list[Entity]]
    definitions: list[list[Entity]]


def _defined_term(definition: Definition, lexicon: Lexicon, schema: GraphSchema) -> Term:
    """The lexicon's term where the long form is one; else the text's own, of the kind of the term that closes it."""
    matches = lexicon.find(definition.long)
    last = matches[-1] if matches and matches[-1].end == len(definition.long) else None
    if last is None:
        return local_term(definition.long, schema.free_type, (definition.short,))
    base = lexicon.terms[last.term_ids[0]]
    if last.start == 0 and len(last.term_ids) == 1:
        return Term(base.term_id, base.type, definition.long, aliases=(definition.short,))
    return local_term(definition.long, base.type, (definition.short,))


def _as_lexicon(terms: Iterable[Term]) -> Lexicon:
    """A term that is defined more than once keeps its first long form and every short one."""
    merged: dict[str, Term] = {}
    for term in terms:
        known = merged.get(term.term_id, term)
        aliases = tuple(dict.fromkeys((*known.aliases, *term.aliases)))
        merged[term.term_id] = Term(term.term_id, term.type, known.name, aliases=aliases)
    return Lexicon.of(merged.values())


def find_entities(chunks: Sequence[Chunk], lexicon: Lexicon, schema: GraphSchema) -> Found:
    """What the chunks of one version name.

    Where names overlap the longest counts; the version's own definition comes before the lexicon's. An alias of
    several terms counts only when exactly one of them is named otherwise in this version.
    """
    definitions = [[(d, _defined_term(d, lexicon, schema)) for d in abbreviations.find(c.text)] for c in chunks]
    own = _as_lexicon(term for row in definitions for _, term in row)
    matches = [_matches(chunk.text, own, lexicon) for chunk in chunks]
    certain = {match.term_ids[0] for row in matches for match, _ in row if len(match.term_ids) == 1}

    def term_of(term_id: str) -> Term:
        return lexicon.terms.get(term_id) or own.terms[term_id]

    entities = []
    for row in matches:
        named = []
        for match, is_own in row:
            term_ids = match.term_ids if len(match.term_ids) == 1 else [t for t in match.term_ids if t in certain]
            if len(term_ids) == 1:
                method = "abbreviation" if is_own else "lexicon"
                named.append(Entity(match.start, match.end, term_of(term_ids[0]), method))
        entities.append(named)
    return Found(
        entities,
        [
            # The closing parenthesis belongs to what a reader is shown.
            [Entity(d.start, d.short_end + 1, term_of(term.term_id), "definition") for d, term in row]
            for row in definitions
        ],
    )


def _matches(text: str, own: Lexicon, lexicon: Lexicon) -> list[tuple[TermMatch, bool]]:
    tokenised = tokens(text)
    known = lexicon.find(text, tokenised=tokenised)
    return _merge(own.find(text, tokenised=tokenised), known) if own.terms else [(match, False) for match in known]


def _merge(own: list[TermMatch], known: list[TermMatch]) -> list[tuple[TermMatch, bool]]:
    candidates = [(match, True) for match in own] + [(match, False) for match in known]
    candidates.sort(key=lambda c: (c[0].start - c[0].end, not c[1], c[0].start))
    taken: list[tuple[TermMatch, bool]] = []
    for match, is_own in candidates:
        if all(match.end <= other.start or other.end <= match.start for other, _ in taken):
            taken.append((match, is_own))
    return sorted(taken, key=lambda c: c[0].start)
