"""The physical search indexes and their states; the one that serves is what the alias means."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, Index, Integer, Table, Text, text

from foundation.registry.tables.base import json, metadata, when

search_indexes = Table(
    "search_indexes",
    metadata,
    Column("name", Text, primary_key=True),
    Column("model", Text, nullable=False),
    Column("revision", Text, nullable=False),
    Column("dimension", Integer, nullable=False),
    Column("chunker", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("reason", Text, comment="why it was rejected"),
    json("report"),
    when("created_at", default=True),
    when("serving_since"),
    when("retired_at"),
    CheckConstraint("state in ('serving', 'building', 'rejected', 'retired')", name="state"),
    CheckConstraint("(state = 'rejected') = (reason is not null)", name="rejected_has_reason"),
    CheckConstraint("(state = 'retired') = (retired_at is not null)", name="retired_has_time"),
    Index("uq_search_indexes_serving", "state", unique=True, postgresql_where=text("state = 'serving'")),
)
