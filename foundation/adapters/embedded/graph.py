"""The knowledge graph in the registry's Postgres: nodes, aliases, edges, and the mentions that hold them up.

Every read is narrowed by foundation.access inside the SQL. A node is seen through a visible mention of its own or of an
edge that it ends; an alias through a visible version that uses it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any, Literal

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    Row,
    case,
    delete,
    exists,
    func,
    literal,
    or_,
    select,
    text,
    union,
)

from foundation.access import visible_version
from foundation.adapters.embedded.graph_input import add, check_version, weigh
from foundation.adapters.embedded.graph_merges import list_merges, pin, unpin
from foundation.adapters.embedded.graph_reading import alike, all_edges, edges_at, joined, of_asked, read_nodes
from foundation.adapters.embedded.graph_resolution import add_keys, related, settle
from foundation.adapters.embedded.graph_sql import among, clusters_of, visible_node
from foundation.errors import InvalidInput, NotFound
from foundation.lexicon import normalise
from foundation.registry.database import transaction
from foundation.registry.tables import edges, mentions, node_aliases, nodes
from foundation.resolution import Resolver
from foundation.types import Edge, Mention, Merge, Node, Principal, VersionGraph

_GRAPH_LOCK = 0x47524150  # "GRAP"


class PostgresGraph:
    """GraphStore over an engine of the registry. Without a resolver every node is a thing of its own."""

    def __init__(self, engine: Engine, resolver: Resolver | None = None) -> None:
        self._engine = engine
        self._resolver = resolver

    def write_versions(self, versions: Sequence[VersionGraph]) -> None:
        for graph in versions:
            check_version(graph)
        by_id = {graph.version_id: graph for graph in sorted(versions, key=lambda graph: graph.version_id)}
        if not by_id:
            return
        with transaction(self._engine) as connection:
            # Writers of one version queue up. Those that only add run side by side (rows in sorted order, so that none
            # waits for another in a circle); one that may drop nodes runs alone, so that none drops what another uses.
            connection.execute(
                text(
                    "select pg_advisory_xact_lock(:graph, key) from (select distinct hashtext(v) as key "
                    "from unnest(cast(:versions as text[])) v order by 1) keys"
                ),
                {"graph": _GRAPH_LOCK, "versions": list(by_id)},
            )
            known = _known(connection, list(by_id))
            _lock(connection, shared=not known)
            touched = _withdraw(connection, known)[1] if known else []
            add(connection, list(by_id.values()))
            near = self._drop(connection, touched)
            if self._resolver is not None:
                add_keys(connection, self._resolver, by_id.values())
        self._settle({node.node_id for graph in by_id.values() for node in graph.nodes} | near)

    def delete_versions(self, version_ids: Sequence[str]) -> int:
        with transaction(self._engine) as connection:
            _lock(connection)
            removed, touched = _withdraw(connection, version_ids)
            near = self._drop(connection, touched)
        self._settle(near)
        return removed

    def _drop(self, connection: Connection, touched: Sequence[str]) -> set[str]:
        """Drop what nothing holds any more. Returns whose merges have to be decided again."""
        if not touched:
            return set()
        near = set(touched) | related(connection, touched)
        _drop_unheld(connection, touched)
        return near

    def _settle(self, node_ids: Collection[str]) -> None:
        """In a transaction of its own, one at a time, so that it sees what every other writer has committed."""
        if self._resolver is None or not node_ids:
            return
        with transaction(self._engine) as connection:
            _lock(connection, shared=True)
            connection.execute(text("select pg_advisory_xact_lock(:key)"), {"key": _GRAPH_LOCK + 1})
            here: set[str] = set(connection.scalars(select(nodes.c.node_id).where(among(nodes.c.node_id, node_ids))))
            settle(connection, self._resolver, here)

    def find_nodes(
        self, principal: Principal, names: Sequence[str], limit: int = 10, *, exact: bool = False
    ) -> list[Node]:
        keys = [key for key in dict.fromkeys(map(normalise, names)) if key]
        if not keys or limit < 1:
            return []
        with transaction(self._engine) as connection:
            found = _ids_by_alias(connection, principal, node_aliases.c.alias.in_(keys), limit)
            if len(found) < limit and not exact:
                begins = or_(*(_word_starts(key) for key in keys))
                found += [i for i in _ids_by_alias(connection, principal, begins, limit) if i not in found]
            return read_nodes(connection, principal, found[:limit])

    def search_nodes(
        self, principal: Principal, text: str | None, node_type: str | None, limit: int = 50
    ) -> list[Node]:
        of_type = nodes.c.type == node_type if node_type else literal(True)
        with transaction(self._engine) as connection:
            if text and text.strip():
                key = normalise(text)
                if not key:
                    return []
                found = _ids_by_alias(connection, principal, _word_starts(key), limit, of_type, exact=key)
            else:
                count = func.count()
                found = list(
                    connection.scalars(
                        select(nodes.c.node_id)
                        .join(mentions, mentions.c.node_id == nodes.c.node_id)
                        .where(of_type, visible_version(mentions.c.version_id, principal))
                        .group_by(nodes.c.node_id)
                        .order_by(count.desc(), nodes.c.node_id)
                        .limit(limit)
                    )
                )
            return read_nodes(connection, principal, found)

    def get_node(self, principal: Principal, node_id: str) -> Node:
        with transaction(self._engine) as connection:
            found = read_nodes(connection, principal, [node_id])
        if not found:
            raise NotFound(f"There is no entity {node_id}.", fix="GET /graph/entities lists what you can see.")
        return found[0]

    def neighbourhood(
        self,
        principal: Principal,
        node_ids: Sequence[str],
        hops: int = 1,
        limit: int = 500,
        *,
        types: Sequence[str] | None = None,
    ) -> tuple[list[Node], list[Edge]]:
        if not 1 <= hops <= 3:
            raise InvalidInput(f"hops: {hops} is not between 1 and 3.")
        with transaction(self._engine) as connection:
            start = read_nodes(connection, principal, node_ids)
            frontier = [node_id for node in start for node_id in (node.node_id, *node.same_as)]
            reached = dict.fromkeys(frontier)
            found: dict[str, Edge] = {}
            cluster_of: dict[str, str] = {}
            for _ in range(hops):
                if not frontier or len(found) >= limit:
                    break
                new = edges_at(connection, principal, frontier, tuple(found), types, limit - len(found))
                found.update((edge.edge_id, edge) for edge in new)
                ends = dict.fromkeys(end for edge in new for end in (edge.source_id, edge.target_id))
                clusters = clusters_of(connection, [end for end in ends if end not in reached])
                cluster_of.update(clusters)
                frontier = [end for end in (ends | clusters) if end not in reached]
                reached.update(dict.fromkeys(frontier))
            ends = dict.fromkeys(end for edge in found.values() for end in (edge.source_id, edge.target_id))
            known = {node_id for node in start for node_id in (node.node_id, *node.same_as)}
            around = read_nodes(connection, principal, [end for end in ends if end not in known], cluster_of)
            return joined([*start, *around], found.values())

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
        with transaction(self._engine) as connection:
            alike_ids = list(dict.fromkeys([*node_ids, *clusters_of(connection, node_ids)]))
            found = all_edges(connection, principal, alike_ids, relation, given, method, limit + 1)
            if len(found) > limit:
                raise InvalidInput(
                    f"More than {limit} edges of {relation} start from these entities.", fix="Name narrower ones."
                )
            ends = dict.fromkeys(end for edge in found for end in (edge.source_id, edge.target_id))
            return joined(read_nodes(connection, principal, list(ends)), found)

    def evidence(
        self, principal: Principal, *, node_ids: Sequence[str] = (), edge_ids: Sequence[str] = (), limit: int = 20
    ) -> list[Mention]:
        place = (mentions.c.version_id, mentions.c.start_char, mentions.c.end_char)
        with transaction(self._engine) as connection:
            same_nodes, same_edges = alike(connection, node_ids, edge_ids)
            subject = func.coalesce(mentions.c.node_id, mentions.c.edge_id)
            ranked = (
                select(mentions, func.row_number().over(partition_by=subject, order_by=place).label("rank"))
                .where(
                    or_(among(mentions.c.node_id, same_nodes), among(mentions.c.edge_id, same_edges)),
                    visible_version(mentions.c.version_id, principal),
                )
                .subquery()
            )
            columns = ranked.c
            rows = connection.execute(
                select(ranked)
                .where(columns.rank <= limit)
                .order_by(columns.version_id, columns.start_char, columns.end_char, columns.mention_id)
            ).all()
        seen: Counter[str] = Counter()
        kept = []
        for mention in of_asked(map(_mention, rows), same_nodes, same_edges):
            subject_id = mention.node_id or mention.edge_id or ""
            seen[subject_id] += 1
            if seen[subject_id] <= limit:
                kept.append(mention)
        return kept

    def merges(
        self, principal: Principal, *, same: bool | None = None, text: str | None = None, limit: int = 100
    ) -> list[Merge]:
        with transaction(self._engine) as connection:
            return list_merges(connection, principal, same, text, limit)

    def pin_merge(self, principal: Principal, left_id: str, right_id: str, *, same: bool, reason: str) -> None:
        self._both(principal, left_id, right_id)
        with transaction(self._engine) as connection:
            pin(connection, left_id, right_id, same=same, reason=reason, pinned_by=principal.name)
        self._settle({left_id, right_id})

    def unpin_merge(self, principal: Principal, left_id: str, right_id: str) -> None:
        self._both(principal, left_id, right_id)
        with transaction(self._engine) as connection:
            unpin(connection, left_id, right_id)
        self._settle({left_id, right_id})

    def _both(self, principal: Principal, left_id: str, right_id: str) -> None:
        if left_id == right_id:
            raise InvalidInput(f"left_id and right_id are both {left_id}.", fix="Name two entities.")
        for node_id in (left_id, right_id):
            self.get_node(principal, node_id)

    def counts(self, version_id: str) -> dict[str, int]:
        of_version = mentions.c.version_id == version_id
        ends = select(edges).join(mentions, mentions.c.edge_id == edges.c.edge_id).where(of_version).subquery()
        held = union(
            select(mentions.c.node_id).where(of_version, mentions.c.node_id.is_not(None)),
            select(ends.c.source_id),
            select(ends.c.target_id),
        ).subquery()
        with transaction(self._engine) as connection:
            return {
                "nodes": connection.scalar(select(func.count()).select_from(held)) or 0,
                "edges": connection.scalar(select(func.count(mentions.c.edge_id.distinct())).where(of_version)) or 0,
                "mentions": connection.scalar(select(func.count()).select_from(mentions).where(of_version)) or 0,
            }


def _lock(connection: Connection, *, shared: bool = False) -> None:
    kind = "_shared" if shared else ""
    connection.execute(text(f"select pg_advisory_xact_lock{kind}(:graph)"), {"graph": _GRAPH_LOCK})


def _known(connection: Connection, version_ids: Sequence[str]) -> list[str]:
    """Those of these versions that have said something before."""
    seen = select(mentions.c.version_id).where(among(mentions.c.version_id, version_ids))
    named = select(node_aliases.c.version_id).where(among(node_aliases.c.version_id, version_ids))
    return sorted(connection.scalars(union(seen, named)))


def _withdraw(connection: Connection, version_ids: Sequence[str]) -> tuple[int, list[str]]:
    """Remove mentions and aliases of these versions; how many mentions, and the nodes that they may have held up."""
    gone = connection.execute(
        delete(mentions)
        .where(among(mentions.c.version_id, version_ids))
        .returning(mentions.c.node_id, mentions.c.edge_id)
    ).all()
    named: Sequence[str] = connection.scalars(
        delete(node_aliases).where(among(node_aliases.c.version_id, version_ids)).returning(node_aliases.c.node_id)
    ).all()
    touched = {row.node_id for row in gone if row.node_id} | set(named)
    edge_ids = {row.edge_id for row in gone if row.edge_id}
    if edge_ids:
        weigh(connection, edge_ids)
    for row in connection.execute(select(edges.c.source_id, edges.c.target_id).where(among(edges.c.edge_id, edge_ids))):
        touched |= {row.source_id, row.target_id}
    return len(gone), sorted(touched)


def _drop_unheld(connection: Connection, node_ids: Sequence[str]) -> None:
    """Of these nodes and the edges at them, drop those that no mention holds any more."""
    if not node_ids:
        return
    at_them = or_(among(edges.c.source_id, node_ids), among(edges.c.target_id, node_ids))
    connection.execute(delete(edges).where(at_them, ~exists().where(mentions.c.edge_id == edges.c.edge_id)))
    connection.execute(
        delete(nodes).where(
            among(nodes.c.node_id, node_ids),
            ~exists().where(mentions.c.node_id == nodes.c.node_id),
            ~exists().where(edges.c.source_id == nodes.c.node_id),
            ~exists().where(edges.c.target_id == nodes.c.node_id),
        )
    )


def _word_starts(key: str) -> ColumnElement[bool]:
    """Aliases that start with `key`, or have a word that does. autoescape: `%` and `_` stand for themselves."""
    return or_(
        node_aliases.c.alias.startswith(key, autoescape=True),
        node_aliases.c.alias.contains(f" {key}", autoescape=True),
    )


def _ids_by_alias(
    connection: Connection,
    principal: Principal,
    wanted: ColumnElement[bool],
    limit: int,
    of_type: ColumnElement[bool] | None = None,
    exact: str | None = None,
) -> list[str]:
    """Best first: the exact name, then the shortest alias, then the id, so that the order is always the same."""
    best = func.min(case((node_aliases.c.alias == exact, 0), else_=func.length(node_aliases.c.alias)))
    statement = (
        select(node_aliases.c.node_id)
        .join(nodes, nodes.c.node_id == node_aliases.c.node_id)
        .where(wanted, visible_version(node_aliases.c.version_id, principal), visible_node(principal))
        .group_by(node_aliases.c.node_id)
        .order_by(best, node_aliases.c.node_id)
        .limit(limit)
    )
    return list(connection.scalars(statement if of_type is None else statement.where(of_type)))


def _mention(row: Row[Any]) -> Mention:
    place = row.chunk_id, row.version_id, row.start_char, row.end_char
    return Mention(*place, row.surface, row.method, row.node_id, row.edge_id)
