"""Builds a version's nodes, edges and mentions, with ids that stay the same however often it is read."""

from __future__ import annotations

from dataclasses import dataclass, field

from foundation import ids
from foundation.lexicon import LOCAL, Term, node_id_of, normalise
from foundation.types import Chunk, Edge, Mention, Node, VersionGraph

MAX_ALIASES = 40


@dataclass(slots=True)
class GraphBuilder:
    """Collects what one version says. The same calls in the same order give the same extraction."""

    version_id: str
    _terms: dict[str, Term] = field(default_factory=dict)
    _surfaces: dict[str, dict[str, str]] = field(default_factory=dict)
    _edges: dict[str, Edge] = field(default_factory=dict)
    _mentions: dict[tuple[str, int, int], Mention] = field(default_factory=dict)

    def add_node(self, term: Term, chunk: Chunk, start: int, end: int, method: str, *, is_name: bool = True) -> str:
        """A mention of this term at chunk.text[start:end]; overlapping chunks give one mention.

        `is_name`: the span is a name of the term, and so an alias of its node.
        """
        identifier = node_id_of(term)
        surface = chunk.text[start:end]
        self._terms.setdefault(identifier, term)
        names = self._surfaces.setdefault(identifier, {})
        if is_name:
            names.setdefault(normalise(surface), " ".join(surface.split()))
        key = (identifier, chunk.start + start, chunk.start + end)
        self._mentions.setdefault(
            key, Mention(chunk.chunk_id, self.version_id, key[1], key[2], surface, method, node_id=identifier)
        )
        return identifier

    def add_edge(
        self, source: str, relation: str, target: str, chunk: Chunk, start: int, end: int, method: str
    ) -> None:
        """Evidence for an edge between two nodes that were added, at chunk.text[start:end]."""
        identifier = ids.edge_id(source, relation, target)
        self._edges.setdefault(identifier, Edge(identifier, source, target, relation))
        key = (identifier, chunk.start + start, chunk.start + end)
        self._mentions.setdefault(
            key,
            Mention(chunk.chunk_id, self.version_id, key[1], key[2], chunk.text[start:end], method, edge_id=identifier),
        )

    def pairs(self) -> set[frozenset[str]]:
        """The pairs of nodes that some edge ties."""
        return {frozenset((edge.source_id, edge.target_id)) for edge in self._edges.values()}

    def finish(self) -> VersionGraph:
        nodes = []
        for identifier, term in self._terms.items():
            known = term.term_id if not term.term_id.startswith(LOCAL) else None
            names = {normalise(name): name for name in (*term.aliases, *self._surfaces[identifier].values())}
            names.pop(normalise(term.name), None)
            nodes.append(Node(identifier, term.type, term.name, known, tuple(names.values())[:MAX_ALIASES]))
        return VersionGraph(self.version_id, nodes, list(self._edges.values()), list(self._mentions.values()))
