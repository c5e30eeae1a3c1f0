"""The knowledge graph in the registry's Postgres: nodes, aliases, edges, and the mentions that hold them up.

Every read is narrowed by foundation.access inside the SQL. A node is seen through a visible mention of its own or of an
edge that it ends; an alias through a visible version that uses it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    Row,
    String,
    any_,
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
from sqlalchemy.dialects.postgresql import ARRAY, distinct_on

from foundation.access import visible_version
from foundation.adapters.embedded.graph_input import add, check_version
from foundation.errors import InvalidInput, NotFound
from foundation.lexicon import normalise
from foundation.registry.database import transaction
from foundation.registry.tables import edges, mentions, node_aliases, nodes
from foundation.types import Edge, Mention, Node, Principal, VersionGraph

_GRAPH_LOCK = 0x47524150  # "GRAP"


class PostgresGraph:
    """GraphStore over an engine of the registry."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

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
            if known:
                connection.execute(text("select pg_advisory_xact_lock(:graph)"), {"graph": _GRAPH_LOCK})
                touched = _withdraw(connection, known)[1]
            else:
                connection.execute(text("select pg_advisory_xact_lock_shared(:graph)"), {"graph": _GRAPH_LOCK})
                touched = []
            add(connection, list(by_id.values()))
            _drop_unheld(connection, touched)

    def delete_versions(self, version_ids: Sequence[str]) -> int:
        with transaction(self._engine) as connection:
            connection.execute(text("select pg_advisory_xact_lock(:graph)"), {"graph": _GRAPH_LOCK})
            removed, touched = _withdraw(connection, version_ids)
            _drop_unheld(connection, touched)
        return removed

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
            return _read_nodes(connection, principal, found[:limit])

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
            return _read_nodes(connection, principal, found)

    def get_node(self, principal: Principal, node_id: str) -> Node:
        with transaction(self._engine) as connection:
            found = _read_nodes(connection, principal, [node_id])
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
            start = [n.node_id for n in _read_nodes(connection, principal, node_ids)]
            reached = dict.fromkeys(start)
            found: dict[str, Edge] = {}
            frontier = start
            for _ in range(hops):
                if not frontier or len(found) >= limit:
                    break
                new = _edges_at(connection, principal, frontier, tuple(found), types, limit - len(found))
                found.update((edge.edge_id, edge) for edge in new)
                ends = dict.fromkeys(end for edge in new for end in (edge.source_id, edge.target_id))
                frontier = [end for end in ends if end not in reached]
                reached.update(dict.fromkeys(frontier))
            # What a visible edge ends is visible: no need to ask again.
            return _read_nodes(connection, principal, list(reached), known_visible=True), list(found.values())

    def evidence(
        self, principal: Principal, *, node_ids: Sequence[str] = (), edge_ids: Sequence[str] = (), limit: int = 20
    ) -> list[Mention]:
        place = (mentions.c.version_id, mentions.c.start_char, mentions.c.end_char)
        subject = func.coalesce(mentions.c.node_id, mentions.c.edge_id)
        ranked = (
            select(mentions, func.row_number().over(partition_by=subject, order_by=place).label("rank"))
            .where(
                or_(_among(mentions.c.node_id, node_ids), _among(mentions.c.edge_id, edge_ids)),
                visible_version(mentions.c.version_id, principal),
            )
            .subquery()
        )
        columns = ranked.c
        statement = (
            select(ranked)
            .where(columns.rank <= limit)
            .order_by(columns.version_id, columns.start_char, columns.end_char, columns.mention_id)
        )
        with transaction(self._engine) as connection:
            return [_mention(row) for row in connection.execute(statement)]

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


def _among(column: ColumnElement[Any], values: Iterable[str]) -> ColumnElement[bool]:
    """One array parameter, however many values: the plan stays the same and no parameter limit is met."""
    return column == any_(literal(list(values), ARRAY(String)))


def _known(connection: Connection, version_ids: Sequence[str]) -> list[str]:
    """Those of these versions that have said something before."""
    seen = select(mentions.c.version_id).where(_among(mentions.c.version_id, version_ids))
    named = select(node_aliases.c.version_id).where(_among(node_aliases.c.version_id, version_ids))
    return sorted(connection.scalars(union(seen, named)))


