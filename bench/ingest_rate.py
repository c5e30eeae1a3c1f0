"""Ingestion of a batch: chunks a second from the first claim to the last version indexed.

python -m bench.ingest_rate                              # both sets
python -m bench.ingest_rate snippets 100
python -m bench.ingest_rate mixed 500 --peer PYTHON      # LlamaIndex beside it: see bench/ingest_peer.py

Bars: ≥ 0.6 of the bare embedding rate for 100 short text files and the samples, ≥ 0.75 for 500 mixed documents
(bench/ingest_files.py says which). All go to the API in one request, after one small file that warms the stack. `bare`
is the same chunks through the embedder alone, in a warm process, right after the ingest while the stack idles; ratio =
value / bare. The CPU row is the same in CPU seconds of all programs, so it does not feel what else the machine does;
its ratio is bare / value, again the share that embedding has.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from datetime import datetime
from pathlib import Path

import httpx
from sqlalchemy import Engine, func, select

from bench.common import Results, RunningStack, figure, running_stack, until
from bench.ingest_files import mixed, samples, snippets
from foundation.adapters.embedded.embeddings import OnnxEmbedder
from foundation.registry.tables import batches, document_versions, stages
from foundation.stores import Stores
from pipelines.chunking import embedding_text

COMMAND = "python -m bench.ingest_rate"
_TIMEOUT_S = 600
_SETS: dict[str, tuple[str, int, Callable[[Path, int], list[Path]], int]] = {
    "snippets": (
        "ingest",
        100,
        lambda folder, count: [*snippets(folder, count), *samples("*.pdf", "*.docx", "*.txt", "*.xlsx")],
        3,
    ),
    "mixed": ("ingest, 500 mixed documents", 500, mixed, 3),
}
"""Name of the figure, how many files, how they are made, how often they are ingested."""


def run() -> Results:
    return {**measured("snippets"), **measured("mixed")}


def measured(name: str, count: int | None = None, peer: str | None = None) -> Results:
    """The figures of one set, of the try whose ratio is the median; `peer` is a Python that has LlamaIndex."""
    title, usual, make, tries = _SETS[name]
    found = [_once(f"{COMMAND} {name}", title, lambda folder: make(folder, count or usual), peer) for _ in range(tries)]
    return sorted(found, key=lambda results: float(results[title]["ratio"]))[tries // 2]


def _once(command: str, title: str, make: Callable[[Path], list[Path]], peer: str | None) -> Results:
    with tempfile.TemporaryDirectory(prefix="askline-bench-") as made:
        folder = Path(made)
        paths = make(folder)
        first = folder / "first.txt"
        first.write_text("The first file of a worker waits for what the others find loaded.")
        with running_stack(folder / "data") as stack:
            _upload(stack, [first])
            _ingested(stack.engine, 1)
            stack.wait_until_idle()
            cpu = stack.cpu_seconds()
            _upload(stack, paths)
            seconds, runs = _ingested(stack.engine, len(paths) + 1)
            stack.wait_until_idle()
            cpu = stack.cpu_seconds() - cpu
            by_stage = _seconds_by_stage(stack.engine)
            texts = _chunk_texts(stack)
            bare_s, bare_cpu = _bare(texts)
        chunks = len(texts)
        print(f"{len(paths)} files, {chunks} chunks, {runs} runs: {seconds:.1f} s, {cpu:.1f} CPU s")
        print(f"embedding alone: {bare_s:.1f} s, {bare_cpu:.1f} CPU s")
        print(f"work by stage, s: {by_stage}", flush=True)
        if peer is not None:
            _run_peer(peer, folder / "peer", paths)
    return {
        title: figure(
            chunks / seconds, "chunks/s", command, bare=chunks / bare_s, ratio=bare_s / seconds
        ),
        f"{title}, CPU": figure(
            1000 * cpu / chunks, "CPU ms/chunk", command, bare=1000 * bare_cpu / chunks, ratio=bare_cpu / cpu
        ),
    }  # fmt: skip


def _run_peer(python: str, folder: Path, paths: Sequence[Path]) -> None:
    folder.mkdir()
    for number, path in enumerate(paths):
        shutil.copy(path, folder / f"{number}-{path.name}")
    subprocess.run([python, "-m", "bench.ingest_peer", str(folder)], check=True)


def _upload(stack: RunningStack, paths: list[Path]) -> None:
    with ExitStack() as opened:
        files = [("files", (path.name, opened.enter_context(path.open("rb")))) for path in paths]
        response = httpx.post(f"{stack.addresses.service_url}/upload", files=files, timeout=300)
    response.raise_for_status()
    rejected = [item for item in response.json()["items"] if item["status"] == "rejected"]
    if rejected:
        raise RuntimeError(f"rejected: {rejected}")


def _ingested(engine: Engine, files: int) -> tuple[float, int]:
    """Seconds from the first claim, that of the warming file apart, to the last version indexed; and the runs."""

    def ended() -> dict[str, int] | None:
        with engine.connect() as connection:
            counted = connection.execute(
                select(document_versions.c.status, func.count()).group_by(document_versions.c.status)
            ).all()
        by_status: dict[str, int] = {row[0]: row[1] for row in counted}
        done = by_status.get("indexed", 0) + by_status.get("failed", 0)
        return by_status if done >= files and done == sum(by_status.values()) else None  # a mail has members

    by_status = until(ended, "every file is indexed or failed", _TIMEOUT_S, every_s=0.5)
    if by_status.get("failed"):
        raise RuntimeError(f"{by_status['failed']} of {files} files failed")
    with engine.connect() as connection:
        claims: Sequence[datetime] = connection.scalars(
            select(batches.c.claimed_at).order_by(batches.c.claimed_at)
        ).all()
        last: datetime = connection.execute(select(func.max(document_versions.c.indexed_at))).scalar_one()
    later = claims[1:] or claims
    return (last - later[0]).total_seconds(), len(later)


def _seconds_by_stage(engine: Engine) -> str:
    with engine.connect() as connection:
        rows = connection.execute(
            select(stages.c.stage, func.sum(stages.c.finished_at - stages.c.started_at).label("work"))
            .group_by(stages.c.stage)
            .order_by(func.min(stages.c.finished_at))
        ).all()
    return ", ".join(f"{row.stage} {row.work.total_seconds():.1f}" for row in rows)


def _chunk_texts(stack: RunningStack) -> list[str]:
    with closing(Stores(stack.settings)) as stores, stack.engine.connect() as connection:
        arrived = document_versions.c.arrived_at
        later = arrived > select(func.min(arrived)).scalar_subquery()  # without the warming file
        versions = connection.scalars(select(document_versions.c.version_id).distinct().where(later)).all()
        return [
            embedding_text(c) for version in versions for c in stores.artefacts.load_chunks(version, stores.chunker)
        ]


def _bare(texts: list[str]) -> tuple[float, float]:
    embedder = OnnxEmbedder()
    embedder.embed_passages(texts[:8])
    started, cpu = time.perf_counter(), time.process_time()
    embedder.embed_passages(texts)
    return time.perf_counter() - started, time.process_time() - cpu


def _main() -> None:
    parser = argparse.ArgumentParser(description="See the module's first lines.")
    parser.add_argument("set", nargs="?", choices=[*_SETS])
    parser.add_argument("files", nargs="?", type=int)
    parser.add_argument("--peer", metavar="PYTHON")
    given = parser.parse_args()
    print(json.dumps(measured(given.set, given.files, given.peer) if given.set else run(), indent=1))


if __name__ == "__main__":
    _main()
