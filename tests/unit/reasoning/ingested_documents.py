"""Documents ingested as far as answers need it: parsed, cut, embedded, searchable, active; without Dagster."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from sqlalchemy import func, insert

from foundation.adapters.embedded.embeddings import OnnxEmbedder
from foundation.ids import CHUNKER
from foundation.registry.activation import set_active
from foundation.registry.artefacts import replace_chunks
from foundation.registry.database import transaction
from foundation.registry.intake import Arrival, register_arrival
from foundation.registry.tables import stages
from foundation.settings import DatabaseSettings, Settings
from foundation.stores import Stores
from foundation.types import Chunk, IndexedChunk, ParsedDocument, Principal
from pipelines.chunking import chunk_document, embedding_text
from pipelines.parsing.dispatch import parse_document
from query_service.services import Services
from query_service.state import QuestionState

SAMPLES = Path(__file__).parents[3] / "samples"
KINDS = {".pdf": "pdf", ".docx": "docx", ".txt": "text", ".md": "text"}


@cache
def embedder() -> OnnxEmbedder:
    return OnnxEmbedder()


@cache
def parsed(path: Path) -> ParsedDocument:
    return parse_document(path, path.name, KINDS[path.suffix])


def sample(name: str) -> ParsedDocument:
    return parsed(SAMPLES / name)


def chunks_of(document: ParsedDocument, version_id: str = "v") -> list[Chunk]:
    return chunk_document(document, version_id=version_id, embedder=embedder())


def make_services(database_url: str, folder: Path) -> Services:
    settings = Settings(data_dir=folder, database=DatabaseSettings(url=database_url))
    stores = Stores(settings)
    stores.embedder = embedder()
    return Services(settings, stores)


def ingest(
    services: Services, path: Path, *, acl: tuple[str, ...] = ("user:local",), document_type: str | None = None
) -> str:
    """Returns the version id."""
    stores, document = services.stores, parsed(path)
    version = hashlib.sha256(path.read_bytes()).hexdigest()
    chunks = chunks_of(document, version)
    stores.artefacts.save_parsed(version, document)
    with transaction(stores.engine) as connection:
        received = register_arrival(
            connection,
            Arrival(
                landing_key=f"uploads/{path.name}",
                file_name=path.name,
                media_type="text/plain",
                sha256=version,
                size_bytes=path.stat().st_size,
                object_version=version,
                owner="local",
                acl=acl,
                domain="healthcare",
                source="api",
                card={"document_type": document_type},
            ),
        )
        replace_chunks(connection, {version: (document.parser, chunks)}, chunker=CHUNKER)
        connection.execute(
            insert(stages).values(
                document_id=received.document_id,
                version_id=version,
                stage="parsed_text",
                run_id="test",
                code_version=document.parser,
                started_at=func.clock_timestamp(),
                counts={"parser": document.parser},
            )
        )
        set_active(connection, {received.document_id: version})
    vectors = embedder().embed_passages([embedding_text(chunk) for chunk in chunks])
    stores.search.write_version(
        version,
        [
            IndexedChunk(chunk, vector, acl, (received.document_id,), document_type)
            for chunk, vector in zip(chunks, vectors, strict=True)
        ],
    )
    return version


def asked(question: str, name: str = "local") -> QuestionState:
    return QuestionState(principal=Principal(name), question=question, rewritten_question=question, session_id="s")
