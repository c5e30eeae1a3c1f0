"""How well names are told apart: pairs of names, judged as the nodes that extraction makes of them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from foundation.graph_schema import GraphSchema
from foundation.lexicon import LOCAL, Lexicon, Term, node_id_of, normalise
from foundation.resolution import Resolver
from foundation.types import Node


def without_synonyms(lexicon: Lexicon, share: float, seed: int) -> Lexicon:
    draw = random.Random(seed)
    return Lexicon.of(
        replace(term, aliases=tuple(a for a in term.aliases if draw.random() >= share))
        for term in lexicon.terms.values()
    )


def judge_pairs(lexicon: Lexicon, schema: GraphSchema, file: Path) -> Iterator[tuple[bool, bool, bool, bool]]:
    """For each pair whether the rules say one thing, whether a look-up does, the truth, and whether both are known.

    `file`: a TSV file with a header, whose first three columns are two names and 1 or 0.
    """
    resolver = Resolver(lambda: (lexicon, schema))
    for line in file.read_text(encoding="utf-8").splitlines()[1:]:
        one, other, truth = line.split("\t")[:3]
        left, right = (_nodes_of(name, lexicon) for name in (one, other))
        looked_up = bool({n.node_id for n in left} & {n.node_id for n in right})
        verdicts = (resolver.judge(a, b, [a, b]) for a in left for b in right if a.node_id != b.node_id)
        ours = looked_up or any(verdict.same for verdict in verdicts if verdict is not None)
        yield ours, looked_up, truth == "1", bool(lexicon.lookup(one) and lexicon.lookup(other))


def _nodes_of(name: str, lexicon: Lexicon) -> list[Node]:
    """As extraction makes them: the lexicon's terms, else what only the text knows."""
    terms = [lexicon.terms[i] for i in lexicon.lookup(name)]
    found = [Node(node_id_of(t), t.type, t.name, t.term_id) for t in terms]
    return found or [Node(node_id_of(Term(LOCAL + normalise(name), "disease", name)), "disease", name)]


def f1(said: Iterable[tuple[bool, bool]]) -> float:
    pairs = list(said)
    hit = sum(s and t for s, t in pairs)
    return 2 * hit / max(1, sum(s for s, _ in pairs) + sum(t for _, t in pairs))
