"""What a question asks of the knowledge graph: entities by longest match, the relation by the domain's patterns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from foundation.graph_schema import CO_OCCURS, GraphSchema, mask
from foundation.lexicon import Lexicon, is_abbreviation, node_id_of, normalise, tokens
from foundation.ports.graph import GraphStore
from foundation.types import Node, Principal
from query_service.reasoning.graph_paths import PathQuery, compile_paths, in_common, tied_to

_MAX_WORDS = 6
"""Words of a name that is looked up in the store."""
_YES_NO = re.compile(r"\A(is|are|was|were|does|do|did|can|could|may|might|will|would|should|has|have) ")
_LIST = re.compile(r"<\d+>(?: , <\d+>)* (?:, )?(?:and|or) (?:an? |the )?<\d+>")
_IN_COMMON = re.compile(r"\b(common|both|share|shared)\b")
_ARTICLE = re.compile(r"\b(?:an?|the) (?=<\d)")
# What opens the phrase that a question asks for, what may stand before its `the`, and what ends it.
_OPENERS = frozenset("which what whose list name show give find any all every".split())
_BEFORE_THE = _OPENERS | frozenset("is are was were be there me all of other some".split())
_NOT_BEFORE_NOUN = frozenset(
    "do does did can could may might will would should has have how why when where who for in with to by between on "
    "about from than that".split()
)
_MAX_BEFORE_NOUN = 6
# Words that carry a question and name nothing in it.
_STOP = frozenset(
    "a an and any are as at be by can could do does did for from had has have how i if in is it its may me might my of "
    "on or our should so some than that the their them there these they this to was we were what when where which who "
    "whom whose why will with would you your not about all between common both share tell know".split()
)


@dataclass(frozen=True, slots=True)
class Linked:
    """question[start:end] names this node; None where nothing that the principal may see does."""

    start: int
    end: int
    surface: str
    node: Node | None


@dataclass(frozen=True, slots=True)
class Asked:
    """`given`: the end of the relation that the named entities are; `entities` index into the linked ones."""

    relation: str
    given: Literal["source", "target", "any"]
    entities: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Question:
    linked: tuple[Linked, ...]
    asked: tuple[Asked, ...]
    meaning: bool
    """Asks for what a name stands for, or for other names."""
    yes_no: bool
    in_common: bool
    overview: bool
    """Asks for what is stated of a thing."""
    together: bool
    """Asks for what is named beside a thing."""
    types: frozenset[str]
    """The node types that it asks for; empty where any will do."""
    path: PathQuery | None = None
    """Where it asks for the exact set that steps lead to."""

    @property
    def related(self) -> bool:
        """Asks for any tie at all."""
        return any(asked.relation == CO_OCCURS for asked in self.asked)


def understand(
    question: str, store: GraphStore, principal: Principal, lexicon: Lexicon, schema: GraphSchema
) -> Question:
    """Entities by longest match (the lexicon, then aliases in the store), then the relations that its words ask for."""
    types, type_words = _asked_types(question, lexicon, schema)
    # The `CM` of an ICD-10-CM code is no cutaneous mastocytosis.
    linked = [
        entity
        for entity in _link(question, store, principal, lexicon, schema)
        if not any(start <= entity.start and entity.end <= end for start, end in type_words)
    ]
    masked = _masked(question, linked)
    asked = tuple(_asked(masked, len(linked), schema))
    if types and any(a.relation == CO_OCCURS for a in asked):
        # In `Which drugs are connected to …` the type alone asks for no relation, though `drugs for …` does.
        for start, end in type_words:
            question = question[:start] + " " * (end - start) + question[end:]
        asked = tuple(_asked(_masked(question, linked), len(linked), schema))
    yes_no, shared = _YES_NO.match(masked) is not None, _IN_COMMON.search(masked) is not None
    return Question(
        tuple(linked),
        asked,
        _asks_meaning(masked, linked, schema),
        yes_no,
        shared,
        _any_fits(schema.overview_questions, masked, schema),
        _any_fits(schema.together_questions, masked, schema),
        types,
        None if yes_no else _path(masked, linked, asked, shared, types, schema),
    )


def _path(
    masked: str,
    linked: Sequence[Linked],
    asked: Sequence[Asked],
    shared: bool,
    types: frozenset[str],
    schema: GraphSchema,
) -> PathQuery | None:
    """One step is a path only where it has no question of its own, or is asked of an ontology by its name."""
    of_source = any(normalise(name) in normalise(masked) for name in schema.lexicon_names.values())
    path = compile_paths(masked, [e.node.type if e.node else "" for e in linked], schema)
    if path is not None and (not path.simple or not asked or of_source):
        return path
    stated = [one for one in asked if one.relation != CO_OCCURS]
    if len(stated) == 1 and stated[0].given != "any":
        entities = stated[0].entities
        if (shared and len(entities) > 1) or (of_source and len(entities) == 1):
            return in_common(stated[0].relation, stated[0].given, entities)
    if not stated and of_source and linked and len(types) == 1:
        return tied_to(next(iter(types)), range(len(linked)), schema)
    return None


def _masked(question: str, linked: Sequence[Linked]) -> str:
    """The question as patterns read it: an entity, or a list of them, is one placeholder without an article."""
    masked = mask(question, [(entity.start, entity.end) for entity in linked])
    masked = _LIST.sub(lambda m: "<" + ",".join(re.findall(r"<(\d+)>", m.group())) + ">", masked)
    return _ARTICLE.sub("", masked)


def _any_fits(patterns: Iterable[str], masked: str, schema: GraphSchema) -> bool:
    return any(schema.compile(pattern).search(masked) for pattern in patterns)


def _asked_types(question: str, lexicon: Lexicon, schema: GraphSchema) -> tuple[frozenset[str], list[tuple[int, int]]]:
    """The node types in the phrase that the question asks for (`Which common drugs and tests …`), and their words.

    `the disease asthma` only says what asthma is, and so does a verb's object (`What relieves the symptom …`).
    """
    words, spans = tokens(question)
    opening = next((i for i, word in enumerate(words) if word in _OPENERS), None)
    if opening is None:
        return frozenset(), []
    by_word = {normalise(word): type_ for type_, own in schema.type_words.items() for word in own}
    longest = max((key.count(" ") + 1 for key in by_word), default=0)
    barred = {normalise(word) for word in (*_NOT_BEFORE_NOUN, *schema.barriers)}
    named = [(m.start, m.end) for m in lexicon.find(question)]
    found: list[tuple[str, tuple[int, int]]] = []
    i = opening + 1
    while i < len(words) and i <= opening + _MAX_BEFORE_NOUN:
        length = next((n for n in range(longest, 0, -1) if " ".join(words[i : i + n]) in by_word), 0)
        if length:
            place = spans[i][0], spans[min(i + length, len(words)) - 1][1]
            if found and words[i - 1] not in ("and", "or", ","):
                found.pop()  # `disease symptoms` are symptoms
            found.append((by_word[" ".join(words[i : i + length])], place))
            i += length
            continue
        is_entity = any(start <= spans[i][0] < end for start, end in named)
        is_object = words[i] == "the" and words[i - 1] not in _BEFORE_THE
        is_over = bool(found) and words[i] not in ("and", "or", ",")
        if is_entity or is_object or is_over or words[i] in barred:
            break
        i += 1
    if i < len(words) and found and any(start == spans[i][0] for start, _ in named):
        return frozenset(), []
    return frozenset(type_ for type_, _ in found), [place for _, place in found]


def _asks_meaning(masked: str, linked: Sequence[Linked], schema: GraphSchema) -> bool:
    if len(linked) != 1:
        return False
    return _any_fits(schema.meaning_questions, masked, schema) or (
        is_abbreviation(linked[0].surface) and _any_fits(schema.abbreviation_questions, masked, schema)
    )


def _asked(masked: str, entities: int, schema: GraphSchema) -> Iterable[Asked]:
    """Each relation by the first of its patterns that fits; patterns that hold the entity beat those that do not."""
    found: list[tuple[bool, Asked]] = []
    for name, relation in schema.relations.items():
        for question in relation.questions:
            match = schema.compile(question.pattern).search(masked)
            if match is not None:
                placed = match.groupdict().get("entity")
                meant = tuple(int(n) for n in placed.strip("<>").split(",")) if placed else tuple(range(entities))
                found.append((placed is not None, Asked(name, question.given, meant)))
                break
    best = max((placed for placed, _ in found), default=False)
    return [asked for placed, asked in found if placed == best]


def _link(
    question: str, store: GraphStore, principal: Principal, lexicon: Lexicon, schema: GraphSchema
) -> list[Linked]:
    matches = lexicon.find(question) or lexicon.find(question, fold_abbreviations=True)
    known = [(m.start, m.end, [node_id_of(lexicon.terms[t]) for t in m.term_ids]) for m in matches]
    wanted = [node_id for _, _, node_ids in known for node_id in node_ids]
    near = store.neighbourhood(principal, wanted, limit=1)[0] if wanted else []
    visible = {node_id: node for node in near for node_id in (node.node_id, *node.same_as)}
    candidates = [
        Linked(start, end, question[start:end], next((visible[i] for i in node_ids if i in visible), None))
        for start, end, node_ids in known
    ]
    candidates += _link_aliases(question, store, principal, schema)
    # Longest first; of two that name the same words, the one that the store knows, best by that very spelling
    # (`type 5` and `type V` may be two).
    candidates.sort(key=lambda c: (c.start - c.end, c.node is None, not _is_spelt(c), c.start))
    taken: list[Linked] = []
    for candidate in candidates:
        if all(candidate.end <= other.start or other.end <= candidate.start for other in taken):
            taken.append(candidate)
    return sorted(taken, key=lambda c: c.start)


def _is_spelt(linked: Linked) -> bool:
    return linked.node is not None and linked.surface in (linked.node.name, *linked.node.aliases)


def _link_aliases(question: str, store: GraphStore, principal: Principal, schema: GraphSchema) -> list[Linked]:
    """Runs of words that are a name or an alias of a node the principal may see."""
    words, spans = tokens(question)
    general = _STOP | {normalise(name) for name in schema.stop_concepts}
    runs: dict[str, list[tuple[int, int]]] = {}
    for first in range(len(words)):
        for last in range(first, min(first + _MAX_WORDS, len(words))):
            if not words[last][0].isalnum():
                break
            if (
                words[first] not in _STOP
                and words[last] not in _STOP
                and not general.issuperset(words[first : last + 1])
            ):
                key = " ".join(words[first : last + 1])
                runs.setdefault(key, []).append((spans[first][0], spans[last][1]))
    if not runs:
        return []
    linked = []
    for node in store.find_nodes(principal, list(runs), limit=50, exact=True):
        for key in dict.fromkeys(normalise(name) for name in (node.name, *node.aliases)):
            linked += [Linked(start, end, question[start:end], node) for start, end in runs.get(key, ())]
    return linked