def _withdraw(connection: Connection, version_ids: Sequence[str]) -> tuple[int, list[str]]:
    """Remove mentions and aliases of these versions; how many mentions, and the nodes that they may have held up."""
    gone = connection.execute(
        delete(mentions)
        .where(_among(mentions.c.version_id, version_ids))
        .returning(mentions.c.node_id, mentions.c.edge_id)
    ).all()
    named: Sequence[str] = connection.scalars(
        delete(node_aliases).where(_among(node_aliases.c.version_id, version_ids)).returning(node_aliases.c.node_id)
    ).all()
    touched = {row.node_id for row in gone if row.node_id} | set(named)
    edge_ids = {row.edge_id for row in gone if row.edge_id}
    for row in connection.execute(
        select(edges.c.source_id, edges.c.target_id).where(_among(edges.c.edge_id, edge_ids))
    ):
        touched |= {row.source_id, row.target_id}
    return len(gone), sorted(touched)


def _drop_unheld(connection: Connection, node_ids: Sequence[str]) -> None:
    """Of these nodes and the edges at them, drop those that no mention holds any more."""
    if not node_ids:
        return
    at_them = or_(_among(edges.c.source_id, node_ids), _among(edges.c.target_id, node_ids))
    connection.execute(delete(edges).where(at_them, ~exists().where(mentions.c.edge_id == edges.c.edge_id)))
    connection.execute(
        delete(nodes).where(
            _among(nodes.c.node_id, node_ids),
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
        .where(wanted, visible_version(node_aliases.c.version_id, principal), _visible(principal))
        .group_by(node_aliases.c.node_id)
        .order_by(best, node_aliases.c.node_id)
        .limit(limit)
    )
    return list(connection.scalars(statement if of_type is None else statement.where(of_type)))


def _visible(principal: Principal) -> ColumnElement[bool]:
    """Nodes with a visible mention, of their own or of an edge at them."""
    own = exists(
        select(mentions.c.mention_id).where(
            mentions.c.node_id == nodes.c.node_id, visible_version(mentions.c.version_id, principal)
        )
    )
    of_edge = [
        exists(
            select(edges.c.edge_id)
            .join(mentions, mentions.c.edge_id == edges.c.edge_id)
            .where(end == nodes.c.node_id, visible_version(mentions.c.version_id, principal))
        )
        for end in (edges.c.source_id, edges.c.target_id)
    ]
    return or_(own, *of_edge)


def _read_nodes(
    connection: Connection, principal: Principal, node_ids: Sequence[str], known_visible: bool = False
) -> list[Node]:
    """The visible ones of these, in this order, with the aliases that the principal may see."""
    statement = select(nodes).where(_among(nodes.c.node_id, node_ids))
    rows = connection.execute(statement if known_visible else statement.where(_visible(principal))).all()
    found = {row.node_id: row for row in rows}
    aliases: dict[str, list[str]] = {}
    one = node_aliases.c.node_id, node_aliases.c.alias
    for row in connection.execute(
        select(*one, node_aliases.c.surface)
        .ext(distinct_on(*one))
        .where(_among(node_aliases.c.node_id, found), visible_version(node_aliases.c.version_id, principal))
        .order_by(*one, node_aliases.c.surface)
    ):
        aliases.setdefault(row.node_id, []).append(row.surface)
    return [
        Node(
            row.node_id,
            row.type,
            row.name,
            row.external_id,
            tuple(surface for surface in aliases.get(row.node_id, ()) if surface != row.name),
        )
        for row in (found[i] for i in dict.fromkeys(node_ids) if i in found)
    ]


def _edges_at(
    connection: Connection,
    principal: Principal,
    node_ids: Sequence[str],
    but: Sequence[str],
    types: Sequence[str] | None,
    limit: int,
) -> list[Edge]:
    """Visible edges at these nodes, those with most visible mentions first."""
    of_type = literal(True) if types is None else _among(edges.c.type, types)
    near = union(
        select(edges).where(_among(edges.c.source_id, node_ids), of_type),
        select(edges).where(_among(edges.c.target_id, node_ids), of_type),
    ).subquery()
    c = near.c
    # Read edge by edge through the index (`offset` holds the planner to it, which would read every mention there is),
    # then checked by version.
    held = select(mentions.c.version_id).where(mentions.c.edge_id == c.edge_id).offset(0).lateral()
    statement = (
        select(c.edge_id, c.source_id, c.target_id, c.type)
        .join(held, literal(True))
        .where(visible_version(held.c.version_id, principal), ~_among(c.edge_id, but))
        .group_by(c.edge_id, c.source_id, c.target_id, c.type)
        .order_by(func.count().desc(), c.edge_id)
        .limit(limit)
    )
    return [Edge(row.edge_id, row.source_id, row.target_id, row.type) for row in connection.execute(statement)]


def _mention(row: Row[Any]) -> Mention:
    place = row.chunk_id, row.version_id, row.start_char, row.end_char
    return Mention(*place, row.surface, row.method, row.node_id, row.edge_id)
