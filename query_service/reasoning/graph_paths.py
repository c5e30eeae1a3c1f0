"""Questions over paths: steps from entities, compiled from the domain's phrases; and the exact set that they reach.

`the parent class of the parent class of A`, `kinds of A linked to the symptom B`, `symptoms that A and B have in
common`, `diseases that share a symptom with A`: a branch of steps an entity, and the answer is what all branches reach.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from foundation.graph_schema import DECLARED, GraphSchema, Relation
from foundation.lexicon import normalise
from foundation.ports.graph import GraphStore
from foundation.types import Edge, Mention, Node, Principal

_MAX_DEPTH = 30
_OTHER_END: dict[str, Literal["source", "target"]] = {"source": "target", "target": "source"}


@dataclass(frozen=True, slots=True)
class Step:
    """From the `given` end of a relation to the other; `transitive`: again and again."""

    relation: str
    given: Literal["source", "target"]
    transitive: bool = False


@dataclass(frozen=True, slots=True)
class Branch:
    """Steps from entity number `start` of the question."""

    start: int
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class PathQuery:
    """What every branch reaches, but for the entity itself that a branch starts from."""

    branches: tuple[Branch, ...]

    @property
    def simple(self) -> bool:
        return len(self.branches) == 1 and len(self.branches[0].steps) == 1


@dataclass(frozen=True, slots=True)
class Reached:
    """One answer with the edges that lead to it from the first entity to the last step, branch by branch."""

    node: Node
    path: tuple[Edge, ...]


@dataclass(slots=True)
class _Walk:
    """What one branch reached, and how."""

    ends: set[str]
    by_edge: list[tuple[set[str], dict[str, tuple[str, Edge]]]] = field(default_factory=list)
    """Of each step: where it started, and by node where from and by which edge."""

    def path(self, node_id: str) -> list[Edge]:
        path: list[Edge] = []
        for starts, reached in reversed(self.by_edge):
            arrived = False
            while not arrived:
                node_id, edge = reached[node_id]
                path.append(edge)
                arrived = node_id in starts
        return path[::-1]


def compile_paths(masked: str, types: Sequence[str], schema: GraphSchema) -> PathQuery | None:
    """The path that a masked question asks for; None where its words are of no such form.

    `types`: of each entity, by which `linked to fever` knows its relation.
    """
    text = re.sub(r"[\"“”„«»'`‘’] ", "", masked)
    text = re.sub(r"(?<=\S )(?:an?|the) (?=<)", "", text)
    return _shared(text, schema) or _chain(text, types, schema)


def _chain(text: str, types: Sequence[str], schema: GraphSchema) -> PathQuery | None:
    """`PHRASE of PHRASE of A`, and what it must be linked to."""
    for entity in re.finditer(r"<(\d+)>", text):
        steps = tuple(_steps_before(text[: entity.start()], schema))
        if steps:
            linked = tuple(_links_after(text[entity.end() :], types, schema))
            return PathQuery((Branch(int(entity[1]), steps), *linked))
    return None


def _steps_before(text: str, schema: GraphSchema) -> Iterator[Step]:
    """From the entity outwards: the phrase next to it is the first step."""
    while found := _last_phrase(text, schema):
        steps, text = found
        yield from steps


def _last_phrase(text: str, schema: GraphSchema) -> tuple[list[Step], str] | None:
    best: tuple[list[Step], str] | None = None
    for name, relation in schema.relations.items():
        for step in relation.steps:
            match = re.search(rf"(?<!\S)(?:(?:the|its|their) )?(?:{step.phrase}) (?:of|for) (?:the |an? )?\Z", text)
            if match and (best is None or match.start() < len(best[1])):
                best = [Step(name, step.given, step.transitive)] * step.times, text[: match.start()]
    return best


def _links_after(text: str, types: Sequence[str], schema: GraphSchema) -> Iterator[Branch]:
    """`linked to the symptom B and the symptom C`."""
    joined = "|".join(schema.links) or "(?!)"
    match = re.match(rf" (?:{joined}) (?P<rest>.*)", text)
    while match:
        named = re.match(r"(?:both )?(?:the |an? )?(?P<type>[a-z ]+? )?<(?P<n>[\d,]+)>(?P<rest>.*)", match["rest"])
        if named is None:
            return
        for number in map(int, named["n"].split(",")):
            step = _tie(normalise(named["type"] or ""), types[number], schema)
            if step is not None:
                yield Branch(number, (step,))
        match = re.match(r" (?:and|as well as) (?:(?:to|with) )?(?P<rest>.*)", named["rest"])


def _tie(word: str, node_type: str, schema: GraphSchema) -> Step | None:
    """The step from a thing of this kind to what it is tied to: from a symptom to what it is a symptom of."""
    kind = _type_named(word, schema) or node_type
    for name, relation in schema.relations.items():
        if relation.source_is == kind or relation.target_is == kind:
            return Step(name, "source" if relation.source_is == kind else "target")
    return None


def _type_named(word: str, schema: GraphSchema) -> str | None:
    words = {normalise(w): type_ for type_, own in schema.type_words.items() for w in own}
    return words.get(word)


def _shared(text: str, schema: GraphSchema) -> PathQuery | None:
    """`share a symptom with A`: to the symptoms of A, and back to what else has one."""
    joined = "|".join(schema.sharing) or "(?!)"
    match = re.search(rf"(?<!\S)(?:{joined})(?P<type>[a-z]+(?: [a-z]+)?) (?:in common )?with <(?P<n>\d+)>", text)
    tie = _tie(normalise(match["type"]), "", schema) if match else None
    if match is None or tie is None:
        return None
    return PathQuery((Branch(int(match["n"]), (Step(tie.relation, _OTHER_END[tie.given]), tie)),))


def in_common(relation: str, given: Literal["source", "target"], entities: Iterable[int]) -> PathQuery:
    """What each of these entities is tied to."""
    return PathQuery(tuple(Branch(number, (Step(relation, given),)) for number in entities))


def tied_to(kind: str, entities: Iterable[int], schema: GraphSchema) -> PathQuery | None:
    """Things of this kind that each of these entities is tied to, by the relation that makes things of that kind."""
    tie = _tie("", kind, schema)
    return None if tie is None else in_common(tie.relation, _OTHER_END[tie.given], entities)


def reach(
    query: PathQuery,
    named: Sequence[Node],
    types: frozenset[str],
    store: GraphStore,
    principal: Principal,
    schema: GraphSchema,
) -> list[Reached]:
    """The exact set, by name. Where an ontology declares a step, its lines alone count; else all that texts state."""
    nodes: dict[str, Node] = {node.node_id: node for node in named}
    walks = [_walk(branch, named[branch.start], nodes, store, principal) for branch in query.branches]
    ends = set.intersection(*(walk.ends for walk in walks)) - {named[b.start].node_id for b in query.branches}
    last = query.branches[0].steps[-1]
    role = _role(schema.relations[last.relation], last)
    wanted = [nodes[i] for i in ends if not types or nodes[i].type in types or role in types]
    found = [Reached(node, tuple(edge for walk in walks for edge in walk.path(node.node_id))) for node in wanted]
    return sorted(found, key=lambda r: (r.node.name.casefold(), r.node.node_id))


def _role(relation: Relation, step: Step) -> str | None:
    """The type that standing at the end where the step arrives makes of a node."""
    return relation.target_is if step.given == "source" else relation.source_is


def _walk(branch: Branch, start: Node, nodes: dict[str, Node], store: GraphStore, principal: Principal) -> _Walk:
    walk = _Walk({start.node_id})
    for step in branch.steps:
        reached = _step(walk.ends, step, nodes, store, principal)
        walk.by_edge.append((walk.ends, reached))
        walk.ends = set(reached)
    return walk


def _step(
    ids: set[str], step: Step, nodes: dict[str, Node], store: GraphStore, principal: Principal
) -> dict[str, tuple[str, Edge]]:
    """Where one step leads, with where from and by which edge: by what is declared, or else by all that is stated."""
    declared = _reached(ids, step, DECLARED, nodes, store, principal)
    return declared or _reached(ids, step, None, nodes, store, principal)


def _reached(
    ids: set[str], step: Step, method: str | None, nodes: dict[str, Node], store: GraphStore, principal: Principal
) -> dict[str, tuple[str, Edge]]:
    reached: dict[str, tuple[str, Edge]] = {}
    frontier = ids
    for _ in range(_MAX_DEPTH if step.transitive else 1):
        new: dict[str, tuple[str, Edge]] = {}
        asked = sorted({i for node_id in frontier for i in (node_id, *nodes[node_id].same_as)})
        found, edges = store.follow(principal, asked, step.relation, step.given, method=method) if asked else ([], [])
        nodes.update((node.node_id, node) for node in found)
        for edge in edges:
            came, end = edge.source_id, edge.target_id
            if step.given == "target":
                came, end = end, came
            if end not in reached:
                new.setdefault(end, (came, edge))
        reached.update(new)
        frontier = set(new)
        if not frontier:
            break
    return reached


def name_in(evidence: Sequence[Mention], node: Node) -> str:
    """What the evidence calls the node, where that is one of its names; else its own name.

    A name that fills a cell of a row beats one that only stands in it: `atopic dermatitis | eczema` says eczema.
    """
    names = sorted({node.name, *node.aliases}, key=lambda name: (name != node.name, -len(name), name))
    quoted = [m.surface for m in evidence]
    cells = {cell.strip() for text in quoted for cell in text.split("|")}
    whole = next((name for name in names if name in cells), None)
    return whole or next((name for name in names if any(_stands_in(name, text) for text in quoted)), node.name)


def _stands_in(name: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None
