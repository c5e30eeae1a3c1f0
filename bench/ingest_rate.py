"""Ingestion of a mixed batch: chunks a second from the first claim to the last version indexed.

python -m bench.ingest_rate [DOCUMENTS]

Bar: ≥ 0.6 of the bare embedding rate. 100 MedQuAD answers as text files (pages of the sample PDFs where the shared test
data is not there: ASKLINE_TEST_DATA) and the samples that are documents or workbooks go to the API in one request.
`bare` is the same chunks through the embedder alone, in a warm process, right after the ingest while the stack idles;
ratio = value / bare. The CPU row is the same in CPU seconds of all programs, so it does not feel what else the machine
does; its ratio is bare / value, again the share that embedding has.
"""

from __future__ import annotations

import gzip
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from datetime import datetime
from pathlib import Path

import httpx
import pypdfium2 as pdfium
from sqlalchemy import Engine, func, select

from bench.common import Results, RunningStack, figure, running_stack, until
from bench.embedding import DATA
from cli.questions import SAMPLES
from foundation.adapters.embedded.embeddings import OnnxEmbedder
from foundation.registry.tables import batches, document_versions, stages
from foundation.stores import Stores
from pipelines.chunking import embedding_text

COMMAND = "python -m bench.ingest_rate"
DOCUMENTS = 100
_SAMPLES = ("*.pdf", "*.docx", "*.txt", "*.xlsx")
_TIMEOUT_S = 600


def run(documents: int = DOCUMENTS) -> Results:
    with tempfile.TemporaryDirectory(prefix="askline-bench-") as name:
        folder = Path(name)
        paths = [*_text_files(folder, documents), *(p for kind in _SAMPLES for p in sorted(SAMPLES.glob(kind)))]
        with running_stack(folder / "data") as stack:
            stack.wait_until_idle()
            cpu = stack.cpu_seconds()
            _upload(stack, paths)
            seconds, runs = _ingested(stack.engine, len(paths))
            stack.wait_until_idle()
            cpu = stack.cpu_seconds() - cpu
            by_stage = _seconds_by_stage(stack.engine)
            texts = _chunk_texts(stack)
            bare_s, bare_cpu = _bare(texts)
    count = len(texts)
    print(f"{len(paths)} files, {count} chunks, {runs} runs: {seconds:.1f} s, {cpu:.1f} CPU s")
    print(f"embedding alone: {bare_s:.1f} s, {bare_cpu:.1f} CPU s")
    print(f"work by stage, s: {by_stage}")
    return {
        "ingest": figure(
            count / seconds, "chunks/s", COMMAND, bare=count / bare_s, ratio=bare_s / seconds
        ),
        "ingest, CPU": figure(
            1000 * cpu / count, "CPU ms/chunk", COMMAND, bare=1000 * bare_cpu / count, ratio=bare_cpu / cpu
        ),
    }  # fmt: skip


def _text_files(folder: Path, count: int) -> list[Path]:
    """`count` text files; MedQuAD answers over 400 characters from all over the file."""
    file = DATA / "medquad_liveqa" / "medquad_pairs.jsonl.gz"
    if file.exists():
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            answers = [answer for line in lines if len(answer := json.loads(line)["answer"] or "") > 400]
        answers = list(dict.fromkeys(answers))
        texts = answers[:: max(1, len(answers) // count)][:count]
    else:
        texts = [text for sample in sorted(SAMPLES.glob("*.pdf")) for text in _page_texts(sample)][:count]
    paths = [folder / f"leaflet-{number}.txt" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text, encoding="utf-8")
    return paths


def _page_texts(path: Path) -> list[str]:
    with closing(pdfium.PdfDocument(path)) as document:
        texts = [page.get_textpage().get_text_bounded() for page in document]
    return [text for text in texts if len(text) > 400]


def _upload(stack: RunningStack, paths: list[Path]) -> None:
    with ExitStack() as opened:
        files = [("files", (path.name, opened.enter_context(path.open("rb")))) for path in paths]
        response = httpx.post(f"{stack.addresses.service_url}/upload", files=files, timeout=300)
    response.raise_for_status()
    rejected = [item for item in response.json()["items"] if item["status"] == "rejected"]
    if rejected:
        raise RuntimeError(f"rejected: {rejected}")


def _ingested(engine: Engine, files: int) -> tuple[float, int]:
    """Seconds from the first claim to the last version indexed, and the number of runs that it took."""

    def ended() -> dict[str, int] | None:
        with engine.connect() as connection:
            counted = connection.execute(
                select(document_versions.c.status, func.count()).group_by(document_versions.c.status)
            ).all()
        by_status: dict[str, int] = {row[0]: row[1] for row in counted}
        done = by_status.get("indexed", 0) + by_status.get("failed", 0)
        return by_status if done == files and done == sum(by_status.values()) else None

    by_status = until(ended, "every file is indexed or failed", _TIMEOUT_S, every_s=0.5)
    if by_status.get("failed"):
        raise RuntimeError(f"{by_status['failed']} of {files} files failed")
    with engine.connect() as connection:
        first: datetime = connection.execute(select(func.min(batches.c.claimed_at))).scalar_one()
        last: datetime = connection.execute(select(func.max(document_versions.c.indexed_at))).scalar_one()
        runs = connection.execute(select(func.count()).select_from(batches)).scalar_one()
    return (last - first).total_seconds(), runs


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
        versions: Sequence[str] = connection.execute(select(document_versions.c.version_id).distinct()).scalars().all()
        return [
            embedding_text(c) for version in versions for c in stores.artefacts.load_chunks(version, stores.chunker)
        ]


def _bare(texts: list[str]) -> tuple[float, float]:
    embedder = OnnxEmbedder()
    embedder.embed_passages(texts[:8])
    started, cpu = time.perf_counter(), time.process_time()
    embedder.embed_passages(texts)
    return time.perf_counter() - started, time.process_time() - cpu


if __name__ == "__main__":
    print(json.dumps(run(int(sys.argv[1]) if sys.argv[1:] else DOCUMENTS), indent=1))
