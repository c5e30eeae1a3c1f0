"""Domain types that pass between the ports. Offsets are in characters of a version's parsed text, end exclusive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float32]
Box = tuple[float, float, float, float]
"""(x0, y0, x1, y1) in PDF points, origin at the page's top left."""


class Status(StrEnum):
    UPLOADED = "uploaded"
    PROCESSING = "processing"
    INDEXED = "indexed"
    FAILED = "failed"
    DELETED = "deleted"


class Stage(StrEnum):
    """Stages of a version, named as the assets are."""

    RAW_FILES = "raw_files"
    PARSED_TEXT = "parsed_text"
    CHUNKS = "chunks"
    EMBEDDINGS = "embeddings"
    SEARCH_INDEX = "search_index"
    STRUCTURED_TABLES = "structured_tables"
    POSTGRES_COPIES = "postgres_copies"
    TABLE_LINKS = "table_links"
    GRAPH_NODES = "graph_nodes"
    GRAPH_EDGES = "graph_edges"


@dataclass(frozen=True, slots=True)
class Principal:
    """Who asks. `grants` are the ACL entries that this principal satisfies."""

    name: str
    groups: tuple[str, ...] = ()
    scopes: frozenset[str] = frozenset({"read", "write"})

    @property
    def grants(self) -> tuple[str, ...]:
        return (f"user:{self.name}", *(f"group:{g}" for g in self.groups), "public")


@dataclass(frozen=True, slots=True)
class ObjectVersion:
    """One stored version of an object. `version_id` is the store's own id of it (S3's, or ours)."""

    key: str
    version_id: str
    sha256: str
    size: int
    stored_at: datetime


@dataclass(frozen=True, slots=True)
class FileWarning:
    """Something that a reader should know about a version that was read all the same."""

    code: str
    message: str
    page: int | None = None
    sheet: str | None = None
    row: int | None = None


@dataclass(frozen=True, slots=True)
class PageOcr:
    """How a page was read by OCR. `confidence` is the mean over its words, from 0 to 1; `turn` is by how many degrees
    the page had to be turned clockwise to stand upright."""

    page: int
    engine: str
    confidence: float
    seconds: float
    turn: int = 0


@dataclass(frozen=True, slots=True)
class Element:
    """A parsed piece. `page` counts from 1; None where the format has no pages."""

    kind: Literal["title", "paragraph", "list_item", "table", "header", "footer"]
    start: int
    end: int
    page: int | None = None
    level: int | None = None
    """Heading level of a title, from 1."""


@dataclass(frozen=True, slots=True)
class WordBox:
    """Where the word text[start:end] stands on its page."""

    start: int
    end: int
    page: int
    box: Box


@dataclass(frozen=True, slots=True)
class ParsedMember:
    """A file inside a file: a member of an archive, an attachment of a mail. `content` is where its bytes lie now."""

    path: str
    """Its place in the file that holds it, unique there."""
    file_name: str
    """Empty for the one file of a compressed file, which is called after its holder."""
    size: int
    content: str


@dataclass(frozen=True, slots=True)
class KeptMember:
    """A member whose bytes are kept with the artefacts of the version that holds it; the fields are ParsedMember's."""

    path: str
    file_name: str
    size: int


@dataclass(slots=True)
class ParsedDocument:
    """What a document parser returns. Every Element and WordBox points into `text`."""

    text: str
    elements: list[Element]
    parser: str
    """Name and version, e.g. `pdf/1`: part of every derived id, so raise it when output changes."""
    word_boxes: list[WordBox] = field(default_factory=list)
    page_count: int | None = None
    page_sizes: list[tuple[float, float]] = field(default_factory=list)
    title: str | None = None
    warnings: list[FileWarning] = field(default_factory=list)
    members: list[ParsedMember] = field(default_factory=list)
    """The files inside it that become documents of their own."""
    ocr: list[PageOcr] = field(default_factory=list)
    """The pages that were read by OCR."""


ColumnType = Literal["text", "bigint", "decimal", "double", "boolean", "date", "timestamp"]
"""decimal carries precision and scale; timestamp is UTC, stored without an offset; all are nullable."""


@dataclass(frozen=True, slots=True)
class Column:
    """`name` is the SQL name, `label` the header as the file has it."""

    name: str
    label: str
    type: ColumnType
    precision: int | None = None
    scale: int | None = None
    nulls: int = 0
    distinct: int | None = None
    """Exact up to 1,000 distinct values, else None."""
    minimum: str | None = None
    maximum: str | None = None
    samples: tuple[str, ...] = ()
    """Up to 50 of the most frequent values of a column with few distinct values, else a few examples."""
    description: str | None = None
    """What the column holds, where somebody has written it down (the columns of marts)."""


