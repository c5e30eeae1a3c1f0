"""Answers from the knowledge graph without a model: the relation that is asked, listed with the spans that prove it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from typing import Literal

import networkx as nx

from foundation.graph_schema import CO_OCCURS, DECLARED, IS_A, GraphSchema
from foundation.lexicon import Lexicon, normalise
from foundation.ports.graph import GraphStore
from foundation.types import Edge, Mention, Node, Principal
from query_service.reasoning.graph_paths import Reached, name_in, reach
from query_service.reasoning.graph_question import Asked, Question, understand

MAX_STATEMENTS = 20
_EVIDENCE_EACH = 5
_RANKING_LIMIT = 500
"""Edges of the neighbourhood that ranks the answer."""

Basis = Literal["stated", "lexicon", "co_occurrence"]
"""A sentence states it; the domain's lexicon says it of something that the text names; both are only named together."""


@dataclass(frozen=True, slots=True)
class GraphStatement:
    """About one edge, or one alias of a node; `mentions` are its evidence, best first."""

    text: str
    mentions: tuple[Mention, ...]
    basis: Basis


@dataclass(slots=True)
class GraphAnswer:
    """`weaker`: what is only named together, where nothing states the relation that was asked; no answer to that.

    `answers`: of a question over paths, the name of each thing that answers it, as its evidence names it: all of them,
    in the order of `statements`, each of which rests on all of its mentions.
    """

    status: Literal["answered", "no_evidence"]
    statements: list[GraphStatement] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    weaker: list[GraphStatement] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)


def answer_from_graph(
    question: str, store: GraphStore, principal: Principal, lexicon: Lexicon, graph_schema: GraphSchema
) -> GraphAnswer:
    """What the graph proves about the question; no_evidence when it names nothing known or asks what nothing states."""
    understood = understand(question, store, principal, lexicon, graph_schema)
    # An entity that no visible document names makes the rest of the question unanswerable: no half answers.
    if not understood.linked or any(entity.node is None for entity in understood.linked):
        return GraphAnswer("no_evidence")
    named = [entity.node for entity in understood.linked if entity.node is not None]
    if understood.meaning:
        return _meaning(understood, named[0], store, principal, graph_schema)
    if understood.path is not None:
        reached = reach(understood.path, named, understood.types, store, principal, graph_schema)
        if reached or not understood.path.simple:
            return _along_paths(reached, named, store, principal, graph_schema)
    found = _stated(understood, named, store, principal, graph_schema)
    limit = _RANKING_LIMIT if found else MAX_STATEMENTS  # of a relation that is asked for, all; of any tie, the best
    if not found and (understood.related or understood.overview or (len(named) > 1 and not understood.asked)):
        found = _related(understood, named, store, principal, graph_schema)
    if found:
        return _answer(found, named, store, principal, graph_schema, limit)
    if not understood.asked:
        return GraphAnswer("no_evidence")
    together = _together(understood, named, store, principal, graph_schema)
    weaker = _answer(together, named, store, principal, graph_schema).statements if together else []
    return GraphAnswer("no_evidence", weaker=weaker)


def _along_paths(
    reached: Sequence[Reached], named: Sequence[Node], store: GraphStore, principal: Principal, schema: GraphSchema
) -> GraphAnswer:
    """A statement for each thing that was reached: the steps that lead to it, each with the best of its evidence."""
    edges = {edge.edge_id: edge for one in reached for edge in one.path}
    proof: dict[str, Mention] = {}
    for mention in store.evidence(principal, edge_ids=list(edges), limit=_EVIDENCE_EACH):
        known = proof.setdefault(mention.edge_id or "", mention)
        if mention.method == DECLARED and known.method != DECLARED:
            proof[mention.edge_id or ""] = mention
    nodes = {node.node_id: node for node in named}
    ends = sorted({end for edge in edges.values() for end in (edge.source_id, edge.target_id)} - nodes.keys())
    nodes.update((n.node_id, n) for n in store.neighbourhood(principal, ends, limit=1)[0] if n.node_id in ends)
    answer = GraphAnswer("answered" if reached else "no_evidence", nodes=list(nodes.values()))
    for one in reached:
        if any(edge.edge_id not in proof for edge in one.path):
            continue  # it went between two reads
        own = [proof[edge.edge_id] for edge in one.path]
        name = name_in(own[-1:], nodes[one.node.node_id])
        steps = " ".join(_sentence(edge, nodes, schema) for edge in one.path)
        text = steps if steps.casefold().startswith(name.casefold()) else f"{name}: {steps}"
        answer.statements.append(GraphStatement(text, tuple(dict.fromkeys(own)), "stated"))
        answer.answers.append(name)
        answer.edges += [edge for edge in one.path if edge not in answer.edges]
    return answer


