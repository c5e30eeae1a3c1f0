"""What a question asks of the knowledge graph: entities by longest match, the relation by the domain's patterns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from foundation.graph_schema import CO_OCCURS, GraphSchema, mask
from foundation.lexicon import Lexicon, is_abbreviation, node_id_of, normalise, tokens
from foundation.ports.graph import GraphStore
from foundation.types import Node, Principal

_MAX_WORDS = 6
"""Words of a name that is looked up in the store."""
_YES_NO = re.compile(r"\A(is|are|was|were|does|do|did|can|could|may|might|will|would|should|has|have) ")
_LIST = re.compile(r"<\d+>(?: , <\d+>)* (?:, )?(?:and|or) (?:an? |the )?<\d+>")
_IN_COMMON = re.compile(r"\b(common|both|share|shared)\b")
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
    given: str
    entities: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Question:
    linked: tuple[Linked, ...]
    asked: tuple[Asked, ...]
    masked: str
    meaning: bool
    """Asks for what a name stands for, or for other names."""
    yes_no: bool
    in_common: bool

    @property
    def related(self) -> bool:
        """Asks for any tie at all."""
        return any(asked.relation == CO_OCCURS for asked in self.asked)


def understand(
    question: str, store: GraphStore, principal: Principal, lexicon: Lexicon, schema: GraphSchema
) -> Question:
    """Entities by longest match (the lexicon, then aliases in the store), then the relations that its words ask for."""
    linked = _link(question, store, principal, lexicon, schema)
    masked = mask(question, [(entity.start, entity.end) for entity in linked])
    masked = _LIST.sub(lambda m: "<" + ",".join(re.findall(r"<(\d+)>", m.group())) + ">", masked)
    return Question(
        tuple(linked),
        tuple(_asked(masked, len(linked), schema)),
        masked,
        _asks_meaning(masked, linked, schema),
        _YES_NO.match(masked) is not None,
        _IN_COMMON.search(masked) is not None,
    )


def _asks_meaning(masked: str, linked: Sequence[Linked], schema: GraphSchema) -> bool:
    if len(linked) != 1:
        return False
    if any(schema.compile(pattern).search(masked) for pattern in schema.meaning_questions):
        return True
    return is_abbreviation(linked[0].surface) and any(
        schema.compile(pattern).search(masked) for pattern in schema.abbreviation_questions
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
    visible = {n.node_id: n for n in store.neighbourhood(principal, wanted, limit=1)[0]} if wanted else {}
    candidates = [
        Linked(start, end, question[start:end], next((visible[i] for i in node_ids if i in visible), None))
        for start, end, node_ids in known
    ]
    candidates += _link_aliases(question, store, principal, schema)
    # Longest first; of two that name the same words, the one that the store knows.
    candidates.sort(key=lambda c: (c.start - c.end, c.node is None, c.start))
    taken: list[Linked] = []
    for candidate in candidates:
        if all(candidate.end <= other.start or other.end <= candidate.start for other in taken):
            taken.append(candidate)
    return sorted(taken, key=lambda c: c.start)


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
