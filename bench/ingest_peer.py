"""The same files through LlamaIndex's IngestionPipeline, with our embedding model and chunk size.

python -m bench.ingest_peer FOLDER, in an environment that has llama-index-core, llama-index-readers-file and docx2txt
too, installed as copies: its NLTK refuses hard links.

What it leaves out: OCR, tables, the graph, lineage, access, an index on disk. Its time is reading, cutting and
embedding into memory, in one process.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from foundation.adapters.embedded.embeddings import OnnxEmbedder
from pipelines.chunking import TARGET_TOKENS


def run(folder: Path) -> tuple[int, float, float]:
    """(chunks, seconds, CPU seconds)."""
    from llama_index.core import SimpleDirectoryReader
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.ingestion import IngestionPipeline
    from llama_index.core.node_parser import SentenceSplitter

    embedder = OnnxEmbedder()

    class Ours(BaseEmbedding):  # type: ignore[misc]
        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            return embedder.embed_passages(texts).tolist()

        def _get_text_embedding(self, text: str) -> list[float]:
            return self._get_text_embeddings([text])[0]

        _get_query_embedding = _get_text_embedding

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_text_embedding(query)

    def tokens(text: str) -> list[Any]:
        return list(embedder.token_offsets(text))

    splitter = SentenceSplitter(chunk_size=TARGET_TOKENS, chunk_overlap=0, tokenizer=tokens)
    pipeline = IngestionPipeline(transformations=[splitter, Ours(embed_batch_size=256)], disable_cache=True)
    embedder.embed_passages(["warm"])
    started, cpu = time.perf_counter(), time.process_time()
    nodes = pipeline.run(documents=SimpleDirectoryReader(folder).load_data())
    return len(nodes), time.perf_counter() - started, time.process_time() - cpu


if __name__ == "__main__":
    chunks, seconds, cpu_seconds = run(Path(sys.argv[1]))
    print(f"LlamaIndex: {chunks} chunks, {seconds:.1f} s, {cpu_seconds:.1f} CPU s, {chunks / seconds:.1f} chunks/s")