def _sentence(edge: Edge, nodes: Mapping[str, Node], schema: GraphSchema) -> str:
    text = schema.relations[edge.type].statement.replace("{source}", nodes[edge.source_id].name)
    text = text.replace("{target}", nodes[edge.target_id].name)
    return text[:1].upper() + text[1:]


def _meaning(
    question: Question, node: Node, store: GraphStore, principal: Principal, schema: GraphSchema
) -> GraphAnswer:
    """From the places that define a short form; for another name, from where it is used."""
    mentions = store.evidence(principal, node_ids=[node.node_id], limit=200)
    defining: dict[tuple[str, str], list[Mention]] = {}
    for mention in mentions:
        parts = re.match(r"(.+?)\s*\(\s*([^()]+?)\s*\)?\Z", mention.surface, re.DOTALL)
        if mention.method == "definition" and parts is not None:
            key = " ".join(parts.group(1).split()), parts.group(2)
            defining.setdefault(key, []).append(mention)
    # A capital at the start of a sentence is no part of the name.
    fewest_capitals = sorted(defining, key=lambda names: (sum(c.isupper() for c in names[0]), names))
    statements = _merged(
        GraphStatement(f"{short} stands for {long}.", tuple(defining[long, short]), "stated")
        for long, short in fewest_capitals
    )
    if not statements:
        asked = normalise(question.linked[0].surface)
        used = [m for m in mentions if normalise(m.surface) == asked]
        if used and asked != normalise(node.name):
            text = f"{question.linked[0].surface} is another name of {node.name}."
            statements = _merged([GraphStatement(_according(node, text, schema), tuple(used), "lexicon")])
    if not statements:
        return GraphAnswer("no_evidence")
    return GraphAnswer("answered", statements[:MAX_STATEMENTS], [node])


def _stated(
    question: Question, named: Sequence[Node], store: GraphStore, principal: Principal, schema: GraphSchema
) -> list[Edge]:
    """Edges of the relations that the question asks for, at the entities that it names."""
    found: dict[str, Edge] = {}
    for asked in question.asked:
        if asked.relation == CO_OCCURS:
            continue
        given = [named[i].node_id for i in asked.entities]
        nodes, edges = store.neighbourhood(principal, given, limit=_RANKING_LIMIT, types=[asked.relation])
        everyone = {node.node_id for node in named}
        if question.yes_no and len(everyone) > 1 and not question.types:
            # "Does A treat B?": only what ties two of those named.
            edges = [e for e in edges if {e.source_id, e.target_id} <= everyone]
        else:
            edges = [e for e in edges if _other_end(e, asked, set(given)) is not None]
            if question.in_common and len(given) > 1:
                edges = _shared(edges, asked, given)
            edges = _of_asked_type(edges, set(given), question.types, nodes, schema)
        found.update((edge.edge_id, edge) for edge in edges)
    return list(found.values())


def _other_end(edge: Edge, asked: Asked, given: set[str]) -> str | None:
    """What the question asks for: the end that it does not give. None where the edge points the other way."""
    if asked.given != "target" and edge.source_id in given:
        return edge.target_id
    if asked.given != "source" and edge.target_id in given:
        return edge.source_id
    return None


def _shared(edges: Sequence[Edge], asked: Asked, given: Sequence[str]) -> list[Edge]:
    ends: dict[str, set[str]] = {}
    for edge in edges:
        other = _other_end(edge, asked, set(given))
        if other is not None:
            ends.setdefault(other, set()).update({edge.source_id, edge.target_id} - {other})
    return [e for e in edges if ends.get(_other_end(e, asked, set(given)) or "") == set(given)]


