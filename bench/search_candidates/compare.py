"""One writer process and two reader processes over 20,000 chunks, for each candidate; a few minutes in all.

A candidate module has LABEL and open_index(folder, url, dimension), whose result has write_version, delete_versions,
search and optimize as the port has them.
"""

from __future__ import annotations

import importlib
import multiprocessing
import tempfile
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from bench.search import DIMENSION, NARROW, SIZE, percentiles, texts_and_questions, unit_vectors, version
from foundation.adapters.embedded import postgres
from foundation.types import SearchFilter

CANDIDATES = ("chosen", "lance", "usearch_tantivy", "pgvector_tantivy")
PROBE = SearchFilter(("group:probe",))
REWRITES, SMALL, ASKED = 50, 200, 200


def run(names: Sequence[str] = ()) -> dict[str, dict[str, Any]]:
    """Figures by label, of the named candidates or of all."""
    results: dict[str, dict[str, Any]] = {}
    for name in names or CANDIDATES:
        with tempfile.TemporaryDirectory() as folder:
            label = importlib.import_module(f"bench.search_candidates.{name}").LABEL
            url = postgres.start(Path(folder) / "pg") if name.startswith("pgvector") else ""
            try:
                results[label] = _measure(name, Path(folder), url)
            except Exception as error:  # noqa: BLE001 - one candidate that breaks must not hide the others
                results[label] = {"error": repr(error)}
            finally:
                if url:
                    postgres.stop(Path(folder) / "pg")
    return results


def _measure(name: str, root: Path, url: str) -> dict[str, Any]:
    folder = root / "index"
    folder.mkdir()
    context = multiprocessing.get_context("spawn")
    pipes, readers = [], []
    for _ in range(2):
        ours, theirs = context.Pipe()
        readers.append(context.Process(target=_reader, args=(theirs, name, folder, url), daemon=True))
        readers[-1].start()
        pipes.append(ours)
    index = importlib.import_module(f"bench.search_candidates.{name}").open_index(folder, url, DIMENSION)
    texts, _ = texts_and_questions()
    vectors = unit_vectors(SIZE, 2)
    figures: dict[str, Any] = {}

    started = time.perf_counter()
    for first in range(0, SIZE, 1000):
        span = slice(first, first + 1000)
        index.write_version(f"v{first}", version(f"v{first}", first, texts[span], vectors[span]))
    figures["index_1000_chunks_s"] = (time.perf_counter() - started) / (SIZE / 1000)
    index.optimize()

    def ask(command: str) -> list[dict[str, Any]]:
        for pipe in pipes:
            pipe.send(command)
        return [pipe.recv() for pipe in pipes]

    figures |= _worst(ask("latency"), "idle")
    figures["recall@10"] = ask("recall")[0]["recall"]

    def small(i: int) -> None:
        span = slice(i * 20, i * 20 + 20)
        index.write_version(f"s{i}", version(f"s{i}", SIZE + i * 20, texts[span], vectors[span]))

    for pipe in pipes:
        pipe.send("latency")
    figures["small_write_p50_ms"], figures["small_write_p95_ms"] = percentiles(small, SMALL)
    figures |= _worst([pipe.recv() for pipe in pipes], "while_writing")
    started = time.perf_counter()
    for first in range(0, 100, 10):
        index.delete_versions([f"s{i}" for i in range(first, first + 10)])
    figures["delete_2000_chunks_s"] = time.perf_counter() - started
    figures |= _worst(ask("latency"), "after_writes")
    started = time.perf_counter()
    index.optimize()
    figures["optimize_s"] = time.perf_counter() - started
    figures |= _worst(ask("latency"), "optimized")

    for pipe in pipes:
        pipe.send("watch")
    written = []
    for generation in range(REWRITES):
        _write_probe(index, generation)
        written.append(time.time())
        time.sleep(0.03)
    seen = [pipe.recv() for pipe in pipes]
    figures["half_states"] = sum(one["half"] for one in seen)
    figures["searches_watched"] = sum(one["searches"] for one in seen)
    delays = [one["first"][g] - written[g] for one in seen for g in one["first"]]
    figures["visible_after_max_ms"] = max(0.0, max(delays)) * 1000
    figures["reader_memory_mb"] = max(one["memory"] for one in ask("memory"))
    paths = [path for path in [*folder.rglob("*"), *(root / "pg").rglob("base/*/*")] if path.is_file()]
    figures["disk_mb"] = sum(path.stat().st_size for path in paths) / 1e6
    for process in readers:
        process.kill()
        process.join()
    return {key: round(value, 3) if isinstance(value, float) else value for key, value in figures.items()}


