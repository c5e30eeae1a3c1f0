"""From the start of POST /upload until a 10-page PDF answers: status `indexed`, and POST /search finds its own text.

python -m bench.upload_to_askable [TRIALS]

Bar: p50 ≤ 8 s. A stack of its own in a temporary folder; one PDF for each of 8 trials after a warm-up, its pages cut
out of the sample PDFs (no page twice) and one written for the trial; the next trial waits until Dagster is idle. With
8 trials the p95 is nearly the worst. `bare` is the same file parsed, chunked and embedded in a warm process: no stores,
no graph, no Dagster; ratio = value / bare. Printed beside it: where the time went, out of the registry's stages table.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import numpy as np
import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c
from rich.console import Console
from rich.table import Table
from sqlalchemy import select

from bench.common import Results, RunningStack, figure, running_stack, until
from cli.questions import SAMPLES
from foundation.adapters.embedded.embeddings import OnnxEmbedder
from foundation.registry.tables import document_versions, stages
from pipelines.chunking import chunk_document, embedding_text
from pipelines.parsing.dispatch import parse_document

COMMAND = "python -m bench.upload_to_askable"
PAGES, TRIALS = 10, 8
_TIMEOUT_S = 180
_RUN_TIMES = "query($id: ID!) { runOrError(runId: $id) { ... on Run { creationTime startTime } } }"
_SENTENCES = (
    "The watch book of harbour {code} names the keeper of the lamp for each night of the season.",
    "Keepers of harbour {code} trim the wick at dusk and note the hour beside their name.",
    "Whoever finds the lamp of harbour {code} dark rings the bell twice and wakes the pilot.",
)


@dataclass
class Trial:
    seconds: float
    cpu_s: float
    bare_s: float
    bare_cpu_s: float
    chunks: int
    timeline: list[tuple[str, float, float]] = field(default_factory=list)
    """(what, start, end), seconds after the start of the upload."""


def run(trials: int = TRIALS) -> Results:
    embedder = OnnxEmbedder()
    with tempfile.TemporaryDirectory(prefix="askline-bench-") as name:
        folder = Path(name)
        files = [_write_pdf(folder / f"harbour-{number}.pdf", number) for number in range(trials + 1)]
        with running_stack(folder / "data") as stack:
            done = [_trial(stack, embedder, path, code) for path, code in files][1:]
    p50, p95 = (float(p) for p in np.percentile([t.seconds for t in done], [50, 95]))
    bare50, bare95 = (float(p) for p in np.percentile([t.bare_s for t in done], [50, 95]))
    cpu, bare_cpu = (float(np.median([getattr(t, name) for t in done])) for name in ("cpu_s", "bare_cpu_s"))
    _show(done)
    return {
        "upload to askable, 10-page PDF, p50": figure(p50, "s", COMMAND, bare=bare50, ratio=p50 / bare50),
        "upload to askable, 10-page PDF, p95": figure(p95, "s", COMMAND, bare=bare95, ratio=p95 / bare95),
        "upload to askable, 10-page PDF, CPU": figure(cpu, "CPU s", COMMAND, bare=bare_cpu, ratio=cpu / bare_cpu),
    }


def _write_pdf(path: Path, number: int) -> tuple[Path, str]:
    """A PDF of ten pages and the word that only it has."""
    code = f"kestrel{os.urandom(4).hex()}"
    document = pdfium.PdfDocument.new()
    sources = [pdfium.PdfDocument(sample) for sample in sorted(SAMPLES.glob("*.pdf"))]
    pages = [(source, page) for source in sources for page in range(len(source))]
    first = number * (PAGES - 1)
    for source, page in (pages[i % len(pages)] for i in range(first, first + PAGES - 1)):
        document.import_pages(source, [page])
    page = document.new_page(612, 792, PAGES // 2)
    for line, sentence in enumerate(_SENTENCES):
        text = pdfium_c.FPDFPageObj_NewTextObj(document.raw, b"Helvetica", 11.0)
        characters = (sentence.format(code=code) + "\0").encode("utf-16-le")
        pdfium_c.FPDFText_SetText(text, (pdfium_c.c_ushort * (len(characters) // 2)).from_buffer_copy(characters))
        pdfium_c.FPDFPageObj_Transform(text, 1, 0, 0, 1, 72, 600 - 14 * line)
        pdfium_c.FPDFPage_InsertObject(page.raw, text)
    page.gen_content()
    document.save(path)
    for opened in (document, *sources):
        opened.close()
    return path, code


def _trial(stack: RunningStack, embedder: OnnxEmbedder, path: Path, code: str) -> Trial:
    cpu, clock, started = stack.cpu_seconds(), time.time(), time.perf_counter()
    document_id = stack.client.upload(path, {})["document_id"]
    sent = time.perf_counter() - started
    query = _SENTENCES[1].format(code=code)

    def askable() -> bool:
        record = stack.client.get(f"/documents/{document_id}")
        if record["status"] == "failed":
            raise RuntimeError(f"{path.name} failed: {record['error']}")
        if record["status"] != "indexed":
            return False
        hits = stack.client.post("/search", {"query": query})["items"]
        return any(hit["document_id"] == document_id and code in hit["quote"] for hit in hits)

    until(askable, f"{path.name} is askable", _TIMEOUT_S)
    seconds = time.perf_counter() - started
    stack.wait_until_idle()
    used = stack.cpu_seconds() - cpu
    bare, bare_cpu, chunks = _bare(embedder, path)
    trial = Trial(seconds, used, bare, bare_cpu, chunks)
    trial.timeline = [("POST /upload", 0.0, sent), *_stages(stack, document_id, clock), ("askable", 0, seconds)]
    return trial


def _bare(embedder: OnnxEmbedder, path: Path) -> tuple[float, float, int]:
    """Seconds, CPU seconds, chunks."""
    started, cpu = time.perf_counter(), time.process_time()
    chunks = chunk_document(parse_document(path, path.name, "pdf"), version_id=path.name, embedder=embedder)
    embedder.embed_passages([embedding_text(chunk) for chunk in chunks])
    return time.perf_counter() - started, time.process_time() - cpu, len(chunks)


def _stages(stack: RunningStack, document_id: str, clock: float) -> list[tuple[str, float, float]]:
    """Dagster's part up to the start of the run, then the stages, then the moment of `indexed`."""
    with stack.engine.connect() as connection:
        rows = connection.execute(
            select(stages.c.stage, stages.c.started_at, stages.c.finished_at, stages.c.run_id)
            .where(stages.c.document_id == document_id)
            .order_by(stages.c.finished_at)
        ).all()
        indexed = connection.scalar(
            select(document_versions.c.indexed_at).where(document_versions.c.document_id == document_id)
        )
    assert indexed is not None
    asked = {"query": _RUN_TIMES, "variables": {"id": rows[0].run_id}}
    answer = httpx.post(f"{stack.addresses.dagster_url}/graphql", json=asked, timeout=30).json()
    run_times = answer["data"]["runOrError"]
    created, started = (run_times[name] - clock for name in ("creationTime", "startTime"))
    return [
        ("Dagster creates the run", created, created),
        ("its process has started", created, started),
        *((row.stage, row.started_at.timestamp() - clock, row.finished_at.timestamp() - clock) for row in rows),
        ("indexed", indexed.timestamp() - clock, indexed.timestamp() - clock),
    ]


def _show(trials: list[Trial]) -> None:
    """Medians over the trials. The wait before a stage is Dagster's, its own work beside it is the stage's."""
    table = Table("", "waited, s", "worked, s", "done at, s", title=f"median of {len(trials)} uploads")
    names = [what for what, _, _ in trials[0].timeline]
    before = [0.0] * len(trials)
    for name in names:
        spans = [next((s, e) for what, s, e in trial.timeline if what == name) for trial in trials]
        ends = [end for _, end in spans]
        starts = before if name == "askable" else [start for start, _ in spans]
        waits = np.median([max(0.0, s - b) for s, b in zip(starts, before, strict=True)])
        work = np.median([e - s for s, e in zip(starts, ends, strict=True)])
        table.add_row(name, f"{waits:.2f}", f"{work:.2f}", f"{np.median(ends):.2f}")
        before = ends
    console = Console()
    console.print(table)
    shown = ", ".join(f"{t.seconds:.1f}" for t in trials)
    console.print(f"trials: {shown} s; chunks a file: {', '.join(str(t.chunks) for t in trials)}")


if __name__ == "__main__":
    print(json.dumps(run(int(sys.argv[1]) if sys.argv[1:] else TRIALS), indent=1))
