"""The vectors of a version, made together with those of others and kept under the name of the model and chunker."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from foundation.artefacts import Artefacts
from foundation.ports.embeddings import Embedder
from foundation.types import Chunk, Vector
from pipelines.chunking import embedding_text
from pipelines.code_versions import embedding_name


@dataclass(frozen=True, slots=True)
class Embedded:
    """vectors: float32, a row a chunk, as the model gave them; the seconds that they took."""

    vectors: Vector
    seconds: float


def embed(embedder: Embedder, versions: Sequence[Sequence[Chunk]]) -> list[Embedded]:
    """The vectors of the chunks of each version, all in one go: its longest texts are shared out first, and a text that
    comes again (a letterhead, a notice under every page) goes through the model once."""
    started = time.monotonic()
    texts = [embedding_text(chunk) for chunks in versions for chunk in chunks]
    rows = {text: row for row, text in enumerate(dict.fromkeys(texts))}
    vectors = embedder.embed_passages(list(rows))[[rows[text] for text in texts]]
    share = (time.monotonic() - started) / max(1, len(texts))
    found, place = [], 0
    for chunks in versions:
        found.append(Embedded(vectors[place : place + len(chunks)], share * len(chunks)))
        place += len(chunks)
    return found


def save_vectors(
    artefacts: Artefacts, embedder: Embedder, version_id: str, chunks: Sequence[Chunk], vectors: Vector
) -> None:
    """vectors: float32 (chunks, dimension), a row a chunk."""
    artefacts.save_embeddings(
        version_id,
        embedding_name(embedder),
        [chunk.chunk_id for chunk in chunks],
        vectors,
        model=embedder.model,
        revision=embedder.revision,
    )