@dataclass(frozen=True, slots=True)
class ParsedTable:
    """A table that a parser wrote to `parquet_path`. `row_count` counts data rows of the file, header excluded.

    `label` is what the content says that it is (title rows, else the sheet's name); empty where it says nothing.
    """

    ordinal: int
    sheet: str | None
    label: str
    columns: tuple[Column, ...]
    row_count: int
    parquet_path: str
    rejects: bool = False
    """The irregular rows of the file, with line and reason, instead of a table of its own."""


@dataclass(slots=True)
class ParsedWorkbook:
    tables: list[ParsedTable]
    parser: str
    warnings: list[FileWarning] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Chunk:
    """A retrievable span of one version's parsed text: text == parsed[start:end]."""

    chunk_id: str
    version_id: str
    ordinal: int
    start: int
    end: int
    text: str
    tokens: int
    page: int | None = None
    section: str | None = None
    """The heading under which it stands; embedded and searched with the text, never quoted."""


@dataclass(frozen=True, slots=True)
class IndexedChunk:
    """A chunk as it goes into the search index, with what filters need."""

    chunk: Chunk
    vector: Vector
    acl: tuple[str, ...]
    document_ids: tuple[str, ...]
    document_type: str | None = None


@dataclass(frozen=True, slots=True)
class SearchFilter:
    """Every field narrows. `grants` always applies; an empty tuple finds nothing."""

    grants: tuple[str, ...]
    document_ids: tuple[str, ...] | None = None
    document_type: str | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    chunk_id: str
    version_id: str
    start: int
    end: int
    text: str
    score: float
    scores: Mapping[str, float]
    """By ranker: `bm25`, `dense` (cosine), `fused`."""
    page: int | None = None
    section: str | None = None


@dataclass(frozen=True, slots=True)
class TableInfo:
    """A table that a principal may read, as the guard, the planner and GET /tables see it."""

    name: str
    label: str
    columns: tuple[Column, ...]
    row_count: int
    kind: Literal["upload", "mart"]
    parquet_path: str
    postgres: bool
    """Whether it has a Postgres copy (marts have none)."""
    dataset_id: str
    relation: str | None = None
    """Name of the Postgres view that shows the copy, when it is another than `name`."""
    ordinal: int = 0
    """Place among the tables of its file, from 0."""
    version_id: str | None = None
    document_id: str | None = None
    file_name: str | None = None
    sheet: str | None = None
    description: str | None = None
    rejects: bool = False
    """It holds the irregular rows of its file."""
    run_id: str | None = None
    """The Dagster run that published a mart; an upload's runs are those of its version's stages."""


@dataclass(frozen=True, slots=True)
class QueryResult:
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    truncated: bool
    seconds: float


@dataclass(frozen=True, slots=True)
class Node:
    node_id: str
    type: str
    name: str
    external_id: str | None = None
    aliases: tuple[str, ...] = ()
    same_as: tuple[str, ...] = ()
    """Ids of other nodes that resolution found to be this thing; each finds it too."""


@dataclass(frozen=True, slots=True)
class Edge:
    edge_id: str
    source_id: str
    target_id: str
    type: str


@dataclass(frozen=True, slots=True)
class Mention:
    """Evidence: this node or edge was seen in this chunk at parsed[start:end]. Exactly one of node_id, edge_id."""

    chunk_id: str
    version_id: str
    start: int
    end: int
    surface: str
    method: str
    node_id: str | None = None
    edge_id: str | None = None


@dataclass(frozen=True, slots=True)
class VersionGraph:
    """What one version says; every edge and node has a mention, every mention's span lies inside its chunk."""

    version_id: str
    nodes: Sequence[Node]
    edges: Sequence[Edge]
    mentions: Sequence[Mention]


@dataclass(frozen=True, slots=True)
class Merge:
    """What was decided about two nodes, by which rule, and why; `pinned_by` is who decided it in place of the rules."""

    left: Node
    right: Node
    same: bool
    rule: str
    reason: str
    score: float
    decided_at: datetime
    pinned_by: str | None = None


@dataclass(frozen=True, slots=True)
class ClaimedVersion:
    """A version that a run has claimed, with what the stages need."""

    document_id: str
    version_id: str
    file_name: str
    landing_key: str
    object_version: str
    size_bytes: int
    media_type: str
    arrival_day: date
    acl: tuple[str, ...]
    document_type: str | None
    attempts: int


@dataclass(frozen=True, slots=True)
class Message:
    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Completion:
    text: str
    model: str
    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0


JsonObject = Mapping[str, Any]
JsonList = Sequence[Any]


@dataclass(frozen=True, slots=True)
class GuardedSql:
    """A statement that foundation.sql_guard.guard has passed: the rendered AST, never the text that came in.

    Only the guard makes one (tests/security checks that), so a port that takes it cannot be handed raw text.
    """

    statement: str
    dialect: Literal["postgres", "duckdb", "athena"]
    tables: tuple[str, ...]
    limit: int
    parameters: tuple[Any, ...] = ()
    readable: str = ""
    """The statement with the names that the principal knows, where the engine has others."""

    @property
    def shown(self) -> str:
        return self.readable or self.statement
