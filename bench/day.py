"""A day of many small files: how long it takes, whether Dagster's page of it stays quick, what memory it takes.

python -m bench.day [FILES]

Bars: the day's page of an asset is there in < 3 s while the files are ingested and after it, no version is worked on
twice, and memory stays bounded: `memory` is the most that the stack took over its idle PSS. FILES (20,000) text files
of one paragraph go to the API, 500 a request. The page is timed in Chromium, from the address to the day's status and
metadata. Takes ten to twenty minutes.
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import httpx
from playwright.sync_api import Page, sync_playwright
from sqlalchemy import func, select

from bench.common import Results, RunningStack, figure, pss_bytes, running_stack
from foundation.registry.tables import batch_versions, batches, document_versions

COMMAND = "python -m bench.day"
FILES = 20_000
_TOGETHER = 500
_LOOK_S = 15
_TIMEOUT_S = 3600
_CHROMIUM = "/usr/bin/chromium"


def run(files: int = FILES) -> Results:
    with tempfile.TemporaryDirectory(prefix="askline-bench-") as made, running_stack(Path(made) / "data") as stack:
        stack.wait_until_idle()
        idle = _memory(stack)
        with _page() as page:
            quiet = _open_day(page, stack)
            started, sending = time.monotonic(), threading.Thread(target=_send, args=(stack, files))
            sending.start()
            pages, most = [], idle
            while not _ended(stack, files):
                if time.monotonic() - started > _TIMEOUT_S:
                    raise TimeoutError(f"{files} files: not within {_TIMEOUT_S} s")
                pages.append(_open_day(page, stack))
                most = max(most, _memory(stack))
                time.sleep(_LOOK_S)
            seconds = time.monotonic() - started
            sending.join()
            stack.wait_until_idle()
            after = [_open_day(page, stack) for _ in range(3)]
        with stack.engine.connect() as connection:
            runs = connection.scalar(select(func.count()).select_from(batches)) or 0
            worked = connection.scalar(select(func.count()).select_from(batch_versions)) or 0
    print(f"{files} files, {runs} runs, {worked - files} versions twice: {seconds:.0f} s")
    print(
        f"page of the day: {quiet:.1f} s before, {min(pages):.1f} to {max(pages):.1f} s during, {max(after):.1f} after"
    )
    title, slowest = f"a day of {files:,} files", max(*pages, *after)
    return {
        title: figure(files / seconds, "files/s", COMMAND),
        f"{title}, page of the day": figure(slowest, "s", COMMAND, bare=quiet, ratio=slowest / quiet),
        f"{title}, memory over idle": figure((most - idle) / 1e9, "GB", COMMAND, bare=idle / 1e9),
        f"{title}, worked on twice": figure(worked - files, "versions", COMMAND),
    }  # fmt: skip


def _send(stack: RunningStack, files: int) -> None:
    with httpx.Client(base_url=stack.addresses.service_url, timeout=600) as client:
        for first in range(0, files, _TOGETHER):
            numbers = range(first, min(first + _TOGETHER, files))
            given = [("files", (f"note-{number}.txt", _text(number))) for number in numbers]
            client.post("/upload", files=given).raise_for_status()


def _text(number: int) -> bytes:
    return (
        f"Visit {number}. The patient of room {number % 900} was seen on day {number % 28 + 1} and reported pain in "
        f"the left knee. Ibuprofen {200 + number % 5 * 100} mg was given; the next visit is in {number % 9 + 1} weeks."
    ).encode()


def _ended(stack: RunningStack, files: int) -> bool:
    status = document_versions.c.status
    with stack.engine.connect() as connection:
        counted = {row[0]: row[1] for row in connection.execute(select(status, func.count()).group_by(status))}
    if counted.get("failed"):
        raise RuntimeError(f"{counted['failed']} of {files} files failed")
    return counted.get("indexed", 0) == files


def _memory(stack: RunningStack) -> int:
    return sum(pss_bytes(process) for tree in stack.programs().values() for process in tree)


@contextmanager
def _page() -> Iterator[Page]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        try:
            yield browser.new_page()
        finally:
            browser.close()


def _open_day(page: Page, stack: RunningStack) -> float:
    """Seconds until the page of today's partition says how it stands."""
    day = datetime.now(UTC).strftime("%Y-%m-%d")
    page.goto("about:blank")
    started = time.monotonic()
    page.goto(f"{stack.addresses.dagster_url}/assets/parsed_text?view=partitions&partition={day}")
    page.get_by_text("Latest materialization").or_(page.get_by_text("not yet been materialized")).first.wait_for(
        timeout=60_000
    )
    return time.monotonic() - started


if __name__ == "__main__":
    print(json.dumps(run(int(sys.argv[1]) if sys.argv[1:] else FILES), indent=1))
