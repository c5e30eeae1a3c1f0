"""Cold start, memory and CPU of the idle stack, warm start over the same data.

python -m bench.memory_and_start

Bars: idle memory ≤ 1.5 GB (10⁹ bytes), warm start ≤ 30 s. A start is timed from the command `askline up` until the
query service is ready and Dagster has loaded the code location, the command's own interpreter included; the cold one
makes the database first. Memory is the sum of the proportional set sizes (PSS) of every process: the command, the
nursery, the code servers, Dagster's daemon and webserver, the run workers, the query service, Postgres. It is taken
after a PDF, a DOCX and a TXT were ingested and a question was answered, so that models are loaded, once Dagster has
been idle for 20 s; and beside it right after the cold start. Pages that another stack on the machine shares count
less: take it with none running.

`bare` are processes that only import what the four programs import of others (Dagster, its webserver, FastAPI,
LangGraph, ONNX Runtime, DuckDB …), all started at once, and our Postgres: their time until the last has imported, and
their PSS. ratio = value / bare.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import psutil
from rich.console import Console
from rich.table import Table

from bench.common import Results, RunningStack, figure, pss_bytes, running_stack
from cli.ingest import upload
from cli.questions import SAMPLES, sample_questions

COMMAND = "python -m bench.memory_and_start"
_SETTLE_S, _IDLE_S = 20, 20
_INGESTED = ("*.docx", "*.txt", "niddk*.pdf")
_LIBRARIES = (
    "dagster._grpc.server, sqlalchemy, psycopg, alembic, duckdb, tantivy, pyarrow, tokenizers",
    "dagster._daemon.cli, dagster_postgres",
    "dagster_webserver.app, dagster_postgres",
    "fastapi, uvicorn, langgraph.graph, sqlglot, networkx, sqlalchemy, psycopg, alembic, duckdb, tantivy, pyarrow, "
    "tokenizers, pypdfium2, onnxruntime, spacy",
)
"""Of the code server, Dagster's daemon, its webserver, the query service."""


def run() -> Results:
    with tempfile.TemporaryDirectory(prefix="askline-bench-") as name:
        folder = Path(name) / "data"
        with running_stack(folder) as stack:
            cold = stack.start_s
            time.sleep(_SETTLE_S)
            fresh = _memory(stack)
            _use(stack)
            stack.wait_until_idle()
            time.sleep(_SETTLE_S)
            cpu, started = stack.cpu_seconds(), time.monotonic()
            time.sleep(_IDLE_S)
            cores = (stack.cpu_seconds() - cpu) / (time.monotonic() - started)
            used = _memory(stack)
            with _libraries() as (bare_start, processes):
                bare = sum(pss_bytes(process) for process in processes) + used["Postgres"]
        with running_stack(folder) as stack:
            warm, warm_cpu = stack.start_s, stack.cpu_seconds()
    _show(fresh, used)
    total, first = sum(used.values()), sum(fresh.values())
    gb = 1e9
    return {
        "idle memory": figure(total / gb, "GB", COMMAND, bare=bare / gb, ratio=total / bare),
        "idle memory, fresh": figure(first / gb, "GB", COMMAND),
        "idle CPU": figure(cores, "cores", COMMAND, digits=3),
        "warm start": figure(warm, "s", COMMAND, bare=bare_start, ratio=warm / bare_start),
        "warm start, CPU": figure(warm_cpu, "CPU s", COMMAND),
        "cold start": figure(cold, "s", COMMAND, bare=bare_start, ratio=cold / bare_start),
    }


def _use(stack: RunningStack) -> None:
    paths = [path for kind in _INGESTED for path in sorted(SAMPLES.glob(kind))]
    records = upload(stack.client, paths, {}, timeout_s=300, quiet=True)
    unfinished = [record["file_name"] for record in records if record["status"] != "indexed"]
    if unfinished:
        raise RuntimeError(f"not indexed: {unfinished}")
    names = {path.name for path in paths}
    question = next(q for q in sample_questions() if q.file in names)
    stack.client.post("/ask", {"question": question.question})


def _memory(stack: RunningStack) -> dict[str, int]:
    """PSS in bytes by program, the median of three looks (a sensor's tick is short)."""
    looks: list[dict[str, int]] = []
    for _ in range(3):
        looks.append({name: sum(map(pss_bytes, tree)) for name, tree in stack.programs().items()})
        time.sleep(2)
    return {name: round(median(look.get(name, 0) for look in looks)) for name in looks[-1]}


@contextmanager
def _libraries() -> Iterator[tuple[float, list[psutil.Process]]]:
    """Seconds until all have imported, and the processes, which end with the block."""
    started = time.monotonic()
    running = [
        subprocess.Popen(
            [sys.executable, "-c", f"import {names}; print('ready', flush=True); input()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        for names in _LIBRARIES
    ]
    try:
        for process in running:
            assert process.stdout is not None
            if process.stdout.readline() != b"ready\n":
                raise RuntimeError(f"{process.args!r} could not import its libraries")
        yield time.monotonic() - started, [psutil.Process(process.pid) for process in running]
    finally:
        for process in running:
            process.kill()
            process.communicate()


def _show(fresh: dict[str, int], used: dict[str, int]) -> None:
    table = Table("program", "after start, MB", "after use, MB", title="PSS of the idle stack")
    for name in used:
        table.add_row(name, f"{fresh.get(name, 0) / 1e6:.0f}", f"{used[name] / 1e6:.0f}")
    Console().print(table)


if __name__ == "__main__":
    print(json.dumps(run(), indent=1))
