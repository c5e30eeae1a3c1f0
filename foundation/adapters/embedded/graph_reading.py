"""What a principal reads of the graph: nodes that are one thing come as one, under the id of the best visible one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from sqlalchemy import JSON, Connection, Integer, Select, bindparam, exists, func, select, true, union
from sqlalchemy.dialects.postgresql import distinct_on

from foundation.access import visible_version
from foundation.adapters.embedded.graph_sql import among, clusters_of, listed, visible_node
from foundation.registry.tables import edges, mentions, node_aliases, nodes
from foundation.types import Edge, Mention, Node, Principal

_LEAST_SHARE = 25
"""Edges that each node of a hop may give, however many nodes there are."""


def read_nodes(
    connection: Connection, principal: Principal, node_ids: Sequence[str], of_edges: Mapping[str, str] | None = None
) -> list[Node]:
    """The visible ones of these, in this order, with the aliases that the principal may see.

    A node comes with all that is the same and visible. An id that is not visible finds nothing. `of_edges`: these are
    ends of visible edges, and so visible, and this is their clusters_of; they come by their name alone.
    """
    cluster_of = clusters_of(connection, node_ids) if of_edges is None else of_edges
    anyone, seen = _NODES, _seen_nodes(principal)
    rows = list(connection.execute(anyone if of_edges is not None else seen, {"ids": list(node_ids)}))
    if others := _others(node_ids, cluster_of):
        rows += connection.execute(seen, {"ids": others})
    visible = {row.node_id for row in rows}
    aliases = {} if of_edges is not None else _aliases(connection, principal, [row.node_id for row in rows])
    members: dict[str, list[Node]] = defaultdict(list)
    for row in rows:
        node = Node(row.node_id, row.type, row.name, row.external_id, tuple(aliases.get(row.node_id, ())))
        members[cluster_of.get(row.node_id, row.node_id)].append(node)
    wanted = dict.fromkeys(cluster_of.get(node_id, node_id) for node_id in node_ids if node_id in visible)
    return [_one_of(members[cluster]) for cluster in wanted]


def _others(node_ids: Sequence[str], cluster_of: Mapping[str, str]) -> list[str]:
    """What is in one cluster with these, but not among them."""
    mine = {cluster_of[node_id] for node_id in node_ids if node_id in cluster_of}
    return sorted({node_id for node_id, cluster in cluster_of.items() if cluster in mine} - set(node_ids))


_NODES = select(nodes.c.node_id, nodes.c.type, nodes.c.name, nodes.c.external_id).where(listed(nodes.c.node_id))


# Statements are made once a principal: making one takes longer than Postgres needs to answer it.
@lru_cache(maxsize=256)
def _seen_nodes(principal: Principal) -> Select[Any]:
    return _NODES.where(visible_node(principal))


@lru_cache(maxsize=256)
def _seen_aliases(principal: Principal) -> Select[Any]:
    one = node_aliases.c.node_id, node_aliases.c.alias
    return (
        select(*one, node_aliases.c.surface)
        .ext(distinct_on(*one))
        .where(listed(node_aliases.c.node_id), visible_version(node_aliases.c.version_id, principal))
        .order_by(*one, node_aliases.c.surface)
    )


def _aliases(connection: Connection, principal: Principal, node_ids: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for row in connection.execute(_seen_aliases(principal), {"ids": list(node_ids)}):
        found[row.node_id].append(row.surface)
    return found


def _one_of(members: Sequence[Node]) -> Node:
    """The member that a lexicon or a birth date knows, else the longest name; with the names of all."""
    if len(members) == 1 and not members[0].aliases:
        return members[0]
    ranked = sorted(members, key=lambda n: (n.external_id is None, -len(n.name), n.node_id))
    best, rest = ranked[0], ranked[1:]
    names = [*best.aliases, *(name for node in rest for name in (node.name, *node.aliases))]
    aliases = tuple(dict.fromkeys(name for name in names if name != best.name))
    return replace(best, aliases=aliases, same_as=tuple(sorted(node.node_id for node in rest)))


def joined(found: Sequence[Node], ties: Iterable[Edge]) -> tuple[list[Node], list[Edge]]:
    """The edges between the nodes that stand for all that is the same; each once, none from a node to itself."""
    stands_for = {node_id: node.node_id for node in found for node_id in (node.node_id, *node.same_as)}
    made: dict[tuple[str, str, str], Edge] = {}
    for tie in ties:
        source, target = stands_for[tie.source_id], stands_for[tie.target_id]
        if source != target:
            moved = (source, target) != (tie.source_id, tie.target_id)
            made.setdefault(
                (source, tie.type, target), replace(tie, source_id=source, target_id=target) if moved else tie
            )
    return list(found), list(made.values())


def edges_at(
    connection: Connection,
    principal: Principal,
    node_ids: Sequence[str],
    but: Sequence[str],
    types: Sequence[str] | None,
    limit: int,
) -> list[Edge]:
    """Visible edges at these nodes, those with most evidence first.

    Each node gives its best of either direction, up to its share of `limit`, so that hubs cost and take no more.
    """
    values = {
        "ids": list(node_ids),
        "but": list(but),
        "types": list(types or ()),
        "share": min(limit, max(_LEAST_SHARE, limit // len(node_ids))),
        "limit": limit,
    }
    statement = _best_edges(principal, typed=types is not None)
    return [Edge(row.edge_id, row.source_id, row.target_id, row.type) for row in connection.execute(statement, values)]


def all_edges(
    connection: Connection,
    principal: Principal,
    node_ids: Sequence[str],
    relation: str,
    given: str,
    method: str | None,
    limit: int,
) -> list[Edge]:
    """Visible edges of one relation with the `given` end among these nodes, in the order of their ids."""
    start = edges.c.source_id if given == "source" else edges.c.target_id
    seen = exists().where(
        mentions.c.edge_id == edges.c.edge_id,
        mentions.c.method == method if method is not None else true(),
        visible_version(mentions.c.version_id, principal),
    )
    wanted = select(edges).where(among(start, node_ids), edges.c.type == relation, seen)
    rows = connection.execute(wanted.order_by(edges.c.edge_id).limit(limit))
    return [Edge(row.edge_id, row.source_id, row.target_id, row.type) for row in rows]


@lru_cache(maxsize=256)
def _best_edges(principal: Principal, *, typed: bool) -> Select[Any]:
    given = func.json_array_elements_text(bindparam("ids", type_=JSON))
    start = given.table_valued("node_id", name="start").render_derived()
    # `offset` holds the planner to the index, edge by edge, where it would read every mention there is.
    held = (
        select(mentions.c.mention_id)
        .where(mentions.c.edge_id == edges.c.edge_id, visible_version(mentions.c.version_id, principal))
        .correlate(edges)
        .offset(0)
    )
    found = []
    for end in (edges.c.source_id, edges.c.target_id):
        # In the order of the end's index, read until `share` edges have a visible mention.
        best = (
            select(edges)
            .where(
                end == start.c.node_id,
                listed(edges.c.type, "types") if typed else true(),
                ~listed(edges.c.edge_id, "but"),
                exists(held),
            )
            .order_by(edges.c.weight.desc(), edges.c.edge_id)
            .limit(bindparam("share", type_=Integer))
            .lateral()
        )
        found.append(select(best).select_from(start).join(best, true()))
    c = union(*found).subquery().c
    best_first = select(c.edge_id, c.source_id, c.target_id, c.type).order_by(c.weight.desc(), c.edge_id)
    return best_first.limit(bindparam("limit", type_=Integer))


def alike(connection: Connection, node_ids: Iterable[str], edge_ids: Iterable[str]) -> tuple[Mapping[str, str], ...]:
    """Of nodes and of edges: by the id of all that is the same, the id that was asked for."""
    asked = list(dict.fromkeys(node_ids))
    cluster_of = clusters_of(connection, asked)
    first: dict[str, str] = {}
    for node_id in asked:
        first.setdefault(cluster_of.get(node_id, node_id), node_id)
    of_nodes = {n: n for n in asked} | {n: first[c] for n, c in cluster_of.items() if n not in asked}
    return of_nodes, _alike_edges(connection, list(dict.fromkeys(edge_ids)))


def _alike_edges(connection: Connection, edge_ids: Sequence[str]) -> dict[str, str]:
    same = {edge_id: edge_id for edge_id in edge_ids}
    rows = connection.execute(select(edges).where(among(edges.c.edge_id, edge_ids))).all() if edge_ids else []
    cluster_of = clusters_of(connection, {end for row in rows for end in (row.source_id, row.target_id)})
    if not cluster_of:
        return same

    def place(row: Any) -> tuple[str, str, str]:
        source, target = row.source_id, row.target_id
        return cluster_of.get(source, source), row.type, cluster_of.get(target, target)

    asked = {place(row): row.edge_id for row in reversed(rows)}
    for end in (edges.c.source_id, edges.c.target_id):
        for row in connection.execute(select(edges).where(among(end, cluster_of))):
            if place(row) in asked:
                same.setdefault(row.edge_id, asked[place(row)])
    return same


def of_asked(found: Iterable[Mention], same_nodes: Mapping[str, str], same_edges: Mapping[str, str]) -> list[Mention]:
    """The mentions, each of the node or edge that was asked for."""
    return [
        replace(
            m, node_id=same_nodes.get(m.node_id or "", m.node_id), edge_id=same_edges.get(m.edge_id or "", m.edge_id)
        )
        for m in found
    ]
