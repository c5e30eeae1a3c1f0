"""What GraphStore.write_version refuses, whatever stores the graph."""

from __future__ import annotations

from collections.abc import Sequence

from foundation.types import Edge, Mention, Node


def check_version(version_id: str, nodes: Sequence[Node], edges: Sequence[Edge], mentions: Sequence[Mention]) -> None:
    """ValueError unless every mention is of this version and of something given, and everything given is held up."""
    for mention in mentions:
        if mention.version_id != version_id:
            raise ValueError(f"A mention belongs to version {mention.version_id}, not to {version_id}.")
        if (mention.node_id is None) == (mention.edge_id is None):
            raise ValueError(f"The mention of {mention.surface!r} needs exactly one of node_id and edge_id.")
        if not 0 <= mention.start < mention.end:
            raise ValueError(f"The mention of {mention.surface!r} has no span: {mention.start} to {mention.end}.")
    node_ids = {node.node_id for node in nodes}
    edge_ids = {edge.edge_id for edge in edges}
    held_nodes = {m.node_id for m in mentions if m.node_id is not None}
    held_edges = {m.edge_id for m in mentions if m.edge_id is not None}
    ends = {end for edge in edges for end in (edge.source_id, edge.target_id)}
    for problem, ids in (
        ("has no mention", edge_ids - held_edges),
        ("has no mention and ends no edge", node_ids - held_nodes - ends),
        ("is mentioned but not given", (held_nodes - node_ids) | (held_edges - edge_ids)),
        ("ends an edge but is not given", ends - node_ids),
    ):
        if ids:
            raise ValueError(f"{min(ids)} {problem}.")
