"""Which copies have a view under `data.`: changed inside the transaction that changes the active version."""

from __future__ import annotations

from sqlalchemy import Connection

from foundation.ports.relational import Relational
from foundation.registry.datasets import datasets_of
from foundation.registry.documents import active_access


def show_tables(connection: Connection, relational: Relational, version_id: str, replaced: str | None) -> None:
    """Show the tables of the new active version and take away those of the one that it replaced."""
    for row in datasets_of(connection, version_id):
        _run(connection, relational.publish_statements(row["postgres_table"], row["postgres_table"]))
    if replaced != version_id:
        hide_tables(connection, relational, replaced)


def hide_tables(connection: Connection, relational: Relational, version_id: str | None) -> None:
    """Take the tables of a version away, unless another living document still answers from the same bytes."""
    if version_id is None or active_access(connection, [version_id])[version_id].document_ids:
        return
    for row in datasets_of(connection, version_id):
        _run(connection, relational.unpublish_statements(row["postgres_table"]))


def _run(connection: Connection, statements: list[str]) -> None:
    for statement in statements:
        connection.exec_driver_sql(statement)
