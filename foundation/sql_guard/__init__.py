"""SQL safety by an allow-list over sqlglot's tree: str → GuardedSql. docs/security.md names the rules.

What runs is never the text that came in: it is the tree, checked node by node, written out again with every name
quoted, every table in its schema, comments gone and a LIMIT set. The engines below have limits of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlglot import exp

from foundation.sql_guard import text
from foundation.sql_guard.functions import Dialect
from foundation.sql_guard.names import Walk
from foundation.sql_guard.nodes import ROOTS
from foundation.types import GuardedSql

__all__ = ["guard"]


def guard(
    statement: str,
    *,
    dialect: Dialect,
    tables: Mapping[str, Sequence[str]],
    limit: int,
    parameters: Sequence[Any] = (),
) -> GuardedSql:
    """Check one statement against what this principal may read; raises SqlRefused with the rule's name.

    `tables` maps every readable table to its column names. Parameters stand in the statement as `?` or as `$1`, `$2`.
    The result's statement is limited to `limit` + 1 rows (or to its own smaller LIMIT), so that an adapter, which cuts
    at `limit`, can tell that there was more. For Athena `parameters` come back in the order of the rendered text.
    """
    if limit < 1:
        raise ValueError("limit must be at least 1")
    try:
        tree, count = text.read(statement, dialect)
        if count != len(parameters):
            text.refuse("parameters", f"The statement has {count} parameters; {len(parameters)} values came with it.")
        if type(tree) not in ROOTS:
            text.refuse("select_only", "Only SELECT and WITH … SELECT may run.")
        tree = text.prepare(tree, dialect)
        walk = Walk(dialect, tables)
        walk.query(tree, {}, None)
        _set_limit(tree, limit + 1)
        rendered, order = text.render(tree, dialect)
    except RecursionError:
        text.refuse("size", "The statement is nested too deeply.")
    values = tuple(parameters[number - 1] for number in order) if dialect == "athena" else tuple(parameters)
    return GuardedSql(rendered, dialect, tuple(walk.used), limit, values)


def _set_limit(tree: Any, rows: int) -> None:
    own = tree.args.get("limit")
    count = None
    if isinstance(own, exp.Fetch):
        count = own.args.get("count") or exp.Literal.number(1)
    elif own is not None:
        count = own.expression
    if count is not None and not (isinstance(count, exp.Var) and count.name.upper() == "ALL"):
        if not isinstance(count, exp.Literal) or not count.is_int:
            text.refuse("limit", "The outermost LIMIT must be a plain number.")
        rows = min(rows, int(count.name))
    tree.set("limit", exp.Limit(expression=exp.Literal.number(rows)))
