"""Which terms a version's chunks name: the domain's lexicon, and the abbreviations that the version defines itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from foundation.graph_schema import GraphSchema
from foundation.lexicon import Lexicon, Term, TermMatch, normalise
from foundation.types import Chunk
from pipelines.extraction import abbreviations

LOCAL = "text:"
"""Prefix of ids of terms that only the text knows; what follows is the normalised name."""


@dataclass(frozen=True, slots=True)
class Entity:
    """chunk.text[start:end] names this term."""

    start: int
    end: int
    term: Term
    method: str


def local_term(name: str, type_: str, aliases: tuple[str, ...] = ()) -> Term:
    return Term(LOCAL + normalise(name), type_, name, aliases=aliases)


def defined_terms(chunks: Sequence[Chunk], lexicon: Lexicon, schema: GraphSchema) -> Lexicon:
    """What the version's own definitions say: the long form's term with the short form as a further alias."""
    terms: dict[str, Term] = {}
    for chunk in chunks:
        for definition in abbreviations.find(chunk.text):
            matches = lexicon.find(definition.long)
            # The long form names a known term when that term closes it: `chronic kidney disease`, not `kidney clinic`.
            last = matches[-1] if matches and matches[-1].end == len(definition.long) else None
            known = last if last and len(last.term_ids) == 1 else None
            if known is not None:
                base = lexicon.terms[known.term_ids[0]]
                long = definition.long[known.start :]
                # `acute kidney failure (AKF)` defines AKF, which is more than kidney failure.
                if sum(c.isalpha() for c in definition.short) <= 2 * len(normalise(long).split()):
                    _add(terms, Term(base.term_id, base.type, long, aliases=(definition.short,)))
                    continue
            if normalise(definition.long):
                _add(terms, local_term(definition.long, schema.free_type, (definition.short,)))
    return Lexicon.of(terms.values())


def _add(terms: dict[str, Term], term: Term) -> None:
    known = terms.get(term.term_id)
    aliases = tuple(dict.fromkeys((*(known.aliases if known else ()), *term.aliases)))
    terms[term.term_id] = Term(term.term_id, term.type, known.name if known else term.name, aliases=aliases)


def find_entities(chunks: Sequence[Chunk], lexicon: Lexicon, schema: GraphSchema) -> list[list[Entity]]:
    """Entities of each chunk, in order, without overlap.

    Where names overlap the longest counts; the version's own definition comes before the lexicon's. An alias of
    several terms counts only when exactly one of them is named otherwise in this version.
    """
    defined = defined_terms(chunks, lexicon, schema)
    found = [_merge(defined.find(chunk.text), lexicon.find(chunk.text)) for chunk in chunks]
    certain = {match.term_ids[0] for matches in found for match, _ in matches if len(match.term_ids) == 1}
    entities = []
    for matches in found:
        row = []
        for match, own in matches:
            term_ids = match.term_ids if len(match.term_ids) == 1 else [t for t in match.term_ids if t in certain]
            if len(term_ids) == 1:
                term_id = term_ids[0]
                term = lexicon.terms.get(term_id) or defined.terms[term_id]
                row.append(Entity(match.start, match.end, term, "abbreviation" if own else "lexicon"))
        entities.append(row)
    return entities


def _merge(own: list[TermMatch], known: list[TermMatch]) -> list[tuple[TermMatch, bool]]:
    candidates = [(match, True) for match in own] + [(match, False) for match in known]
    candidates.sort(key=lambda c: (c[0].start - c[0].end, not c[1], c[0].start))
    taken: list[tuple[TermMatch, bool]] = []
    for match, is_own in candidates:
        if all(match.end <= other.start or other.end <= match.start for other, _ in taken):
            taken.append((match, is_own))
    return sorted(taken, key=lambda c: c[0].start)