def _of_asked_type(
    edges: Iterable[Edge], given: set[str], types: frozenset[str], nodes: Iterable[Node], schema: GraphSchema
) -> list[Edge]:
    """`Which vaccines prevent …` lists vaccines and nothing else: edges whose other end is, or counts as, one."""
    type_of = {node.node_id: node.type for node in nodes}

    def fits(edge: Edge) -> bool:
        relation = schema.relations[edge.type]
        ends = (edge.source_id, relation.source_is), (edge.target_id, relation.target_is)
        return any(end not in given and (type_of[end] in types or role in types) for end, role in ends)

    return [edge for edge in edges if fits(edge)] if types else list(edges)


def _related(
    question: Question, named: Sequence[Node], store: GraphStore, principal: Principal, schema: GraphSchema
) -> list[Edge]:
    """Around one entity, or of a type around several, every tie; of several, what ties them to each other.

    What is only named together counts where the question asks for any tie, and gives way to a stated tie of the pair.
    """
    ids = {node.node_id for node in named}
    nodes, edges = store.neighbourhood(principal, sorted(ids), 1, _RANKING_LIMIT)
    stated = [e for e in edges if e.type != CO_OCCURS and not (question.together and e.type == IS_A)]
    tied = {frozenset((e.source_id, e.target_id)) for e in stated}
    together = [
        e
        for e in edges
        if question.related and e.type == CO_OCCURS and frozenset((e.source_id, e.target_id)) not in tied
    ]
    if len(ids) == 1 or question.types:
        around = _of_asked_type([*stated, *together], ids, question.types, nodes, schema)
        return _tied_to_all(around, ids) or around
    direct = [e for e in stated if {e.source_id, e.target_id} <= ids]
    if direct:
        return direct
    return [*_paths(stated, sorted(ids)), *(e for e in together if {e.source_id, e.target_id} <= ids)]


def _tied_to_all(edges: Sequence[Edge], ids: set[str]) -> list[Edge]:
    """Edges to what has one to each of these nodes."""
    reached: dict[str, set[str]] = {}
    for edge in edges:
        for one, other in ((edge.source_id, edge.target_id), (edge.target_id, edge.source_id)):
            reached.setdefault(one, set()).add(other)
    shared = {node_id for node_id, others in reached.items() if ids <= others}
    return [e for e in edges if {e.source_id, e.target_id} & shared]


def _paths(edges: Sequence[Edge], ids: Sequence[str]) -> list[Edge]:
    """Over one thing between, for each two of these nodes."""
    paths = nx.Graph()
    for edge in edges:
        paths.add_edge(edge.source_id, edge.target_id, edge=edge)
    found: dict[str, Edge] = {}
    for one, other in combinations(ids, 2):
        if one in paths and other in paths and nx.has_path(paths, one, other):
            for step in pairwise(nx.shortest_path(paths, one, other)):
                edge = paths.edges[step]["edge"]
                found[edge.edge_id] = edge
    return list(found.values())


def _together(
    question: Question, named: Sequence[Node], store: GraphStore, principal: Principal, schema: GraphSchema
) -> list[Edge]:
    """What is named together: of several entities, with each other, unless the question asks for a type."""
    ids = {node.node_id for node in named}
    nodes, edges = store.neighbourhood(principal, sorted(ids), limit=_RANKING_LIMIT, types=[CO_OCCURS])
    if question.types or len(ids) == 1:
        return _of_asked_type(edges, ids, question.types, nodes, schema)
    return [e for e in edges if {e.source_id, e.target_id} <= ids]


def _answer(
    edges: Sequence[Edge],
    named: Sequence[Node],
    store: GraphStore,
    principal: Principal,
    schema: GraphSchema,
    limit: int = MAX_STATEMENTS,
) -> GraphAnswer:
    """Statements of at most `limit` of these edges, best proven and nearest first."""
    ids = [node.node_id for node in named]
    nodes = {n.node_id: n for n in named}
    ends = sorted({end for edge in edges for end in (edge.source_id, edge.target_id)})
    nodes.update((n.node_id, n) for n in store.neighbourhood(principal, ends, limit=1)[0])
    rank = _rank(ids, edges, store, principal)
    evidence: dict[str, list[Mention]] = {}
    for mention in store.evidence(principal, edge_ids=[e.edge_id for e in edges], limit=_EVIDENCE_EACH):
        evidence.setdefault(mention.edge_id or "", []).append(mention)

    def order(edge: Edge) -> tuple[int, float, int, str]:
        proof = evidence[edge.edge_id]
        weakness = 2 if edge.type == CO_OCCURS else int(all(m.method == "lexicon" for m in proof))
        score = sum(rank.get(end, 0.0) for end in (edge.source_id, edge.target_id) if end not in ids)
        return (weakness, -round(score, 9), -len(proof), edge.edge_id)

    # An edge whose evidence went between two reads says nothing any more.
    kept = sorted((e for e in edges if e.edge_id in evidence), key=order)[:limit]
    statements = _merged(_statement(e, nodes, evidence[e.edge_id], schema) for e in kept)
    shown = {end for e in kept for end in (e.source_id, e.target_id)}
    return GraphAnswer(
        "answered" if statements else "no_evidence", statements, [n for i, n in nodes.items() if i in shown], kept
    )


