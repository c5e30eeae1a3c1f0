"""Chunks of one version → nodes, edges and mentions of the knowledge graph. Deterministic; no network, no model.

Lexicon terms are found everywhere. Part-of-speech tags are made only for sentences that hold a term and a word by which
the domain states a relation, because the tagger costs forty times what the lexicon does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, islice
from typing import TYPE_CHECKING

from foundation.graph_schema import CO_OCCURS, IS_A, GraphSchema
from foundation.lexicon import Lexicon, Term, node_id_of, normalise
from foundation.types import Chunk, VersionGraph
from pipelines.extraction.builder import GraphBuilder
from pipelines.extraction.entities import Entity, find_entities, local_term
from pipelines.extraction.noun_phrases import load_tagger, noun_phrases
from pipelines.extraction.ontology import is_obo, read_obo, read_tables
from pipelines.extraction.people import find_people
from pipelines.extraction.relations import Argument, find_statements, masked_list, masked_sentence
from pipelines.extraction.units import Unit, split

if TYPE_CHECKING:
    from spacy.language import Language

EXTRACTOR = "patterns/4"
"""Raise it when the output changes: it is part of the stage's code version."""

Phrases = list[tuple[int, int]]

_MAX_CONCEPT_WORDS = 4
# Words, numbers and compounds; a compound alone (`right-side`) is a modifier that lost its noun.
_CONCEPT = re.compile(r"(?![^\s-]+-[^\s-]+\Z)\w[\w '’/.\-]*")
_WORD = re.compile(r"\w+")
_MAX_CO_OCCURRING = 10
_MAX_CO_OCCURRENCE = 400
"""Things and characters: what names more or runs longer is an enumeration, and ties none of its things to another."""


@dataclass(frozen=True, slots=True)
class _Sentence:
    chunk: Chunk
    unit: Unit
    entities: tuple[Entity, ...]

    @property
    def text(self) -> str:
        return self.chunk.text[self.unit.start : self.unit.end]

    @property
    def places(self) -> list[tuple[int, int, str]]:
        """Start and end in the sentence, and type, of each entity."""
        offset = self.unit.start
        return [(e.start - offset, e.end - offset, e.term.type) for e in self.entities]


@dataclass(slots=True)
class Draft:
    """A version whose terms are found; `telling` are the sentences that may state a relation, once they are tagged."""

    chunks: Sequence[Chunk]
    entities: list[list[Entity]]
    builder: GraphBuilder
    sentences: list[_Sentence]
    telling: list[_Sentence]


def extract(
    chunks: Sequence[Chunk], *, lexicon: Lexicon, graph_schema: GraphSchema, nlp: Language | None = None
) -> VersionGraph:
    """What these chunks of one version say. `nlp` is a spaCy pipeline that tags; by default the packaged one."""
    if not chunks:
        return VersionGraph("", [], [], [])
    draft = draft_version(chunks, lexicon, graph_schema)
    (phrases,) = tag([draft], nlp)
    return finish(draft, phrases, lexicon, graph_schema)


def extract_table(chunks: Sequence[Chunk], lexicon: Lexicon, graph_schema: GraphSchema) -> VersionGraph:
    """What the rows of a table file's chunks declare, where it is a table of terms; no sentence is read in it."""
    builder = GraphBuilder(chunks[0].version_id)
    read_tables(chunks, builder, lexicon, graph_schema)
    return builder.finish()


def draft_version(chunks: Sequence[Chunk], lexicon: Lexicon, graph_schema: GraphSchema) -> Draft:
    """The first half: all that needs no tagger. `chunks` are of one version, at least one."""
    builder = GraphBuilder(chunks[0].version_id)
    found = find_entities(chunks, lexicon, graph_schema)
    people = find_people(chunks, found.entities, lexicon, graph_schema)
    for chunk, marked in zip(chunks, people, strict=True):
        for entity in marked:
            builder.add_node(entity.term, chunk, entity.start, entity.end, entity.method)
    found.entities = [_beside(row, marked) for row, marked in zip(found.entities, people, strict=True)]
    for chunk, entities, definitions in zip(chunks, found.entities, found.definitions, strict=True):
        for entity in entities:
            builder.add_node(entity.term, chunk, entity.start, entity.end, entity.method)
        for entity in definitions:
            builder.add_node(entity.term, chunk, entity.start, entity.end, entity.method, is_name=False)
    sentences = list(_sentences(chunks, found.entities))
    telling = [s for s in sentences if s.text[-1] != "?" and graph_schema.may_state(s.text, s.places)]
    return Draft(chunks, found.entities, builder, sentences, telling)


