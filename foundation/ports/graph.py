"""The knowledge graph with evidence per mention. Only mentions whose version is visible to the principal count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

from foundation.types import Edge, Mention, Merge, Node, Principal, VersionGraph


class GraphStore(Protocol):
    def write_versions(self, versions: Sequence[VersionGraph]) -> None:
        """Replace the evidence of these versions; nodes and edges are merged by id. Idempotent, one transaction.

        Every edge needs a mention, and so does every node but the ends of such edges. Raises ValueError otherwise.
        """

    def delete_versions(self, version_ids: Sequence[str]) -> int:
        """Remove their mentions, then nodes and edges that no mention holds any more. Returns mentions removed."""

    def find_nodes(
        self, principal: Principal, names: Sequence[str], limit: int = 10, *, exact: bool = False
    ) -> list[Node]:
        """Nodes by normalised name or alias, then (unless `exact`) those with a word that starts so; best first."""

    def search_nodes(
        self, principal: Principal, text: str | None, node_type: str | None, limit: int = 50
    ) -> list[Node]:
        """Nodes with a name or alias that has a word starting with `text`; without text, those with most evidence."""

    def get_node(self, principal: Principal, node_id: str) -> Node:
        """NotFound when nothing that the principal may see mentions it."""

    def neighbourhood(
        self,
        principal: Principal,
        node_ids: Sequence[str],
        hops: int = 1,
        limit: int = 500,
        *,
        types: Sequence[str] | None = None,
    ) -> tuple[list[Node], list[Edge]]:
        """Nodes and edges (of these types) within `hops` (1 to 3) of these nodes; unseen ids are passed over.

        At most `limit` edges: nearest first, then those with most evidence. The nodes are the ends of these edges, and
        those that were asked for.
        """

    def follow(
        self,
        principal: Principal,
        node_ids: Sequence[str],
        relation: str,
        given: Literal["source", "target"],
        *,
        method: str | None = None,
        limit: int = 20_000,
    ) -> tuple[list[Node], list[Edge]]:
        """Every edge of a relation of which these nodes are the `given` end, with its ends; none is left out.

        `method`: only edges with a mention of that method. InvalidInput where there are more than `limit`.
        """

    def evidence(
        self, principal: Principal, *, node_ids: Sequence[str] = (), edge_ids: Sequence[str] = (), limit: int = 20
    ) -> list[Mention]:
        """At most `limit` mentions of each node and edge, in the order of versions and places."""

    def merges(
        self, principal: Principal, *, same: bool | None = None, text: str | None = None, limit: int = 100
    ) -> list[Merge]:
        """What was decided about pairs of nodes that the principal may both see; `text`: in a name of either."""

    def pin_merge(self, principal: Principal, left_id: str, right_id: str, *, same: bool, reason: str) -> None:
        """Decide in place of the rules, for as long as it is not taken back. NotFound for what is not visible."""

    def unpin_merge(self, principal: Principal, left_id: str, right_id: str) -> None:
        """Leave the pair to the rules again. NotFound when nobody pinned it."""

    def counts(self, version_id: str) -> dict[str, int]:
        """nodes, edges, mentions that this version holds up."""
