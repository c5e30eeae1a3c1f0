"""tantivy with the vectors in its own commit, exact scan: the adapter that Askline ships."""

from __future__ import annotations

from pathlib import Path

from foundation.adapters.embedded.search import EmbeddedSearchIndex

LABEL = "tantivy, vectors in its commit"


def open_index(folder: Path, url: str, dimension: int) -> EmbeddedSearchIndex:
    return EmbeddedSearchIndex(folder, "bench", dimension)
