from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from foundation.adapters.embedded.embeddings import OnnxEmbedder
from foundation.contracts.embeddings import TEXTS, EmbedderContract


@cache
def loaded(model: str) -> OnnxEmbedder:
    return OnnxEmbedder(model)


class TestBge(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> OnnxEmbedder:
        return loaded("bge-small-en-v1.5")

    def test_a_question_gets_the_models_instruction_and_a_passage_does_not(self, embedder: OnnxEmbedder) -> None:
        instructed = embedder.embed_passages(["Represent this sentence for searching relevant passages: dose"])[0]
        assert np.array_equal(embedder.embed_query("dose"), instructed)

    def test_the_same_text_gives_the_same_bits_whatever_stands_beside_it(self, embedder: OnnxEmbedder) -> None:
        alone = np.concatenate([embedder.embed_passages([text]) for text in TEXTS])
        assert np.array_equal(alone, embedder.embed_passages([*TEXTS, "word " * 400])[:-1])

    @pytest.mark.slow
    def test_dense_retrieval_reaches_the_models_published_range_on_real_claims(
        self, embedder: OnnxEmbedder, shared_data: Path
    ) -> None:
        """A wrong pooling or a missing instruction still gives unit vectors; it does not find these abstracts."""
        folder = shared_data / "retrieval" / "scifact"
        lines = (folder / "qrels_dev.tsv").read_text().splitlines()[1:]
        relevant: dict[str, set[str]] = {}
        for query, document, _ in (line.split("\t") for line in lines):
            relevant.setdefault(query, set()).add(document)
        wanted = set().union(*relevant.values())
        corpus = [json.loads(line) for line in (folder / "corpus.jsonl").read_text().splitlines()]
        documents = [d for i, d in enumerate(corpus) if d["_id"] in wanted or i % 50 == 0]
        vectors = embedder.embed_passages([f"{d['title']}. {d['text'][:600]}" for d in documents])
        queries = [json.loads(line) for line in (folder / "queries_dev.jsonl").read_text().splitlines()]
        first = [documents[int(np.argmax(vectors @ embedder.embed_query(q["text"])))]["_id"] for q in queries]
        hits = [document in relevant[q["_id"]] for q, document in zip(queries, first, strict=True)]
        assert np.mean(hits) > 0.8


class TestMiniLm(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> OnnxEmbedder:
        return loaded("all-MiniLM-L6-v2")


def test_two_models_differ_in_revision() -> None:
    assert loaded("bge-small-en-v1.5").revision != loaded("all-MiniLM-L6-v2").revision


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_long_texts_leave_no_memory_behind(tmp_path: Path) -> None:
    """In a process of its own: what other tests have freed would be taken first."""
    program = tmp_path / "embed.py"
    program.write_text(
        "import psutil\n"
        "from foundation.adapters.embedded.embeddings import OnnxEmbedder\n"
        "embedder = OnnxEmbedder()\n"
        "embedder.embed_passages(['short'] * 2)\n"
        "before = psutil.Process().memory_full_info().uss\n"
        "embedder.embed_passages(['word ' * 600] * 4)\n"
        "print((psutil.Process().memory_full_info().uss - before) / 1e6)\n"
    )
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 30  # MB; a thread needs 45 for one such text
