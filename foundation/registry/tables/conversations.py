"""Sessions, answers and who asked: with keys and the audit trail."""

from __future__ import annotations

from sqlalchemy import BigInteger, CheckConstraint, Column, ForeignKey, Identity, Index, Integer, Table, Text
from sqlalchemy.dialects.postgresql import JSONB

from foundation.registry.tables.base import json, metadata, texts, when

sessions = Table(
    "sessions",
    metadata,
    Column("session_id", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("title", Text),
    Column("domain", Text, nullable=False),
    when("created_at", default=True),
    when("updated_at", default=True),
    Index("ix_sessions_owner", "owner", "updated_at"),
)


answers = Table(
    "answers",
    metadata,
    Column("answer_id", Text, primary_key=True),
    Column("session_id", Text, ForeignKey(sessions.c.session_id, ondelete="CASCADE"), nullable=False),
    Column("asked_by", Text, nullable=False),
    Column("question", Text, nullable=False),
    Column("status", Text, nullable=False),
    texts("routes"),
    Column("model", Text, nullable=False),
    Column("body", JSONB, nullable=False, comment="the whole answer as it was given"),
    Column("duration_ms", Integer, nullable=False),
    when("created_at", default=True),
    Index("ix_answers_session_id", "session_id"),
)


messages = Table(
    "messages",
    metadata,
    Column("message_id", BigInteger, Identity(), primary_key=True),
    Column("session_id", Text, ForeignKey(sessions.c.session_id, ondelete="CASCADE"), nullable=False),
    Column("role", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("answer_id", Text, ForeignKey(answers.c.answer_id, ondelete="CASCADE")),
    when("created_at", default=True),
    CheckConstraint("role in ('user', 'assistant')", name="role"),
    Index("ix_messages_session_id", "session_id", "message_id"),
)


citations = Table(
    "citations",
    metadata,
    Column("answer_id", Text, ForeignKey(answers.c.answer_id, ondelete="CASCADE"), primary_key=True),
    Column("n", Integer, primary_key=True),
    Column("document_id", Text, nullable=False),
    Column("version_id", Text, nullable=False),
    Column("chunk_id", Text, nullable=False),
    Column("start_char", Integer, nullable=False),
    Column("end_char", Integer, nullable=False),
    Column("quote", Text, nullable=False),
    Index("ix_citations_document_id", "document_id"),
)


answer_tables = Table(
    "answer_tables",
    metadata,
    Column("answer_id", Text, ForeignKey(answers.c.answer_id, ondelete="CASCADE"), primary_key=True),
    Column("dataset_id", Text, primary_key=True),
    Column("table_name", Text, nullable=False),
    Column("document_id", Text),
    Column("version_id", Text),
    Column("run_id", Text, comment="the run that had published the mart when it was read"),
    Column("engine", Text, nullable=False),
    Index("ix_answer_tables_document_id", "document_id"),
)


feedback = Table(
    "feedback",
    metadata,
    Column("feedback_id", Text, primary_key=True),
    Column("answer_id", Text, ForeignKey(answers.c.answer_id, ondelete="CASCADE"), nullable=False),
    Column("claim", Integer),
    Column("rating", Text, nullable=False),
    Column("comment", Text),
    Column("given_by", Text, nullable=False),
    when("created_at", default=True),
    CheckConstraint("rating in ('up', 'down')", name="rating"),
)


audit = Table(
    "audit",
    metadata,
    Column("audit_id", BigInteger, Identity(), primary_key=True),
    when("at", default=True),
    Column("principal", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("object_id", Text, nullable=False),
    json("detail"),
    Index("ix_audit_object_id", "object_id"),
)


api_keys = Table(
    "api_keys",
    metadata,
    Column("key_id", Text, primary_key=True),
    Column("key_hash", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    texts("groups"),
    texts("scopes"),
    when("created_at", default=True),
    when("last_used_at"),
    when("revoked_at"),
)


idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    Column("principal", Text, primary_key=True),
    Column("idempotency_key", Text, primary_key=True),
    Column("request_hash", Text, nullable=False),
    Column("status", Integer),
    Column("body", JSONB),
    when("created_at", default=True),
)
