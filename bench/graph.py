"""Graph extraction beside spaCy's tagger over the same chunks, and entity resolution beside looking names up.

python -m bench.graph
"""

from __future__ import annotations

import gzip
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from foundation.contracts.entity_pairs import f1, judge_pairs, without_synonyms
from foundation.domain import load_domain
from foundation.graph_schema import load_graph_schema
from foundation.lexicon import Lexicon, load_lexicon, read_terms
from foundation.types import Chunk
from pipelines.extraction.extract import extract
from pipelines.extraction.noun_phrases import load_tagger

DATA = Path(os.environ.get("ASKLINE_TEST_DATA", Path(__file__).parents[2] / "shared" / "data"))
ER_PAIRS = DATA / "graph" / "disease_ontology" / "er_pairs_dev.tsv"
COMMAND = "python -m bench.graph"


def run() -> dict[str, dict[str, Any]]:
    return {**_lexicon(), **_extraction(), **_resolution()}


def _row(value: float, unit: str, bare: float | None = None, ratio: float | None = None) -> dict[str, Any]:
    return {"value": value, "unit": unit, "bare": bare, "ratio": ratio, "command": COMMAND}


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _lexicon() -> dict[str, dict[str, Any]]:
    files = sorted(load_domain("healthcare").folder.glob("lexicon*"), reverse=True)
    return {
        "lexicon loading": _row(round(min(_seconds(lambda: Lexicon.of(read_terms(files))) for _ in range(3)), 3), "s")
    }


def _extraction() -> dict[str, dict[str, Any]]:
    """Answers of MedQuAD as documents, cut to chunks of 900 characters at most."""
    domain = load_domain("healthcare")
    lexicon, schema = load_lexicon(domain.folder), load_graph_schema(domain.file("graph.yaml"))
    with gzip.open(DATA / "retrieval" / "medquad_liveqa" / "medquad_pairs.jsonl.gz", "rt", encoding="utf-8") as lines:
        answers = [json.loads(line)["answer"] or "" for line in lines][::80]
    versions = [_cut(f"v{n}", answer) for n, answer in enumerate(answers) if answer.strip()]
    texts = [chunk.text for version in versions for chunk in version]
    words = sum(len(text.split()) for text in texts)
    nlp = load_tagger()
    list(nlp.pipe(texts[:50]))
    ours = min(
        _seconds(lambda: [extract(version, lexicon=lexicon, graph_schema=schema) for version in versions])
        for _ in range(3)
    )
    tagger = min(_seconds(lambda: list(nlp.pipe(texts, batch_size=256))) for _ in range(2))
    return {
        "graph extraction": _row(
            round(len(texts) / ours), "chunks/s", round(len(texts) / tagger), round(tagger / ours, 2)
        ),
        "graph extraction, words": _row(round(words / ours), "words/s", round(words / tagger), round(tagger / ours, 2)),
    }


def _cut(version_id: str, text: str) -> list[Chunk]:
    cut = []
    at = 0
    while at < len(text):
        end = min(at + 900, len(text))
        end = end if end == len(text) else text.rfind(" ", at + 1, end) + 1 or end
        cut.append(Chunk(f"{version_id}-{len(cut)}", version_id, len(cut), at, end, text[at:end], 1))
        at = end
    return cut


def _resolution() -> dict[str, dict[str, Any]]:
    """F1 of "these two names are one thing" on er_pairs_dev, beside what looking up in the lexicon gives.

    Whole, and with a seeded fifth of the synonyms left out; then of these the pairs that lost a name.
    """
    domain = load_domain("healthcare")
    whole, schema = load_lexicon(domain.folder), load_graph_schema(domain.file("graph.yaml"))
    rows = {}
    for label, lexicon in (
        ("whole lexicon", whole),
        ("a fifth of the synonyms left out", without_synonyms(whole, 0.2, 1)),
    ):
        judged = list(judge_pairs(lexicon, schema, ER_PAIRS))
        ours, bare = (f1((said[n], truth) for *said, truth, _ in judged) for n in (0, 1))
        rows[f"entity resolution, {label}"] = _row(round(ours, 3), "F1", round(bare, 3), round(ours / bare, 2))
        lost = [(said, truth) for said, _, truth, known in judged if not known]
    rows["entity resolution, pairs that lost a name"] = _row(round(f1(lost), 3), "F1", 0.0)
    return rows


if __name__ == "__main__":
    for name, result in run().items():
        print(f"{name}: {result['value']} {result['unit']} (bare {result['bare']}, ratio {result['ratio']})")