def _worst(found: list[dict[str, Any]], label: str) -> dict[str, float]:
    return {f"{p}_{label}_ms": max(one[p] for one in found) for p in ("p50", "p95", "cpu")}


def _write_probe(index: Any, generation: int) -> None:
    """20 chunks whose words and vectors both say which generation they are."""
    angle = np.radians(1 + generation)
    vector = np.zeros(DIMENSION, np.float32)
    vector[:2] = np.cos(angle), np.sin(angle)
    chunks = version("probe", 10**6, [f"probeword {generation} piece{i}" for i in range(20)], np.tile(vector, (20, 1)))
    for chunk in chunks:
        object.__setattr__(chunk, "acl", PROBE.grants)
    index.write_version("probe", chunks)


def _reader(pipe: Connection, name: str, folder: Path, url: str) -> None:
    process = psutil.Process()
    module = importlib.import_module(f"bench.search_candidates.{name}")
    _, questions = texts_and_questions()
    asked, vectors = unit_vectors(500, 3), unit_vectors(SIZE, 2)
    before = process.memory_info().rss
    command = pipe.recv()
    index = module.open_index(folder, url, DIMENSION)
    while True:
        if command == "latency":
            _latency(index, questions[300:], asked[300:], 20)
            cpu = time.process_time()
            low, high = _latency(index, questions, asked, ASKED)
            # The reader's own: comparable on a busy machine, but blind to a database server's share.
            pipe.send({"p50": low, "p95": high, "cpu": (time.process_time() - cpu) / ASKED * 1000})
        elif command == "recall":
            pipe.send({"recall": _recall(index, asked[:100], vectors)})
        elif command == "watch":
            pipe.send(_watch(index))
        else:
            pipe.send({"memory": (process.memory_info().rss - before) / 1e6})
        command = pipe.recv()


def _latency(index: Any, questions: list[str], asked: Any, times: int) -> tuple[float, float]:
    return percentiles(lambda i: index.search(questions[i], asked[i], NARROW), times)


def _recall(index: Any, asked: Any, vectors: Any) -> float:
    documents = np.arange(SIZE) // 20
    passing = np.flatnonzero((documents % 5 < 2) & (documents < SIZE // 40))
    found = 0
    for vector in asked:
        best = passing[np.argsort(-(vectors[passing] @ vector))[:10]]
        hits = index.search("", vector, NARROW, k=10)
        found += len({hit.chunk_id for hit in hits} & {f"chk_{i}" for i in best})
    return found / (10 * len(asked))


def _watch(index: Any) -> dict[str, Any]:
    """Search for the probe until its last generation shows; a half state is a mix, a part, or one ranker alone."""
    vector = np.zeros(DIMENSION, np.float32)
    vector[0] = 1
    half, searches, first = 0, 0, {}
    deadline = time.time() + 60
    while REWRITES - 1 not in first and time.time() < deadline:
        hits = index.search("probeword", vector, PROBE, k=50)
        now = time.time()
        searches += 1
        generations = {int(hit.text.split()[1]) for hit in hits}
        whole = len(hits) == 20 and len(generations) == 1 and all({"bm25", "dense"} <= set(hit.scores) for hit in hits)
        if whole:
            number = generations.pop()
            whole = all(abs(hit.scores["dense"] - np.cos(np.radians(1 + number))) < 0.0002 for hit in hits)
            if whole:
                first.setdefault(number, now)
        half += not whole and bool(hits)
        time.sleep(0.002)
    return {"half": half, "searches": searches, "first": first}
