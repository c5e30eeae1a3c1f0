"""Which code made an artefact. A stage's code version holds those of the stages before it, so a change spreads.

Raise a number when the same input would give other output; the nightly re-index then finds what is stale.
"""

from __future__ import annotations

from foundation.domain import Domain
from foundation.ids import chunker
from foundation.media_kinds import kind_of
from foundation.ports.embeddings import Embedder
from foundation.types import ClaimedVersion, Stage
from pipelines.extraction.extract import EXTRACTOR
from pipelines.parsing.dispatch import PARSERS

RAW = "raw/1"
TABLE_TEXT = "table-text/3"
INDEX = "index/1"
COPIES = "copies/1"
LINKS = "links/1"


def is_table(version: ClaimedVersion) -> bool:
    return kind_of(version.media_type) in ("csv", "xlsx")


def parser(version: ClaimedVersion) -> str:
    """The parser that gives this version its text; part of every derived id."""
    kind = kind_of(version.media_type)
    return TABLE_TEXT if kind in ("csv", "xlsx") else PARSERS.get(kind or "", "none/1")


def embedding_name(embedder: Embedder) -> str:
    return embeddings_of(embedder.model, embedder.revision, chunker(embedder.max_tokens))


def embeddings_of(model: str, revision: str, cut_by: str) -> str:
    """The name under which vectors of this model over this chunker's chunks are kept."""
    return f"{model}@{revision[:12]}-{cut_by}"


def code_version(
    stage: Stage, version: ClaimedVersion, embedder: Embedder, domain: Domain, *, cut_by: str | None = None
) -> str:
    """`cut_by`: the chunker to assume instead of this code's own."""
    kind = kind_of(version.media_type)
    tables = PARSERS.get(kind or "", "none/1") if is_table(version) else "none/1"
    text = f"{parser(version)}+{tables}" if is_table(version) else parser(version)
    chunks = f"{text}+{cut_by or chunker(embedder.max_tokens)}"
    embeddings = f"{chunks}+{embedder.model}@{embedder.revision[:12]}"
    return {
        Stage.RAW_FILES: RAW,
        Stage.STRUCTURED_TABLES: tables,
        Stage.POSTGRES_COPIES: f"{tables}+{COPIES}",
        Stage.TABLE_LINKS: f"{tables}+{COPIES}+{LINKS}",
        Stage.PARSED_TEXT: text,
        Stage.CHUNKS: chunks,
        Stage.EMBEDDINGS: embeddings,
        Stage.SEARCH_INDEX: f"{embeddings}+{INDEX}",
        Stage.GRAPH_NODES: f"{chunks}+{EXTRACTOR}+{domain.name}",
        Stage.GRAPH_EDGES: f"{chunks}+{EXTRACTOR}+{domain.name}",
    }[stage]
