"""The embedded search index at 20,000 chunks, next to the bare libraries under it.

python -m bench.search                 # the shipped adapter
python -m bench.search --candidates    # the comparison of docs/adr/0001 (needs lancedb, usearch, pgvector), 4-7 min
python -m bench.search --candidates chosen lance

Texts are MedQuAD answers in pieces of 160 words where the shared test data is (ASKLINE_TEST_DATA), else seeded words;
vectors are seeded points around 300 centres: the exact scan costs the same whatever they are.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import tantivy

from foundation.adapters.embedded.search import EmbeddedSearchIndex
from foundation.types import Chunk, IndexedChunk, SearchFilter, Vector

SIZE, DIMENSION, PER_DOCUMENT, GROUPS = 20_000, 384, 20, 5
DATA = Path(os.environ.get("ASKLINE_TEST_DATA", Path(__file__).parents[2] / "shared" / "data"))
COMMAND = "python -m bench.search"
# Two groups of five may see it, and half of the documents are asked for: 4,000 of 20,000 chunks pass.
NARROW = SearchFilter(("group:0", "group:1", "public"), tuple(f"doc{i}" for i in range(SIZE // PER_DOCUMENT // 2)))


def texts_and_questions(size: int = SIZE) -> tuple[list[str], list[str]]:
    chance = np.random.default_rng(1)
    file = DATA / "retrieval" / "medquad_liveqa" / "medquad_pairs.jsonl.gz"
    if not file.exists():
        words = np.array([f"term{i}" for i in range(30_000)])
        draws = np.minimum(chance.zipf(1.2, (size, 160)) - 1, len(words) - 1)
        texts = [" ".join(words[row]) for row in draws]
        return texts, [" ".join(text.split()[:8]) for text in texts[:500]]
    pieces: list[str] = []
    questions: list[str] = []
    with gzip.open(file, "rt") as lines:
        for line in lines:
            pair = json.loads(line)
            words_of = f"{pair['question']} {pair['answer'] or ''}".split()
            pieces += [" ".join(words_of[i : i + 160]) for i in range(0, min(len(words_of), 1600), 160)]
            questions.append(pair["question"])
    order = chance.permutation(len(pieces))[:size]
    return [pieces[i] for i in order], [questions[i] for i in chance.permutation(len(questions))[:500]]


def unit_vectors(size: int, seed: int) -> Vector:
    centres = np.random.default_rng(0).standard_normal((300, DIMENSION), np.float32)
    chance = np.random.default_rng(seed)
    points = centres[chance.integers(0, 300, size)] + 0.9 * chance.standard_normal((size, DIMENSION), np.float32)
    return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True), np.float32)


def version(version_id: str, first: int, texts: Iterable[str], vectors: Vector) -> list[IndexedChunk]:
    """Chunks number `first`, first + 1, …; each 20 of them belong to one document, each document to one group."""
    chunks = []
    for i, (text, vector) in enumerate(zip(texts, vectors, strict=True)):
        document = (first + i) // PER_DOCUMENT
        chunk = Chunk(f"chk_{first + i}", version_id, i, 0, len(text), text, 200, 1)
        chunks.append(IndexedChunk(chunk, vector, (f"group:{document % GROUPS}",), (f"doc{document}",), "leaflet"))
    return chunks


def percentiles(run: Callable[[int], Any], times: int) -> tuple[float, float]:
    """Milliseconds: median and 95th percentile."""
    taken = []
    for i in range(times):
        started = time.perf_counter()
        run(i)
        taken.append(time.perf_counter() - started)
    low, high = np.percentile(taken, [50, 95]) * 1000
    return float(low), float(high)


def run() -> dict[str, dict[str, Any]]:
    """{name: {value, unit, bare, ratio, command}}; `bare` is the same work by the bare library calls."""
    texts, questions = texts_and_questions()
    vectors, asked = unit_vectors(SIZE, 2), unit_vectors(500, 3)
    with tempfile.TemporaryDirectory() as name:
        index = EmbeddedSearchIndex(Path(name), "bench", DIMENSION)
        started = time.perf_counter()
        for first in range(0, SIZE, 1000):
            span = slice(first, first + 1000)
            index.write_version(f"v{first}", version(f"v{first}", first, texts[span], vectors[span]))
        indexing = (time.perf_counter() - started) / (SIZE / 1000)
        index.optimize()

        def ask(i: int) -> None:
            index.search(questions[i], asked[i], NARROW)

        percentiles(ask, 20)
        median, hybrid = percentiles(ask, 300)
        bare_median, bare_hybrid, bare_indexing, bare_write = _bare(
            Path(name) / "bare", texts, vectors, questions, asked
        )

        def write(i: int) -> None:
            chunks = version(f"small{i}", SIZE + i * 20, texts[i * 20 : i * 20 + 20], vectors[i * 20 : i * 20 + 20])
            index.write_version(f"small{i}", chunks)

        _, small = percentiles(write, 200)
        index.delete_versions([f"small{i}" for i in range(100)])
        percentiles(ask, 20)
        _, worn = percentiles(ask, 300)
    return {
        "search_hybrid_filtered_p50_ms": _entry(median, "ms", bare_median),
        "search_hybrid_filtered_p95_ms": _entry(hybrid, "ms", bare_hybrid),
        "search_hybrid_filtered_after_writes_p95_ms": _entry(worn, "ms", bare_hybrid),
        "search_small_write_p95_ms": _entry(small, "ms", bare_write),
        "search_index_1000_chunks_s": _entry(indexing, "s", bare_indexing),
    }


def _entry(value: float, unit: str, bare: float) -> dict[str, Any]:
    return {"value": round(value, 3), "unit": unit, "bare": round(bare, 3), "ratio": round(value / bare, 2),
            "command": COMMAND}  # fmt: skip


def _bare(folder: Path, texts: list[str], vectors: Vector, questions: list[str], asked: Vector) -> list[float]:
    """tantivy's query parser over a plain two-field index, then a numpy product over what passes the filter."""
    folder.mkdir()
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("text", stored=True, tokenizer_name="en_stem")
    builder.add_text_field("group", tokenizer_name="raw")
    builder.add_unsigned_field("number", indexed=True, fast=True)
    schema = builder.build()
    index = tantivy.Index(schema, str(folder))

    def add(first: int, pieces: list[str]) -> float:
        started = time.perf_counter()
        writer = index.writer(64_000_000, 1)
        for i, text in enumerate(pieces, first):
            document = tantivy.Document(text=text, group=f"group:{i // 20 % 5}")
            document.add_unsigned("number", i)
            writer.add_document(document)
        writer.commit()
        writer.wait_merging_threads()
        return time.perf_counter() - started

    indexing = add(0, texts) / (SIZE / 1000)
    np.save(folder / "vectors.npy", vectors)
    index.reload()
    searcher = index.searcher()
    numbers = np.arange(SIZE)
    passing = numbers[(numbers // 20 % 5 < 2) & (numbers < SIZE // 2)]
    groups = tantivy.Query.term_set_query(schema, "group", ["group:0", "group:1"])
    half = tantivy.Query.range_query(schema, "number", tantivy.FieldType.Unsigned, 0, SIZE // 2 - 1)

    def ask(i: int) -> None:
        words = index.parse_query_lenient(questions[i], ["text"])[0]
        must = [(tantivy.Occur.Must, query) for query in (words, groups, half)]
        hits = searcher.search(tantivy.Query.boolean_query(must), limit=100, count=False).hits
        cosines = np.einsum("ij,j->i", vectors[passing], asked[i])
        passing[np.argpartition(-cosines, 99)[:100]]
        for _, address in hits[:10]:
            searcher.doc(address)

    percentiles(ask, 20)
    median, hybrid = percentiles(ask, 300)
    _, small = percentiles(lambda i: add(SIZE + i * 20, texts[i * 20 : i * 20 + 20]), 50)
    return [median, hybrid, indexing, small]


def main() -> None:
    arguments = sys.argv[1:]
    if arguments[:1] == ["--candidates"]:
        from bench.search_candidates import compare

        result: Any = compare.run(arguments[1:])
    else:
        result = run()
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
