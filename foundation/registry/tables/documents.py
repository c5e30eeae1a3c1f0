"""Documents, versions, the work on them and their erasure."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Date,
    ForeignKey,
    ForeignKeyConstraint,
    Identity,
    Index,
    Integer,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from foundation.registry.tables.base import json, metadata, texts, when

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
    Column("effective_date", Text, comment="ISO date, of the version that answers"),
    Column("sidecar_sha256", Text, comment="of the NAME.meta.json that was taken last"),
    Column("parent_id", Text, comment="the document that holds it: an archive, a mail"),
    Column("parent_path", Text, comment="its place in that document"),
    Column("owner", Text, nullable=False),
    texts("acl"),
    Column("active_version", Text),
    Column("duplicate_of", Text),
    when("created_at", default=True),
    when("updated_at", default=True),
    when("deleted_at"),
    # A deleted document has no active version: what is deleted cannot be visible.
    CheckConstraint("deleted_at is null or active_version is null", name="deleted_is_inactive"),
    Index("uq_documents_live_key", "landing_key", unique=True, postgresql_where=text("deleted_at is null")),
    Index("ix_documents_active_version", "active_version"),
    Index("ix_documents_parent_id", "parent_id", postgresql_where=text("parent_id is not null")),
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
    when("arrived_at", default=True),
    Column("arrival_day", Date, nullable=False, server_default=text("(clock_timestamp() at time zone 'utc')::date")),
    Column("status", Text, nullable=False, server_default="uploaded"),
    Column("stage", Text),
    Column("error_code", Text),
    Column("error_message", Text),
    Column("error_fix", Text),
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("run_id", Text),
    when("lease_until"),
    when("indexed_at"),
    json("warnings", "[]"),
    json("counts"),
    json("card"),
    UniqueConstraint("document_id", "number"),
    CheckConstraint("status in ('uploaded', 'processing', 'indexed', 'failed')", name="status"),
    CheckConstraint("(status = 'failed') = (error_code is not null)", name="failed_has_reason"),
    CheckConstraint("(status = 'processing') = (lease_until is not null)", name="processing_has_lease"),
    CheckConstraint("(status = 'indexed') <= (indexed_at is not null)", name="indexed_has_time"),
    Index("ix_document_versions_day", "arrival_day", "status"),
    Index("ix_document_versions_version_id", "version_id"),
    Index("ix_document_versions_lease", "lease_until", postgresql_where=text("status = 'processing'")),
)


version_relations = Table(
    "version_relations",
    metadata,
    Column("document_id", Text, primary_key=True),
    Column("version_id", Text, primary_key=True),
    Column("kind", Text, primary_key=True),
    Column("target", Text, primary_key=True, comment="a document's id, or the name of its file"),
    ForeignKeyConstraint(
        ["document_id", "version_id"],
        [document_versions.c.document_id, document_versions.c.version_id],
        ondelete="CASCADE",
    ),
    CheckConstraint("kind in ('supersedes', 'amends')", name="kind"),
    Index("ix_version_relations_target", text("lower(target)")),
)


active_intervals = Table(
    "active_intervals",
    metadata,
    Column("interval_id", BigInteger, Identity(), primary_key=True),
    Column("document_id", Text, nullable=False),
    Column("version_id", Text, nullable=False),
    when("active_from", default=True),
    when("active_to"),
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
    when("arrived_at", default=True),
    when("claimed_at"),
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
    when("requested_at", nullable=False),
)


batches = Table(
    "batches",
    metadata,
    Column("run_id", Text, primary_key=True),
    Column("arrival_day", Date, nullable=False),
    Column("shard", Text, nullable=False, server_default="1/1"),
    when("claimed_at", default=True),
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
    when("started_at", nullable=False),
    when("finished_at", default=True),
    json("counts"),
    ForeignKeyConstraint(
        ["document_id", "version_id"],
        [document_versions.c.document_id, document_versions.c.version_id],
        ondelete="CASCADE",
    ),
)


erasures = Table(
    "erasures",
    metadata,
    Column("erasure_id", Text, primary_key=True),
    Column("document_id", Text, nullable=False),
    Column("landing_key", Text, nullable=False),
    Column("requested_by", Text, nullable=False),
    texts("acl"),
    texts("version_ids"),
    when("requested_at", default=True),
    Column("status", Text, nullable=False, server_default="running"),
    Column("run_id", Text),
    json("stores", "[]"),
    texts("kept"),
    Column("error_message", Text),
    Column("attempts", Integer, nullable=False, server_default="0"),
    when("finished_at"),
    CheckConstraint("status in ('running', 'verified', 'failed')", name="status"),
    Index("ix_erasures_open", "requested_at", postgresql_where=text("status = 'running'")),
)