def _beside(entities: list[Entity], people: Sequence[Entity]) -> list[Entity]:
    """The terms that stand in nobody's name."""
    if not people:
        return entities
    return [e for e in entities if all(e.end <= p.start or p.end <= e.start for p in people)]


def tag(drafts: Sequence[Draft], nlp: Language | None = None) -> list[list[Phrases]]:
    """The noun phrases of each telling sentence of each draft; many drafts at once cost less than one by one."""
    texts = [sentence.text for draft in drafts for sentence in draft.telling]
    if not texts:
        return [[] for _ in drafts]
    tagged = noun_phrases(nlp or load_tagger(), texts)
    return [list(islice(tagged, len(draft.telling))) for draft in drafts]


def finish(draft: Draft, phrases: Sequence[Phrases], lexicon: Lexicon, graph_schema: GraphSchema) -> VersionGraph:
    """The second half: what the sentences state, the lexicon's hierarchy, and what is named together."""
    builder = draft.builder
    if is_obo(draft.chunks[0].text):
        read_obo(draft.chunks, builder, lexicon, graph_schema)
    for sentence, found in zip(draft.telling, phrases, strict=True):
        _add_statements(sentence, found, builder, graph_schema)
    for chunk, entities in zip(draft.chunks, draft.entities, strict=True):
        _add_hierarchy(chunk, entities, builder, lexicon)
    if CO_OCCURS in graph_schema.relations:
        _add_co_occurrences(draft.sentences, builder, graph_schema, lexicon)
    return builder.finish()


def _sentences(chunks: Sequence[Chunk], found: Sequence[Sequence[Entity]]) -> Iterator[_Sentence]:
    """Sentences that name something; one that stands in two overlapping chunks comes once."""
    seen = set()
    for chunk, entities in zip(chunks, found, strict=True):
        if not entities:
            continue
        for unit in split(chunk.text):
            inside = tuple(e for e in entities if unit.start <= e.start and e.end <= unit.end)
            place = (chunk.start + unit.start, chunk.start + unit.end)
            if inside and place not in seen:
                seen.add(place)
                yield _Sentence(chunk, unit, inside)


def _add_statements(
    sentence: _Sentence, phrases: Sequence[tuple[int, int]], builder: GraphBuilder, schema: GraphSchema
) -> None:
    arguments = _arguments(sentence, phrases, schema)
    if len(arguments) < 2:
        return
    unit, text = sentence.unit, sentence.text
    if unit.lead is None:
        masked = masked_sentence(text, arguments, schema)
    else:
        items = [(start - unit.start, end - unit.start) for start, end in unit.items]
        masked = masked_list(text, arguments, unit.lead - unit.start, items, schema)
    for statement in find_statements(masked, arguments, schema):
        ends = arguments[statement.source], arguments[statement.target]
        source, target = (_add_argument(end, sentence, builder) for end in ends)
        # Of a list, the lead-in and the items down to the one meant are the evidence.
        stop = unit.end if unit.lead is None else max(_item_end(unit, end) for end in ends)
        builder.add_edge(source, statement.relation, target, sentence.chunk, unit.start, stop, "pattern")


def _item_end(unit: Unit, argument: Argument) -> int:
    place = unit.start + argument.end
    return next((end for start, end in unit.items if start < place <= end), place)


def _add_argument(argument: Argument, sentence: _Sentence, builder: GraphBuilder) -> str:
    if not argument.free:
        return node_id_of(argument.term)
    offset = sentence.unit.start
    return builder.add_node(
        argument.term, sentence.chunk, offset + argument.start, offset + argument.end, "noun_phrase"
    )


def _arguments(sentence: _Sentence, phrases: Sequence[tuple[int, int]], schema: GraphSchema) -> list[Argument]:
    """What can be an end of a relation: the terms, each with its modifiers, and noun phrases of their own."""
    offset, text = sentence.unit.start, sentence.text
    known = [Argument(e.start - offset, e.end - offset, e.term) for e in sentence.entities]
    arguments = []
    covered = []
    for start, end in (part for phrase in phrases for part in _without_verbs(text, *phrase, schema)):
        start = _past_barriers(text, start, end, schema)
        inside = [a for a in known if a.start < end and start < a.end]
        if not inside:
            term = _concept(text[start:end], schema)
            if term is not None:
                arguments.append(Argument(start, end, term, free=True))
            continue
        last = inside[-1]
        rest = text[last.end : end].split()
        if rest and normalise(rest[0]) not in _stop_keys(schema):
            # The term only modifies another noun (`asthma attack`): the phrase is meant, not the term.
            covered += inside
            term = _concept(text[start:end], schema)
            if term is not None:
                arguments.append(Argument(min(start, inside[0].start), end, term, free=True))
        else:
            covered += inside
            arguments.append(Argument(min(start, last.start), last.end, last.term))
    arguments += [a for a in known if a not in covered]
    arguments.sort(key=lambda a: (a.start, -a.end))
    return _join_of(text, _apart(arguments), schema)


