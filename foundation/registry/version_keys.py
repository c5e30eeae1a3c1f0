"""Many versions in one statement: their keys as a table of one JSON parameter."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import JSON, ColumnElement, TableValuedAlias, Text, and_, column, func, literal
from sqlalchemy.types import TypeEngine

from foundation.types import ClaimedVersion

Key = tuple[str, str]
"""(document_id, version_id)"""
Column = tuple[Sequence[Any], TypeEngine[Any]]
"""Values, as JSON has them, and their type in SQL."""


def key_of(version: ClaimedVersion) -> Key:
    return version.document_id, version.version_id


def keys_of(versions: Sequence[ClaimedVersion], **more: Column) -> TableValuedAlias:
    """The versions as a table; the statement is the same however many there are."""
    return table_of([key_of(version) for version in versions], **more)


def table_of(keys: Collection[tuple[str, str | None]], **more: Column) -> TableValuedAlias:
    """The same of (document, version) pairs."""
    return given(
        document_id=([document_id for document_id, _ in keys], Text()),
        version_id=([version_id for _, version_id in keys], Text()),
        **more,
    )


def given(**columns: Column) -> TableValuedAlias:
    """A table of these columns. As JSON: arrays of Postgres are written by psycopg in Python, at ten times the cost."""
    rows = [
        dict(zip(columns, row, strict=True)) for row in zip(*(values for values, _ in columns.values()), strict=True)
    ]
    typed = [column(name, kind) for name, (_, kind) in columns.items()]
    return (
        func.json_to_recordset(literal(rows, JSON())).table_valued(*typed, name="given").render_derived(with_types=True)
    )


def same_version(left: Any, right: Any) -> ColumnElement[bool]:
    return and_(left.c.document_id == right.c.document_id, left.c.version_id == right.c.version_id)
