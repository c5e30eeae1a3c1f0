"""The schema, its naming convention and the column forms that tables share."""

from __future__ import annotations

from sqlalchemy import Column, DateTime, MetaData, Text, func, text
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

SCHEMA = "askline"

metadata = MetaData(
    schema=SCHEMA,
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    },
)


def when(name: str, *, default: bool = False, nullable: bool = True) -> Column:  # type: ignore[type-arg]
    if default:
        return Column(name, DateTime(timezone=True), nullable=False, server_default=func.clock_timestamp())
    return Column(name, DateTime(timezone=True), nullable=nullable)


def texts(name: str) -> Column:  # type: ignore[type-arg]
    return Column(name, ARRAY(Text), nullable=False, server_default=text("'{}'"))


def json(name: str, default: str = "{}") -> Column:  # type: ignore[type-arg]
    return Column(name, JSONB, nullable=False, server_default=text(f"'{default}'"))
