"""Which nodes are one thing: candidates by shared keys, judged by the resolver, kept with reasons, joined in clusters.

Decisions depend on the nodes that are there and on pins, on nothing else: after any write, removal or pin those that it
touches are made anew.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from typing import Any

from sqlalchemy import Connection, delete, func, insert, or_, select, update

from foundation.adapters.embedded.graph_input import insert_rows
from foundation.adapters.embedded.graph_sql import among
from foundation.registry.tables import merge_pins, node_aliases, node_clusters, node_keys, node_merges, nodes
from foundation.resolution import Resolver, Verdict
from foundation.types import Node, VersionGraph

MAX_CANDIDATES = 200
"""Nodes that share one key; what more nodes share tells none from another, and is no ground for a merge."""

_PINNED = 2.0
"""Score above every rule's."""


def add_keys(connection: Connection, resolver: Resolver, graphs: Iterable[VersionGraph]) -> None:
    """Keys stay as long as their node: they only find candidates."""
    rows = {(key, node.node_id) for graph in graphs for node in graph.nodes for key in resolver.keys(node)}
    insert_rows(connection, node_keys, sorted(rows))


def related(connection: Connection, node_ids: Collection[str]) -> set[str]:
    """The nodes that share a key with one of these or are pinned to one, and those of these that do."""
    shared = {node_id for members in _groups(connection, node_ids).values() for node_id in members}
    pins = connection.execute(select(merge_pins.c.left_id, merge_pins.c.right_id).where(_at(merge_pins, node_ids)))
    return shared | {end for row in pins for end in row}


def settle(connection: Connection, resolver: Resolver, touched: Collection[str]) -> None:
    """Decide anew about these nodes and all that may be the same as one of them."""
    near = related(connection, touched)
    judged = near | set(touched)
    before = _cluster_mates(connection, judged)
    connection.execute(delete(node_merges).where(_at(node_merges, judged)))
    if near:
        _decide(connection, resolver, judged)
    _join(connection, before)


def _decide(connection: Connection, resolver: Resolver, judged: Collection[str]) -> None:
    groups = _groups(connection, judged)
    pairs = {pair for members in groups.values() for pair in combinations(sorted(members), 2)}
    pairs = {pair for pair in pairs if pair[0] in judged or pair[1] in judged}
    pins = {
        (row.left_id, row.right_id): row
        for row in connection.execute(select(merge_pins).where(_at(merge_pins, judged)))
    }
    # The rules look at all that share a key with one of the two, so the groups of their partners are needed as well.
    groups = _groups(connection, {end for pair in (*pairs, *pins) for end in pair})
    known = _read(
        connection, {n for members in groups.values() for n in members} | {end for pin in pins for end in pin}
    )
    groups_of: dict[str, list[str]] = defaultdict(list)
    for key, members in groups.items():
        for member in members:
            groups_of[member].append(key)
    rows = []
    for left, right in sorted(pairs | set(pins)):
        if left not in known or right not in known:
            continue
        verdict: Verdict | None
        if pin := pins.get((left, right)):
            verdict = Verdict(pin.same, "pinned", pin.reason, _PINNED)
        else:
            around = {member for end in (left, right) for key in groups_of[end] for member in groups[key]}
            verdict = resolver.judge(known[left], known[right], [known[n] for n in sorted(around)])
        if verdict is not None:
            rows.append({"left_id": left, "right_id": right, **asdict(verdict)})
    if rows:
        connection.execute(insert(node_merges), rows)


def _join(connection: Connection, node_ids: Collection[str]) -> None:
    """Clusters of what is the same, best merges first; none joins two nodes of which is decided that they are two."""
    rows = connection.execute(select(node_merges).where(_at(node_merges, node_ids))).all()
    members = _cluster_mates(
        connection, set(node_ids) | {n for row in rows if row.same for n in (row.left_id, row.right_id)}
    )
    rows = connection.execute(select(node_merges).where(_at(node_merges, members))).all()
    apart: dict[str, dict[str, str]] = defaultdict(dict)
    for row in rows:
        if not row.same:
            apart[row.left_id][row.right_id] = apart[row.right_id][row.left_id] = row.reason
    clusters = {node_id: {node_id} for node_id in members}
    for row in sorted((r for r in rows if r.same), key=lambda r: (-r.score, r.left_id, r.right_id)):
        one, other = clusters[row.left_id], clusters[row.right_id]
        against = next((apart[a][b] for a in sorted(one) for b in sorted(other) if b in apart[a]), None)
        if against is not None:
            _refuse(connection, row, against)
        elif one is not other:
            one |= other
            clusters.update(dict.fromkeys(other, one))
    connection.execute(delete(node_clusters).where(among(node_clusters.c.node_id, clusters)))
    made = [{"node_id": n, "cluster_id": min(cluster)} for n, cluster in clusters.items() if len(cluster) > 1]
    if made:
        connection.execute(insert(node_clusters), made)


def _refuse(connection: Connection, row: Any, against: str) -> None:
    reason = f"It would also join two that are not one: {against}"
    connection.execute(
        update(node_merges)
        .where(node_merges.c.left_id == row.left_id, node_merges.c.right_id == row.right_id)
        .values(same=False, rule="conflict", reason=reason)
    )


def _at(table: Any, node_ids: Iterable[str]) -> Any:
    listed = list(node_ids)
    return or_(among(table.c.left_id, listed), among(table.c.right_id, listed))


def _groups(connection: Connection, node_ids: Collection[str]) -> dict[str, list[str]]:
    """By key that one of these nodes shares with another: all nodes that have it."""
    found = connection.execute(
        select(node_keys.c.key, func.array_agg(node_keys.c.node_id).label("members"))
        .where(node_keys.c.key.in_(select(node_keys.c.key).where(among(node_keys.c.node_id, node_ids))))
        .group_by(node_keys.c.key)
        .having(func.count().between(2, MAX_CANDIDATES))
    )
    return {row.key: row.members for row in found}


def _cluster_mates(connection: Connection, node_ids: Collection[str]) -> set[str]:
    """These nodes and all in their clusters."""
    mates = select(node_clusters.c.node_id).where(
        node_clusters.c.cluster_id.in_(
            select(node_clusters.c.cluster_id).where(among(node_clusters.c.node_id, node_ids))
        )
    )
    return set(node_ids) | set(connection.scalars(mates))


def _read(connection: Connection, node_ids: Collection[str]) -> Mapping[str, Node]:
    """With every name in use, whoever may see it: resolution is the same for all."""
    aliases: dict[str, list[str]] = defaultdict(list)
    named = select(node_aliases.c.node_id, func.min(node_aliases.c.surface)).where(
        among(node_aliases.c.node_id, node_ids)
    )
    for row in connection.execute(named.group_by(node_aliases.c.node_id, node_aliases.c.alias)):
        aliases[row[0]].append(row[1])
    rows: Sequence[Any] = connection.execute(select(nodes).where(among(nodes.c.node_id, node_ids))).all()
    return {
        row.node_id: Node(row.node_id, row.type, row.name, row.external_id, tuple(sorted(aliases[row.node_id])))
        for row in rows
    }
