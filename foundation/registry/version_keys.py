"""Many versions in one statement: their keys as a table of arrays, one parameter a column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, TableValuedAlias, Text, and_, column, func, literal
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.types import TypeEngine

from foundation.types import ClaimedVersion

Key = tuple[str, str]
"""(document_id, version_id)"""


def key_of(version: ClaimedVersion) -> Key:
    return version.document_id, version.version_id


def keys_of(versions: Sequence[ClaimedVersion], **more: tuple[list[Any], TypeEngine[Any]]) -> TableValuedAlias:
    """The versions as a table; the statement is the same however many there are."""
    return arrays(
        document_id=([version.document_id for version in versions], Text()),
        version_id=([version.version_id for version in versions], Text()),
        **more,
    )


def arrays(**columns: tuple[list[Any], TypeEngine[Any]]) -> TableValuedAlias:
    """A table of these columns: values, and their type in SQL."""
    values = [literal(given, ARRAY(kind)) for given, kind in columns.values()]
    names = [column(name, kind) for name, (_, kind) in columns.items()]
    return func.unnest(*values).table_valued(*names, name="given").render_derived()


def same_version(left: Any, right: Any) -> ColumnElement[bool]:
    return and_(left.c.document_id == right.c.document_id, left.c.version_id == right.c.version_id)
