"""The vectors of a version, kept under the name of the model and chunker that made them."""

from __future__ import annotations

from collections.abc import Sequence

from foundation.artefacts import Artefacts
from foundation.ports.embeddings import Embedder
from foundation.types import Chunk, Vector
from pipelines.code_versions import embedding_name


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