def _statement(
    edge: Edge, nodes: Mapping[str, Node], mentions: Iterable[Mention], schema: GraphSchema
) -> GraphStatement:
    # A sentence that states it proves more than a name that the lexicon classifies.
    proof = tuple(sorted(mentions, key=lambda m: m.method != "pattern"))
    text = _sentence(edge, nodes, schema)
    basis: Basis = "stated"
    if edge.type == CO_OCCURS:
        basis = "co_occurrence"
    elif proof[0].method == "lexicon":
        basis = "lexicon"
        source = nodes[edge.source_id].name
        bare = source + text[len(source) :] if text.casefold().startswith(source.casefold()) else text
        text = _according(nodes[edge.source_id], bare, schema)
    return GraphStatement(text, proof, basis)


def _according(node: Node, text: str, schema: GraphSchema) -> str:
    """With the source of the lexicon's knowledge of this node."""
    source = schema.lexicon_names.get((node.external_id or "").partition(":")[0], "the lexicon")
    return f"According to {source}, {text}"


def _merged(statements: Iterable[GraphStatement]) -> list[GraphStatement]:
    """Statements that differ in letter case only become the first of them, with everyone's evidence.

    Of the evidence the best of each version comes first, so that two citations are of two versions where they can be.
    """
    alike: dict[tuple[str, Basis], list[GraphStatement]] = {}
    for statement in statements:
        alike.setdefault((statement.text.casefold(), statement.basis), []).append(statement)
    merged = []
    for same in alike.values():
        seen: Counter[str] = Counter()
        proof: list[tuple[bool, int, Mention]] = []
        for mention in (m for statement in same for m in statement.mentions):
            proof.append((mention.method == "lexicon", seen[mention.version_id], mention))
            seen[mention.version_id] += 1
        proof.sort(key=lambda p: p[:2])
        merged.append(GraphStatement(same[0].text, tuple(p[2] for p in proof[:_EVIDENCE_EACH]), same[0].basis))
    return merged


def _rank(ids: Sequence[str], edges: Sequence[Edge], store: GraphStore, principal: Principal) -> dict[str, float]:
    """How near each node is to the named ones in their two-hop neighbourhood, edges weighted by evidence."""
    around = {e.edge_id: e for e in (*edges, *store.neighbourhood(principal, ids, 2, _RANKING_LIMIT)[1])}
    counts = Counter(m.edge_id for m in store.evidence(principal, edge_ids=list(around), limit=20))
    weights: dict[str, Counter[str]] = {node_id: Counter() for node_id in ids}
    for edge in around.values():
        for one, other in ((edge.source_id, edge.target_id), (edge.target_id, edge.source_id)):
            weights.setdefault(one, Counter())[other] += counts[edge.edge_id]
    return personalised_pagerank(weights, ids)


def personalised_pagerank(
    weights: Mapping[str, Mapping[str, int]], start: Sequence[str], damping: float = 0.85, rounds: int = 50
) -> dict[str, float]:
    """Share of a random walk's time at each node, when it goes on along weighted edges or back to `start`.

    Page, Brin, Motwani and Winograd, The PageRank citation ranking, 1999, by power iteration. networkx has it too, but
    needs scipy (35 MB) for it. `weights` holds each edge in both directions.
    """
    home = {node: 1 / len(start) for node in dict.fromkeys(start)}
    rank = dict(home)
    for _ in range(rounds):
        moved = dict.fromkeys(weights, 0.0)
        back = 1 - damping
        for node, share in rank.items():
            total = sum(weights[node].values())
            if not total:
                back += damping * share
            for other, weight in weights[node].items():
                moved[other] += damping * share * weight / total
        for node, part in home.items():
            moved[node] += back * part
        rank = moved
    return rank
