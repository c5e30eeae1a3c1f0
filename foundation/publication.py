"""Which table a name under `data.` shows: changed inside the transaction that changes the active version."""

from __future__ import annotations

from sqlalchemy import Connection

from foundation.ports.relational import Relational
from foundation.registry.datasets import datasets_of
from foundation.registry.documents import active_access


def show_tables(connection: Connection, relational: Relational, version_id: str, replaced: str | None) -> None:
    """Show the tables of the new active version and take away those that only the replaced one had."""
    new = {row["table_name"]: row["postgres_table"] for row in datasets_of(connection, version_id)}
    old = {row["table_name"] for row in datasets_of(connection, replaced)} if replaced else set()
    for name, physical in sorted(new.items()):
        _run(connection, relational.publish_statements(name, physical))
    for name in sorted(old - set(new)):
        _run(connection, relational.unpublish_statements(name))


def hide_tables(connection: Connection, relational: Relational, version_id: str | None) -> None:
    """Take the tables of a version away, unless another living document still answers from the same bytes."""
    if version_id is None or active_access(connection, version_id)[1]:
        return
    for row in datasets_of(connection, version_id):
        _run(connection, relational.unpublish_statements(row["table_name"]))


def _run(connection: Connection, statements: list[str]) -> None:
    for statement in statements:
        connection.exec_driver_sql(statement)
