"""Embedding speed beside plain padded batches, and what chunk size does to retrieval.

python -m bench.embedding             # speed, 30 s
python -m bench.embedding targets     # nDCG@10 by chunk size on SciFact and MedQuAD, 5 min
"""

from __future__ import annotations

import gzip
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import onnxruntime

from foundation.adapters.embedded.embeddings import OnnxEmbedder
from foundation.adapters.embedded.model_files import ensure_model
from foundation.types import Element, ParsedDocument, Vector
from pipelines.chunking import chunk_document, embedding_text

DATA = Path(os.environ.get("ASKLINE_TEST_DATA", Path(__file__).parents[2] / "shared" / "data")) / "retrieval"
COMMAND = "python -m bench.embedding"
_BATCH_TOKENS = 1024  # the fastest of 512 to 16,384 for plain batches


def run() -> dict[str, dict[str, Any]]:
    embedder = OnnxEmbedder()
    texts = [d["text"][:900] for d in _jsonl(DATA / "scifact" / "corpus.jsonl")[:200]]
    tokens = sum(embedder.count_tokens(text) + 2 for text in texts)
    bare = _PaddedBatches(embedder)
    embedder.embed_passages(texts[:4])
    bare.embed(texts[:4])
    ours = _best(lambda: embedder.embed_passages(texts))
    plain = _best(lambda: bare.embed(texts))
    agreement = (embedder.embed_passages(texts) * bare.embed(texts)).sum(axis=1)
    question = "What is the highest dose of ibuprofen for an adult?"
    query = median(_seconds(lambda: embedder.embed_query(question)) for _ in range(100))
    return {
        "passage embedding": {
            "value": round(tokens / ours),
            "unit": "tokens/s",
            "bare": round(tokens / plain),
            "ratio": round(plain / ours, 2),
            "command": COMMAND,
        },
        "query embedding": {
            "value": round(query * 1000, 1),
            "unit": "ms",
            "bare": None,
            "ratio": None,
            "command": COMMAND,
        },
        "vector in a batch against the same text alone": {
            "value": 1.0,
            "unit": "lowest cosine",
            "bare": round(float(agreement.min()), 4),
            "ratio": None,
            "command": COMMAND,
        },
    }


def targets() -> dict[str, dict[str, Any]]:
    """Document retrieval by the best chunk, dense only, for each chunk size."""
    results = {}
    for corpus, load in (("scifact", _scifact), ("medquad", _medquad)):
        documents, queries = load()
        for target in (110, 220, 330):
            value = _retrieval(documents, queries, target)
            name = f"{corpus}, chunks of {target} tokens"
            results[name] = {
                "value": value,
                "unit": "nDCG@10",
                "bare": None,
                "ratio": None,
                "command": f"{COMMAND} targets",
            }
            print(name, value, flush=True)
    return results


def _retrieval(documents: dict[str, ParsedDocument], queries: list[tuple[str, set[str]]], target: int) -> float:
    embedder = OnnxEmbedder()
    owners, texts = [], []
    for identity, parsed in documents.items():
        for chunk in chunk_document(parsed, version_id=identity, embedder=embedder, target_tokens=target):
            owners.append(identity)
            texts.append(embedding_text(chunk))
    vectors = embedder.embed_passages(texts)
    gains = []
    for text, relevant in queries:
        order = np.argsort(-(vectors @ embedder.embed_query(text)))[:200]
        ranked = list(dict.fromkeys(owners[i] for i in order))[:10]
        gain = sum(1 / np.log2(rank + 2) for rank, identity in enumerate(ranked) if identity in relevant)
        gains.append(gain / sum(1 / np.log2(rank + 2) for rank in range(min(10, len(relevant)))))
    return round(float(np.mean(gains)), 4)


def _scifact() -> tuple[dict[str, ParsedDocument], list[tuple[str, set[str]]]]:
    relevant: dict[str, set[str]] = {}
    for line in (DATA / "scifact" / "qrels_dev.tsv").read_text().splitlines()[1:]:
        query, document, _ = line.split("\t")
        relevant.setdefault(query, set()).add(document)
    wanted = set().union(*relevant.values())
    corpus = _jsonl(DATA / "scifact" / "corpus.jsonl")
    documents = {
        d["_id"]: _parsed(d["text"], d["title"]) for i, d in enumerate(corpus) if d["_id"] in wanted or i % 8 == 0
    }
    queries = [(q["text"], relevant[q["_id"]]) for q in _jsonl(DATA / "scifact" / "queries_dev.jsonl")]
    return documents, queries


def _medquad() -> tuple[dict[str, ParsedDocument], list[tuple[str, set[str]]]]:
    """Long answers only (over 3,000 characters), without a title, so that a chunk must carry its own meaning."""
    with gzip.open(DATA / "medquad_liveqa" / "medquad_pairs.jsonl.gz", "rt") as lines:
        pairs = [p for p in map(json.loads, lines) if len(p["answer"]) > 3000][:200]
    documents = {p["_id"]: _parsed(p["answer"], None) for p in pairs}
    return documents, [(p["question"], {p["_id"]}) for p in pairs]


def _parsed(text: str, title: str | None) -> ParsedDocument:
    return ParsedDocument(text, [Element("paragraph", 0, len(text))], "bench/1", title=title)


def _jsonl(path: Path) -> list[dict[str, Any]]:
    with path.open() as lines:  # splitlines would also cut at U+2028
        return [json.loads(line) for line in lines]


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _best(work: Callable[[], object]) -> float:
    return min(_seconds(work) for _ in range(3))


class _PaddedBatches:
    """The usual way: batches of similar length, padded, one session with two threads."""

    def __init__(self, embedder: OnnxEmbedder) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 2
        path = str(ensure_model(embedder.model).onnx)
        self._session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self._tokenizer = embedder._tokenizer

    def embed(self, texts: Sequence[str]) -> Vector:
        encoded = [e.ids[:512] for e in self._tokenizer.encode_batch(list(texts))]
        order = sorted(range(len(encoded)), key=lambda i: len(encoded[i]))
        vectors = np.empty((len(texts), 384), np.float32)
        while order:
            batch = [order.pop(0)]
            while order and len(encoded[order[0]]) * (len(batch) + 1) <= _BATCH_TOKENS:
                batch.append(order.pop(0))
            tokens = np.zeros((len(batch), len(encoded[batch[-1]])), np.int64)
            mask = np.zeros_like(tokens)
            for row, i in enumerate(batch):
                tokens[row, : len(encoded[i])] = encoded[i]
                mask[row, : len(encoded[i])] = 1
            inputs = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}
            vectors[batch] = self._session.run(None, inputs)[0][:, 0]
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


if __name__ == "__main__":
    print(json.dumps(targets() if sys.argv[1:] == ["targets"] else run(), indent=1))
