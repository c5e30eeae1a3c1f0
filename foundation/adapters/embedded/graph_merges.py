"""The list of what was decided about nodes, and what people decide in place of the rules."""

from __future__ import annotations

from sqlalchemy import Connection, and_, delete, or_, select
from sqlalchemy.dialects.postgresql import insert

from foundation.adapters.embedded.graph_sql import visible_node
from foundation.errors import NotFound
from foundation.registry.tables import merge_pins, node_merges, nodes
from foundation.types import Merge, Node, Principal


def list_merges(
    connection: Connection, principal: Principal, same: bool | None, text: str | None, limit: int
) -> list[Merge]:
    """Newest first. A pair is seen by who may see both; names are the nodes' own."""
    left, right = nodes.alias("left_node"), nodes.alias("right_node")
    at_pair = and_(merge_pins.c.left_id == node_merges.c.left_id, merge_pins.c.right_id == node_merges.c.right_id)
    statement = (
        select(
            *(column.label(f"left_{column.name}") for column in left.c),
            *(column.label(f"right_{column.name}") for column in right.c),
            *(node_merges.c[name] for name in ("same", "rule", "reason", "score", "decided_at")),
            merge_pins.c.pinned_by,
        )
        .join(left, left.c.node_id == node_merges.c.left_id)
        .join(right, right.c.node_id == node_merges.c.right_id)
        .outerjoin(merge_pins, at_pair)
        .where(visible_node(principal, left), visible_node(principal, right))
        .order_by(node_merges.c.decided_at.desc(), node_merges.c.left_id, node_merges.c.right_id)
        .limit(limit)
    )
    if same is not None:
        statement = statement.where(node_merges.c.same == same)
    if text:
        named = (table.c.name.icontains(text, autoescape=True) for table in (left, right))
        statement = statement.where(or_(*named))
    return [
        Merge(
            Node(row.left_node_id, row.left_type, row.left_name, row.left_external_id),
            Node(row.right_node_id, row.right_type, row.right_name, row.right_external_id),
            row.same,
            row.rule,
            row.reason,
            row.score,
            row.decided_at,
            row.pinned_by,
        )
        for row in connection.execute(statement)
    ]


def pin(connection: Connection, one: str, other: str, *, same: bool, reason: str, pinned_by: str) -> None:
    left, right = sorted((one, other))
    values = {"same": same, "reason": reason, "pinned_by": pinned_by}
    statement = insert(merge_pins).values(left_id=left, right_id=right, **values)
    connection.execute(statement.on_conflict_do_update(index_elements=["left_id", "right_id"], set_=values))


def unpin(connection: Connection, one: str, other: str) -> None:
    left, right = sorted((one, other))
    found = connection.execute(delete(merge_pins).where(merge_pins.c.left_id == left, merge_pins.c.right_id == right))
    if not found.rowcount:
        raise NotFound(f"Nobody has pinned {left} and {right}.", fix="GET /graph/merges shows what is pinned by whom.")
