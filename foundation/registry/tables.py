"""The system of record, as SQLAlchemy Core tables in the schema `askline`. Migrations build them; this describes them."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Date,
    DateTime,
    ForeignKey,
    ForeignKeyConstraint,
    Identity,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    func,
    text,
)
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


def _when(name: str, *, default: bool = False, nullable: bool = True) -> Column:  # type: ignore[type-arg]
    if default:
        return Column(name, DateTime(timezone=True), nullable=False, server_default=func.clock_timestamp())
    return Column(name, DateTime(timezone=True), nullable=nullable)


def _texts(name: str) -> Column:  # type: ignore[type-arg]
    return Column(name, ARRAY(Text), nullable=False, server_default=text("'{}'"))


def _json(name: str, default: str = "{}") -> Column:  # type: ignore[type-arg]
    return Column(name, JSONB, nullable=False, server_default=text(f"'{default}'"))


documents = Table(
    "documents",
    metadata,
    Column("document_id", Text, primary_key=True),
    Column("landing_key", Text, nullable=False),
    Column("file_name", Text, nullable=False),
    Column("media_type", Text, nullable=False),
    Column("document_type", Text),
    Column("authority", Text),
    Column("domain", Text, nullable=False),
    Column("source_url", Text),
    Column("accessed_at", Text),
    Column("licence", Text),
    Column("owner", Text, nullable=False),
    _texts("acl"),
    Column("active_version", Text),
    Column("duplicate_of", Text),
    _when("created_at", default=True),
    _when("updated_at", default=True),
    _when("deleted_at"),
    # A deleted document has no active version: what is deleted cannot be visible.
    CheckConstraint("deleted_at is null or active_version is null", name="deleted_is_inactive"),
    Index("uq_documents_live_key", "landing_key", unique=True, postgresql_where=text("deleted_at is null")),
    Index("ix_documents_active_version", "active_version"),
    Index("ix_documents_acl", "acl", postgresql_using="gin"),
)

document_versions = Table(
    "document_versions",
    metadata,
    Column("document_id", Text, ForeignKey(documents.c.document_id, ondelete="CASCADE"), primary_key=True),
    Column("version_id", Text, primary_key=True, comment="sha256 of the bytes"),
    Column("number", Integer, nullable=False),
    Column("object_version", Text, nullable=False),
    Column("size_bytes", BigInteger, nullable=False),
    Column("media_type", Text, nullable=False),
    _when("arrived_at", default=True),
    Column("arrival_day", Date, nullable=False, server_default=text("(clock_timestamp() at time zone 'utc')::date")),
    Column("status", Text, nullable=False, server_default="uploaded"),
    Column("stage", Text),
    Column("error_code", Text),
    Column("error_message", Text),
    Column("error_fix", Text),
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("run_id", Text),
    _when("lease_until"),
    _when("indexed_at"),
    _json("warnings", "[]"),
    _json("counts"),
    UniqueConstraint("document_id", "number"),
    CheckConstraint("status in ('uploaded', 'processing', 'indexed', 'failed')", name="status"),
    CheckConstraint("(status = 'failed') = (error_code is not null)", name="failed_has_reason"),
    CheckConstraint("(status = 'processing') = (lease_until is not null)", name="processing_has_lease"),
    CheckConstraint("(status = 'indexed') <= (indexed_at is not null)", name="indexed_has_time"),
    Index("ix_document_versions_day", "arrival_day", "status"),
    Index("ix_document_versions_version_id", "version_id"),
    Index("ix_document_versions_lease", "lease_until", postgresql_where=text("status = 'processing'")),
)

active_intervals = Table(
    "active_intervals",
    metadata,
    Column("interval_id", BigInteger, Identity(), primary_key=True),
    Column("document_id", Text, nullable=False),
    Column("version_id", Text, nullable=False),
    _when("active_from", default=True),
    _when("active_to"),
    ForeignKeyConstraint(
        ["document_id", "version_id"],
        [document_versions.c.document_id, document_versions.c.version_id],
        ondelete="CASCADE",
    ),
    CheckConstraint("active_to is null or active_to >= active_from", name="forward"),
    Index("uq_active_intervals_current", "document_id", unique=True, postgresql_where=text("active_to is null")),
)

inbox = Table(
    "inbox",
    metadata,
    Column("inbox_id", BigInteger, Identity(), primary_key=True),
    Column("document_id", Text, nullable=False),
    Column("version_id", Text, nullable=False),
    Column("arrival_day", Date, nullable=False),
    Column("source", Text, nullable=False, comment="api, scan, retry, lease"),
    _when("arrived_at", default=True),
    _when("claimed_at"),
    Column("run_id", Text),
    ForeignKeyConstraint(
        ["document_id", "version_id"],
        [document_versions.c.document_id, document_versions.c.version_id],
        ondelete="CASCADE",
    ),
    Index("ix_inbox_pending", "arrival_day", "inbox_id", postgresql_where=text("claimed_at is null")),
)

nudges = Table(
    "nudges",
    metadata,
    Column("arrival_day", Date, primary_key=True),
    _when("requested_at", nullable=False),
)

batches = Table(
    "batches",
    metadata,
    Column("run_id", Text, primary_key=True),
    Column("arrival_day", Date, nullable=False),
    Column("shard", Text, nullable=False, server_default="1/1"),
    _when("claimed_at", default=True),
)

batch_versions = Table(
    "batch_versions",
    metadata,
    Column("run_id", Text, ForeignKey(batches.c.run_id, ondelete="CASCADE"), primary_key=True),
    Column("document_id", Text, primary_key=True),
    Column("version_id", Text, primary_key=True),
    ForeignKeyConstraint(
        ["document_id", "version_id"],
        [document_versions.c.document_id, document_versions.c.version_id],
        ondelete="CASCADE",
    ),
)

stages = Table(
    "stages",
    metadata,
    Column("document_id", Text, primary_key=True),
    Column("version_id", Text, primary_key=True),
    Column("stage", Text, primary_key=True),
    Column("run_id", Text, nullable=False),
    Column("code_version", Text, nullable=False),
    _when("started_at", nullable=False),
    _when("finished_at", default=True),
    _json("counts"),
    ForeignKeyConstraint(
        ["document_id", "version_id"],
        [document_versions.c.document_id, document_versions.c.version_id],
        ondelete="CASCADE",
    ),
)

chunks = Table(
    "chunks",
    metadata,
    Column("chunk_id", Text, primary_key=True),
    Column("version_id", Text, nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("start_char", Integer, nullable=False),
    Column("end_char", Integer, nullable=False),
    Column("page", Integer),
    Column("section", Text),
    Column("tokens", Integer, nullable=False),
    Column("parser", Text, nullable=False),
    Column("chunker", Text, nullable=False),
    CheckConstraint("0 <= start_char and start_char < end_char", name="span"),
    UniqueConstraint("version_id", "ordinal"),
)

datasets = Table(
    "datasets",
    metadata,
    Column("dataset_id", Text, primary_key=True),
    Column("version_id", Text, comment="null for a mart"),
    Column("ordinal", Integer, nullable=False, server_default="0"),
    Column("kind", Text, nullable=False),
    Column("table_name", Text, nullable=False),
    Column("label", Text, nullable=False),
    Column("sheet", Text),
    Column("description", Text),
    _json("columns", "[]"),
    Column("row_count", BigInteger, nullable=False),
    Column("parquet_key", Text, nullable=False),
    Column("postgres_table", Text),
    _when("created_at", default=True),
    CheckConstraint("kind in ('upload', 'mart')", name="kind"),
    CheckConstraint("(kind = 'mart') = (version_id is null)", name="mart_has_no_version"),
    UniqueConstraint("version_id", "ordinal"),
    Index("ix_datasets_table_name", "table_name"),
    Index("uq_datasets_mart", "table_name", unique=True, postgresql_where=text("kind = 'mart'")),
)

mart_sources = Table(
    "mart_sources",
    metadata,
    Column("mart_id", Text, ForeignKey(datasets.c.dataset_id, ondelete="CASCADE"), primary_key=True),
    Column("dataset_id", Text, primary_key=True),
    Column("version_id", Text, nullable=False),
)

table_links = Table(
    "table_links",
    metadata,
    Column("dataset_id", Text, ForeignKey(datasets.c.dataset_id, ondelete="CASCADE"), primary_key=True),
    Column("version_id", Text, nullable=False),
    Column("catalog_table", Text, nullable=False),
    Column("postgres_table", Text, nullable=False),
    Column("rows_file", BigInteger, nullable=False),
    Column("rows_catalog", BigInteger, nullable=False),
    Column("rows_postgres", BigInteger, nullable=False),
    Column("run_id", Text, nullable=False),
    _when("linked_at", default=True),
    CheckConstraint("rows_file = rows_catalog and rows_catalog = rows_postgres", name="equal_rows"),
    Index("ix_table_links_version_id", "version_id"),
)

nodes = Table(
    "nodes",
    metadata,
    Column("node_id", Text, primary_key=True),
    Column("type", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("external_id", Text),
    _when("created_at", default=True),
    Index("ix_nodes_name", text("lower(name)")),
)

node_aliases = Table(
    "node_aliases",
    metadata,
    Column("node_id", Text, ForeignKey(nodes.c.node_id, ondelete="CASCADE"), primary_key=True),
    Column("alias", Text, primary_key=True, comment="normalised"),
    Column("surface", Text, nullable=False),
    Index("ix_node_aliases_alias", "alias"),
)

edges = Table(
    "edges",
    metadata,
    Column("edge_id", Text, primary_key=True),
    Column("source_id", Text, ForeignKey(nodes.c.node_id, ondelete="CASCADE"), nullable=False),
    Column("target_id", Text, ForeignKey(nodes.c.node_id, ondelete="CASCADE"), nullable=False),
    Column("type", Text, nullable=False),
    UniqueConstraint("source_id", "type", "target_id"),
    Index("ix_edges_source_id", "source_id"),
    Index("ix_edges_target_id", "target_id"),
)

mentions = Table(
    "mentions",
    metadata,
    Column("mention_id", BigInteger, Identity(), primary_key=True),
    Column("node_id", Text, ForeignKey(nodes.c.node_id, ondelete="CASCADE")),
    Column("edge_id", Text, ForeignKey(edges.c.edge_id, ondelete="CASCADE")),
    Column("chunk_id", Text, ForeignKey(chunks.c.chunk_id, ondelete="CASCADE"), nullable=False),
    Column("version_id", Text, nullable=False),
    Column("start_char", Integer, nullable=False),
    Column("end_char", Integer, nullable=False),
    Column("surface", Text, nullable=False),
    Column("method", Text, nullable=False),
    CheckConstraint("(node_id is null) <> (edge_id is null)", name="one_subject"),
    CheckConstraint("0 <= start_char and start_char < end_char", name="span"),
    Index("ix_mentions_node_id", "node_id"),
    Index("ix_mentions_edge_id", "edge_id"),
    Index("ix_mentions_version_id", "version_id"),
    Index("ix_mentions_chunk_id", "chunk_id"),
)

erasures = Table(
    "erasures",
    metadata,
    Column("erasure_id", Text, primary_key=True),
    Column("document_id", Text, nullable=False),
    Column("landing_key", Text, nullable=False),
    Column("requested_by", Text, nullable=False),
    _texts("acl"),
    _texts("version_ids"),
    _when("requested_at", default=True),
    Column("status", Text, nullable=False, server_default="running"),
    Column("run_id", Text),
    _json("stores", "[]"),
    Column("error_message", Text),
    Column("attempts", Integer, nullable=False, server_default="0"),
    _when("finished_at"),
    CheckConstraint("status in ('running', 'verified', 'failed')", name="status"),
    Index("ix_erasures_open", "requested_at", postgresql_where=text("status = 'running'")),
)

sessions = Table(
    "sessions",
    metadata,
    Column("session_id", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("title", Text),
    Column("domain", Text, nullable=False),
    _when("created_at", default=True),
    _when("updated_at", default=True),
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
    _texts("routes"),
    Column("model", Text, nullable=False),
    Column("body", JSONB, nullable=False, comment="the whole answer as it was given"),
    Column("duration_ms", Integer, nullable=False),
    _when("created_at", default=True),
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
    _when("created_at", default=True),
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
    _when("created_at", default=True),
    CheckConstraint("rating in ('up', 'down')", name="rating"),
)

audit = Table(
    "audit",
    metadata,
    Column("audit_id", BigInteger, Identity(), primary_key=True),
    _when("at", default=True),
    Column("principal", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("object_id", Text, nullable=False),
    _json("detail"),
    Index("ix_audit_object_id", "object_id"),
)

api_keys = Table(
    "api_keys",
    metadata,
    Column("key_id", Text, primary_key=True),
    Column("key_hash", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    _texts("groups"),
    _texts("scopes"),
    _when("created_at", default=True),
    _when("last_used_at"),
    _when("revoked_at"),
)

idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    Column("principal", Text, primary_key=True),
    Column("idempotency_key", Text, primary_key=True),
    Column("request_hash", Text, nullable=False),
    Column("status", Integer),
    Column("body", JSONB),
    _when("created_at", default=True),
)
