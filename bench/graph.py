"""Graph extraction beside spaCy's tagger over the same chunks, and the two-hop neighbourhood at 100,000 edges.

python -m bench.graph
"""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import quantiles
from typing import Any

from sqlalchemy import Engine, func, insert, select, text

from foundation import ids
from foundation.adapters.embedded import postgres
from foundation.adapters.embedded.graph import PostgresGraph
from foundation.contracts.entity_pairs import f1, judge_pairs, without_synonyms
from foundation.domain import load_domain
from foundation.graph_schema import load_graph_schema
from foundation.lexicon import Lexicon, load_lexicon, read_terms
from foundation.registry.database import create_registry_engine, migrate
from foundation.registry.tables import chunks, documents, edges
from foundation.types import Chunk, Edge, Mention, Node, Principal, VersionGraph
from pipelines.extraction.extract import extract
from pipelines.extraction.noun_phrases import load_tagger

DATA = Path(os.environ.get("ASKLINE_TEST_DATA", Path(__file__).parents[2] / "shared" / "data"))
ER_PAIRS = DATA / "graph" / "disease_ontology" / "er_pairs_dev.tsv"
COMMAND = "python -m bench.graph"
_NODES, _EDGES, _DOCUMENTS, _CHUNKS = 20_000, 100_000, 50, 20
_READER = Principal("reader")
_TWO_HOPS = """
    with near as (
        select source_id, target_id from askline.edges where source_id = :id
        union select source_id, target_id from askline.edges where target_id = :id
    ), ends as (select source_id as id from near union select target_id from near)
    select e.* from ends join askline.edges e on e.source_id = ends.id
    union select e.* from ends join askline.edges e on e.target_id = ends.id
    limit 500
"""
"""The same walk without access, evidence, order, names or aliases."""


def run() -> dict[str, dict[str, Any]]:
    return {**_lexicon(), **_extraction(), **_resolution(), **_neighbourhood()}


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


def _neighbourhood() -> dict[str, dict[str, Any]]:
    folder = Path(tempfile.mkdtemp(prefix="askline-bench-")) / "pg"
    engine = create_registry_engine(postgres.start(folder))
    try:
        migrate(engine)
        graph = PostgresGraph(engine)
        writing = _seconds(lambda: _fill(engine, graph))
        with engine.connect() as connection:
            assert connection.scalar(select(func.count()).select_from(edges)) == _EDGES
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("vacuum analyze"))
        chosen = random.Random(2).sample(range(_NODES), 200)
        starts = [ids.node_id("disease", f"node {n}") for n in chosen]
        graph.neighbourhood(_READER, starts[:1], hops=2)
        ours = [_seconds(lambda s=s: graph.neighbourhood(_READER, [s], hops=2)) for s in starts]  # type: ignore[misc]
        with engine.connect() as connection:
            bare = [
                _seconds(lambda s=s: connection.execute(text(_TWO_HOPS), {"id": s}).all())  # type: ignore[misc]
                for s in starts
            ]
        p95, bare_p95 = (quantiles(times, n=20)[-1] * 1000 for times in (ours, bare))
        return {
            "two-hop neighbourhood, p95": _row(round(p95, 1), "ms", round(bare_p95, 1), round(bare_p95 / p95, 2)),
            "graph writing": _row(round(_EDGES / writing), "edges/s"),
        }
    finally:
        engine.dispose()
        postgres.stop(folder)
        shutil.rmtree(folder.parent, ignore_errors=True)


def _fill(engine: Engine, graph: PostgresGraph) -> None:
    """Preferential attachment, so that a few nodes are hubs, as diseases are; half the documents are the reader's."""
    draw = random.Random(1)
    nodes = [Node(ids.node_id("disease", f"node {n}"), "disease", f"node {n}") for n in range(_NODES)]
    ends = list(range(_NODES))
    made: dict[str, Edge] = {}
    while len(made) < _EDGES:
        one, other = draw.choice(ends), draw.choice(ends)
        if one != other:
            source, target = nodes[one].node_id, nodes[other].node_id
            identifier = ids.edge_id(source, "causes", target)
            if identifier not in made:
                made[identifier] = Edge(identifier, source, target, "causes")
                ends += [one, other]
    by_id = {node.node_id: node for node in nodes}
    all_edges = list(made.values())
    share = _EDGES // _DOCUMENTS
    for d in range(_DOCUMENTS):
        version = f"v{d}"
        row = {"file_name": "f", "media_type": "text/plain", "domain": "d", "owner": "o", "landing_key": version}
        acl = ["user:reader"] if d % 2 else ["user:other"]
        with engine.begin() as connection:
            connection.execute(insert(documents).values(document_id=version, active_version=version, acl=acl, **row))
            connection.execute(insert(chunks), [_chunk_row(version, n) for n in range(_CHUNKS)])
        own = all_edges[d * share : (d + 1) * share]
        used = {end for edge in own for end in (edge.source_id, edge.target_id)}
        mentions = [
            Mention(f"{version}-{n % _CHUNKS}", version, n, n + 5, "found", "pattern", edge_id=edge.edge_id)
            for n, edge in enumerate(own)
        ]
        graph.write_versions([VersionGraph(version, [by_id[i] for i in used], own, mentions)])


def _chunk_row(version: str, n: int) -> dict[str, Any]:
    place = {"chunk_id": f"{version}-{n}", "version_id": version, "ordinal": n, "start_char": n, "end_char": n + 1}
    return {**place, "tokens": 1, "parser": "p/1", "chunker": "c/1"}


if __name__ == "__main__":
    for name, result in run().items():
        print(f"{name}: {result['value']} {result['unit']} (bare {result['bare']}, ratio {result['ratio']})")
