"""SQL that the modules of the graph share: arrays as parameters, clusters, visibility."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import JSON, ColumnElement, Connection, String, any_, bindparam, exists, func, literal, or_, select
from sqlalchemy.dialects.postgresql import ARRAY

from foundation.access import visible_version
from foundation.registry.tables import edges, mentions, node_clusters, nodes
from foundation.types import Principal


def texts(given: ColumnElement[Any]) -> ColumnElement[Any]:
    """An array of a JSON parameter: one parameter, however many values, so the plan stays the same and no limit of
    parameters is met. psycopg writes arrays of Postgres in Python, at ten times the cost."""
    return func.array(select(func.json_array_elements_text(given)).scalar_subquery(), type_=ARRAY(String))


def among(column: ColumnElement[Any], values: Iterable[str]) -> ColumnElement[bool]:
    return column == any_(texts(literal(list(values), JSON)))


def listed(column: ColumnElement[Any], name: str = "ids") -> ColumnElement[bool]:
    """The same with a named parameter, for statements that are made once and run often."""
    return column == any_(texts(bindparam(name, type_=JSON)))


_MINE = select(node_clusters.c.cluster_id).where(listed(node_clusters.c.node_id))
_CLUSTERS = select(node_clusters.c.node_id, node_clusters.c.cluster_id).where(node_clusters.c.cluster_id.in_(_MINE))


def clusters_of(connection: Connection, node_ids: Iterable[str]) -> dict[str, str]:
    """The cluster of each node that is in one with any of these; nodes that are alone are not in it."""
    return {row[0]: row[1] for row in connection.execute(_CLUSTERS, {"ids": list(node_ids)})}


def visible_node(principal: Principal, table: Any = nodes) -> ColumnElement[bool]:
    """Nodes with a visible mention, of their own or of an edge at them."""
    own = exists(
        select(mentions.c.mention_id).where(
            mentions.c.node_id == table.c.node_id, visible_version(mentions.c.version_id, principal)
        )
    )
    of_edge = [
        exists(
            select(edges.c.edge_id)
            .join(mentions, mentions.c.edge_id == edges.c.edge_id)
            .where(end == table.c.node_id, visible_version(mentions.c.version_id, principal))
        )
        for end in (edges.c.source_id, edges.c.target_id)
    ]
    return or_(own, *of_edge)