def _join_of(text: str, arguments: Sequence[Argument], schema: GraphSchema) -> list[Argument]:
    """`degeneration of myelin` is one phrase, not two."""
    joined: list[Argument] = []
    for argument in arguments:
        head = joined[-1] if joined else None
        if head and head.free and argument.free and text[head.end : argument.start].split() in (["of"], ["of", "the"]):
            term = local_term(f"{head.term.name} of {argument.term.name}", schema.free_type)
            joined[-1] = Argument(head.start, argument.end, term, free=True)
        else:
            joined.append(argument)
    return joined


def _apart(arguments: Sequence[Argument]) -> list[Argument]:
    apart: list[Argument] = []
    for argument in arguments:
        if not apart or apart[-1].end <= argument.start:
            apart.append(argument)
    return apart


def _without_verbs(text: str, start: int, end: int, schema: GraphSchema) -> Iterator[tuple[int, int]]:
    """The parts of a phrase before and after verbs that the tagger took for nouns."""
    for word in _WORD.finditer(text[start:end]):
        if word.group().lower() in schema.never_nouns:
            if word.start():
                yield start, start + len(text[start : start + word.start()].rstrip())
            rest = start + word.end()
            rest += len(text[rest:end]) - len(text[rest:end].lstrip())
            if rest < end:
                yield from _without_verbs(text, rest, end, schema)
            return
    yield start, end


def _past_barriers(text: str, start: int, end: int, schema: GraphSchema) -> int:
    """Where the phrase starts once leading words that patterns need (`lower`, `treat`) are left to them."""
    while (word := text[start:end].split(maxsplit=1)) and word[0].lower() in schema.barriers and len(word) == 2:
        start = end - len(word[1])
    return start


def _stop_keys(schema: GraphSchema) -> frozenset[str]:
    return _normalised(schema.stop_concepts)


@lru_cache(maxsize=8)
def _normalised(names: frozenset[str]) -> frozenset[str]:
    return frozenset(normalise(name) for name in names)


def _concept(phrase: str, schema: GraphSchema) -> Term | None:
    """The term of a noun phrase that no lexicon knows; None where it is too general, too long or no words."""
    stop = _stop_keys(schema)
    words = phrase.split()
    while words and normalise(words[0]) in stop:
        words = words[1:]
    name = " ".join(words)
    key = normalise(name)
    if not 1 <= len(words) <= _MAX_CONCEPT_WORDS or normalise(words[-1]) in stop or not 3 <= len(key) <= 100:
        return None
    if not _CONCEPT.fullmatch(name) or not any(len(w) > 2 and w.isalpha() for w in key.split()):
        return None
    return local_term(name if any(c.isupper() for c in name[1:]) else name.lower(), schema.free_type)


def _add_hierarchy(chunk: Chunk, entities: Sequence[Entity], builder: GraphBuilder, lexicon: Lexicon) -> None:
    """`is_a` from the lexicon, to the nearest ancestors that the same chunk names; the child's mention is evidence."""
    first = {e.term.term_id: e for e in reversed(entities) if e.term.term_id in lexicon.terms}
    for term_id in sorted(first, key=lambda t: first[t].start):
        above: set[str] = set()
        for ancestor in lexicon.ancestors(term_id):
            if ancestor in first and ancestor not in above:
                above.update(lexicon.ancestors(ancestor))
                child, parent = first[term_id], first[ancestor]
                builder.add_edge(
                    node_id_of(child.term), IS_A, node_id_of(parent.term), chunk, child.start, child.end, "lexicon"
                )


def _add_co_occurrences(
    sentences: Sequence[_Sentence], builder: GraphBuilder, schema: GraphSchema, lexicon: Lexicon
) -> None:
    """The weakest tie: two terms in one sentence that no stated relation of this version ties."""
    types = schema.relations[CO_OCCURS].source
    tied = builder.pairs()
    for sentence in sentences:
        terms = {e.term.term_id: e.term for e in sentence.entities if e.term.type in types}
        if not 2 <= len(terms) <= _MAX_CO_OCCURRING or len(sentence.text) > _MAX_CO_OCCURRENCE:
            continue
        for one, other in combinations(terms.values(), 2):
            source, target = sorted((node_id_of(one), node_id_of(other)))
            related = one.term_id in lexicon.ancestors(other.term_id) or other.term_id in lexicon.ancestors(one.term_id)
            if not related and frozenset((source, target)) not in tied:
                unit = sentence.unit
                builder.add_edge(source, CO_OCCURS, target, sentence.chunk, unit.start, unit.end, "co_occurrence")
