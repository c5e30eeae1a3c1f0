"""Exact answer sets over several hops: the Disease Ontology's tables, read as uploads are, then multihop_dev.

python -m bench.multihop
"""

from __future__ import annotations

import json
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import quantiles

from sqlalchemy import Engine, insert

from bench.common import Results, figure, postgres_of_ones_own
from bench.graph import DATA
from foundation.adapters.embedded.embeddings import OnnxEmbedder
from foundation.adapters.embedded.graph import PostgresGraph
from foundation.domain import load_domain
from foundation.graph_schema import load_graph_schema
from foundation.lexicon import load_lexicon
from foundation.registry.database import create_registry_engine, migrate
from foundation.registry.tables import chunks, documents
from foundation.resolution import Resolver
from foundation.types import Principal
from pipelines.chunking import chunk_document
from pipelines.extraction.extract import extract_table
from pipelines.extraction.ontology import declares
from pipelines.parsing.dispatch import parse_tables
from pipelines.parsing.table_text import table_document
from pipelines.parsing.tables import iter_rows
from query_service.reasoning.graph_answer import answer_from_graph

COMMAND = "python -m bench.multihop"
TABLES = ("HumanDO.tsv", "disease-symptom.tsv", "ICD10inDO.tsv")
QUESTIONS = DATA / "graph" / "disease_ontology" / "multihop_dev.jsonl"
READER = Principal("reader")


def ingest(engine: Engine, graph: PostgresGraph, path: Path, folder: Path) -> int:
    """Parse, cut and extract a table of terms as the assets do, without its vectors. Returns its chunks."""
    domain = load_domain("healthcare")
    lexicon, schema = load_lexicon(domain.folder), load_graph_schema(domain.file("graph.yaml"))
    workbook = parse_tables(path, path.name, "csv", folder)
    parsed = table_document(
        workbook,
        lambda table: iter_rows(table.parquet_path, table.columns),
        "bench/1",
        whole=lambda columns: declares(columns, schema),
    )
    cut = chunk_document(parsed, version_id=path.name, embedder=OnnxEmbedder())
    row = {"file_name": path.name, "media_type": "text/tab-separated-values", "domain": "healthcare", "owner": "o"}
    with engine.begin() as connection:
        connection.execute(
            insert(documents).values(
                document_id=path.name, active_version=path.name, acl=["public"], landing_key=path.name, **row
            )
        )
        places = [
            {"chunk_id": c.chunk_id, "version_id": c.version_id, "ordinal": c.ordinal, "start_char": c.start}
            | {"end_char": c.end, "tokens": c.tokens, "parser": "bench/1", "chunker": "c/1"}
            for c in cut
        ]
        connection.execute(insert(chunks), places)
    graph.write_versions([extract_table(cut, lexicon, schema)])
    return len(cut)


def exact(graph: PostgresGraph, questions: Path = QUESTIONS) -> Iterator[tuple[str, str, set[str], set[str], float]]:
    """Of each question: its kind, itself, the right set, ours, and the seconds. A cell of many codes is many codes."""
    domain = load_domain("healthcare")
    lexicon, schema = load_lexicon(domain.folder), load_graph_schema(domain.file("graph.yaml"))
    for line in questions.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        codes = "icd" in row["type"]
        right = {part for answer in row["answers"] for part in (answer.split(", ") if codes else [answer])}
        started = time.perf_counter()
        ours = answer_from_graph(row["question"], graph, READER, lexicon, schema)
        yield row["type"], row["question"], right, set(ours.answers), time.perf_counter() - started


def run() -> Results:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="askline-bench-")))
        url, _ = stack.enter_context(postgres_of_ones_own())
        engine = create_registry_engine(url)
        stack.callback(engine.dispose)
        migrate(engine)
        domain = load_domain("healthcare")
        resolver = Resolver(lambda: (load_lexicon(domain.folder), load_graph_schema(domain.file("graph.yaml"))))
        graph = PostgresGraph(engine, resolver)
        results: Results = {}
        for number, name in enumerate(TABLES):
            started = time.perf_counter()
            count = ingest(engine, graph, DATA / "graph" / "disease_ontology" / name, folder / f"t{number}")
            print(f"{name}: {count} chunks, {time.perf_counter() - started:.1f} s")
        hits: Counter[str] = Counter()
        asked: Counter[str] = Counter()
        seconds = []
        for kind, question, right, ours, taken in exact(graph):
            asked[kind] += 1
            hits[kind] += right == ours
            seconds.append(taken)
            if right != ours:
                print(f"{question}\n  right: {sorted(right)}\n  ours:  {sorted(ours)}")
        print({kind: f"{hits[kind]}/{count}" for kind, count in asked.items()})
        results["multihop, exact answer sets"] = figure(hits.total() / asked.total(), "share", COMMAND)
        results["multihop, a question, p95"] = figure(1000 * quantiles(seconds, n=20)[-1], "ms", COMMAND)
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=1))
