"""SQL safety by an allow-list over sqlglot's tree: str → GuardedSql. docs/security.md names the rules.

What runs is never the text that came in: it is the tree, checked node by node, written out again with every name
quoted, every table in its schema, comments gone and a LIMIT set; and that text, read again, must give itself. The
engines below have limits of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from foundation.errors import SqlRefused
from foundation.sql_guard import text
from foundation.sql_guard.functions import Dialect
from foundation.sql_guard.literals import literal
from foundation.sql_guard.names import Walk
from foundation.sql_guard.nodes import ROOTS
from foundation.types import GuardedSql

__all__ = ["guard", "literal", "placed"]


def guard(
    statement: str,
    *,
    dialect: Dialect,
    tables: Mapping[str, Sequence[str]],
    limit: int,
    parameters: Sequence[Any] = (),
    relations: Mapping[str, str] | None = None,
) -> GuardedSql:
    """Check one statement against what this principal may read; raises SqlRefused with the rule's name.

    `tables` maps every readable table to its column names, `relations` those that the engine has under another name.
    Parameters stand in the statement as `?` or as `$1`, `$2`.
    The result's statement is limited to `limit` + 1 rows (or to its own smaller LIMIT), so that an adapter, which cuts
    at `limit`, can tell that there was more. For Athena `parameters` come back in the order of the rendered text.
    """
    if limit < 1:
        raise ValueError("limit must be at least 1")
    try:
        text.check_size(statement, dialect)
        first = _pass(statement, dialect, tables, limit)
        if first.parameter_count != len(parameters):
            text.refuse(
                "parameters",
                f"The statement has {first.parameter_count} parameters; {len(parameters)} values came with it.",
            )
        _check_stable(first.text, dialect, tables, limit)
    except RecursionError:
        text.refuse("size", "The statement is nested too deeply.")
    values = tuple(parameters[number - 1] for number in first.order) if dialect == "athena" else tuple(parameters)
    statement = _with_relations(first.tree, dialect, relations) if relations else first.text
    return GuardedSql(statement, dialect, first.tables, limit, values, first.text)


@dataclass(frozen=True, slots=True)
class _Passed:
    tree: exp.Expr
    text: str
    order: tuple[int, ...]
    parameter_count: int
    tables: tuple[str, ...]


def _pass(statement: str, dialect: Dialect, tables: Mapping[str, Sequence[str]], limit: int) -> _Passed:
    tree, count = text.read(statement, dialect)
    if type(tree) not in ROOTS:
        text.refuse("select_only", "Only SELECT and WITH … SELECT may run.")
    tree = text.prepare(tree, dialect)
    walk = Walk(dialect, tables)
    walk.query(tree, {}, None)
    _set_limit(tree, limit + 1)
    rendered, order = text.render(tree, dialect)
    return _Passed(tree, rendered, order, count, tuple(walk.used))


def _check_stable(rendered: str, dialect: Dialect, tables: Mapping[str, Sequence[str]], limit: int) -> None:
    """What was written out must read as what was checked: sqlglot writes some odd trees as something else."""
    try:
        again = _pass(rendered, dialect, tables, limit).text
    except SqlRefused as error:
        raise SqlRefused(_UNSTABLE, rule="syntax") from error
    if again != rendered:
        text.refuse("syntax", _UNSTABLE)


def _with_relations(tree: exp.Expr, dialect: Dialect, relations: Mapping[str, str]) -> str:
    """The checked tree over the engine's own names. Every table in it has an alias and, unlike a CTE, its schema."""
    for table in tree.find_all(exp.Table):
        if table.args.get("db") is not None and table.name in relations:
            table.this.set("this", relations[table.name])
    return text.render(tree, dialect)[0]


def placed(sql: GuardedSql, places: Mapping[str, tuple[str, str]]) -> str:
    """The text of a guarded statement over its tables where they are: name → (schema, table).

    For an engine whose schemas and table names only its adapter knows.
    """
    tree, _ = text.read(sql.statement, sql.dialect)
    tree = text.prepare(tree, sql.dialect)
    for node in tree.find_all(exp.Anonymous):
        text.call_name(node)
    for table in tree.find_all(exp.Table):
        if table.args.get("db") is not None:
            schema, name = places[table.name]
            table.set("db", exp.to_identifier(schema, quoted=True))
            table.this.set("this", name)
    return text.render(tree, sql.dialect)[0]


_UNSTABLE = "The statement can be read in more than one way; write it more plainly."


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
