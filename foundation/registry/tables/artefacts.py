"""What is derived from versions: chunks, tables, the knowledge graph."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Float,
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

from foundation.registry.tables.base import json, metadata, when

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
    when("replaced_at"),
    CheckConstraint("0 <= start_char and start_char < end_char", name="span"),
    Index("ix_chunks_version_id", "version_id"),
    Index(
        "uq_chunks_version_id_ordinal",
        "version_id",
        "ordinal",
        unique=True,
        postgresql_where=text("replaced_at is null"),
    ),
)


datasets = Table(
    "datasets",
    metadata,
    Column("dataset_id", Text, primary_key=True),
    Column("version_id", Text, comment="null for a mart"),
    Column("ordinal", Integer, nullable=False, server_default="0"),
    Column("kind", Text, nullable=False),
    Column("table_name", Text, comment="of a mart; an upload's tables have a name by each document that holds them"),
    Column("label", Text, nullable=False, comment="out of the content; empty where it says none"),
    Column("sheet", Text),
    Column("description", Text),
    json("columns", "[]"),
    Column("row_count", BigInteger, nullable=False),
    Column("parquet_key", Text, nullable=False),
    Column("postgres_table", Text),
    Column("run_id", Text, comment="the run that published a mart; null for an upload"),
    Column("rejects", Boolean, nullable=False, server_default=text("false"), comment="the irregular rows of its file"),
    when("created_at", default=True),
    CheckConstraint("kind in ('upload', 'mart')", name="kind"),
    CheckConstraint("(kind = 'mart') = (version_id is null)", name="mart_has_no_version"),
    CheckConstraint("(kind = 'mart') = (table_name is not null)", name="only_marts_are_named"),
    UniqueConstraint("version_id", "ordinal"),
    Index("uq_datasets_mart", "table_name", unique=True, postgresql_where=text("kind = 'mart'")),
)


# A dataset belongs to a content, its name to a document: who holds the same bytes has names of their own for it.
document_tables = Table(
    "document_tables",
    metadata,
    Column("document_id", Text, primary_key=True),
    Column("dataset_id", Text, ForeignKey(datasets.c.dataset_id, ondelete="CASCADE"), primary_key=True),
    Column("version_id", Text, nullable=False),
    Column("table_name", Text, nullable=False),
    ForeignKeyConstraint(
        ["document_id", "version_id"],
        ["askline.document_versions.document_id", "askline.document_versions.version_id"],
        ondelete="CASCADE",
    ),
    UniqueConstraint("document_id", "version_id", "table_name"),
    Index("ix_document_tables_dataset_id", "dataset_id"),
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
    Column("postgres_table", Text, nullable=False),
    Column("rows_file", BigInteger, nullable=False),
    Column("rows_catalog", BigInteger, nullable=False),
    Column("rows_postgres", BigInteger, nullable=False),
    Column("run_id", Text, nullable=False),
    when("linked_at", default=True),
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
    when("created_at", default=True),
    Index("ix_nodes_name", text("lower(name)")),
)


node_aliases = Table(
    "node_aliases",
    metadata,
    Column("node_id", Text, ForeignKey(nodes.c.node_id, ondelete="CASCADE"), primary_key=True),
    Column("alias", Text, primary_key=True, comment="normalised"),
    # An alias is seen by whoever may see a version that uses it.
    Column("version_id", Text, primary_key=True),
    Column("surface", Text, nullable=False),
    Index("ix_node_aliases_alias", "alias", postgresql_ops={"alias": "text_pattern_ops"}),
    Index("ix_node_aliases_version_id", "version_id"),
)


edges = Table(
    "edges",
    metadata,
    Column("edge_id", Text, primary_key=True),
    Column("source_id", Text, ForeignKey(nodes.c.node_id, ondelete="CASCADE"), nullable=False),
    Column("target_id", Text, ForeignKey(nodes.c.node_id, ondelete="CASCADE"), nullable=False),
    Column("type", Text, nullable=False),
    Column("weight", Integer, nullable=False, server_default="0", comment="its mentions, whoever may see them"),
    UniqueConstraint("source_id", "type", "target_id"),
    # The best proven edges of a hub are read without reading all of them.
    Index("ix_edges_source_id", "source_id", text("weight desc"), "edge_id"),
    Index("ix_edges_target_id", "target_id", text("weight desc"), "edge_id"),
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


# What nodes that may be one thing share: candidates are found here, never by comparing all with all.
node_keys = Table(
    "node_keys",
    metadata,
    Column("key", Text, primary_key=True),
    Column("node_id", Text, ForeignKey(nodes.c.node_id, ondelete="CASCADE"), primary_key=True),
    Index("ix_node_keys_node_id", "node_id"),
)


node_merges = Table(
    "node_merges",
    metadata,
    Column("left_id", Text, ForeignKey(nodes.c.node_id, ondelete="CASCADE"), primary_key=True),
    Column("right_id", Text, ForeignKey(nodes.c.node_id, ondelete="CASCADE"), primary_key=True),
    Column("same", Boolean, nullable=False),
    Column("rule", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("score", Float, nullable=False),
    when("decided_at", default=True),
    CheckConstraint("left_id < right_id", name="once_a_pair"),
    Index("ix_node_merges_right_id", "right_id"),
)


# What a person decided stays when the nodes go: the same document brings the same ids back.
merge_pins = Table(
    "merge_pins",
    metadata,
    Column("left_id", Text, primary_key=True),
    Column("right_id", Text, primary_key=True),
    Column("same", Boolean, nullable=False),
    Column("reason", Text, nullable=False),
    Column("pinned_by", Text, nullable=False),
    when("pinned_at", default=True),
    CheckConstraint("left_id < right_id", name="once_a_pair"),
    Index("ix_merge_pins_right_id", "right_id"),
)


# Nodes that are one thing, after all merges; a node that is alone has no row.
node_clusters = Table(
    "node_clusters",
    metadata,
    Column("node_id", Text, ForeignKey(nodes.c.node_id, ondelete="CASCADE"), primary_key=True),
    Column("cluster_id", Text, nullable=False),
    Index("ix_node_clusters_cluster_id", "cluster_id"),
)
