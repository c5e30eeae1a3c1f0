"""Upload files and watch them until each is indexed or failed."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from cli.client import Client
from cli.output import errors
from foundation.card import described_by
from foundation.errors import AsklineError, InvalidInput

FINAL = ("indexed", "failed", "deleted")
SKIPPED = ("LICENCES.md", "questions.yaml", "SYNTHEA_LICENSE", "make")


def files_below(paths: Iterable[Path]) -> list[Path]:
    """Files, and the files of folders, without hidden ones. InvalidInput where there is none."""
    found: list[Path] = []
    paths = list(paths)
    for path in paths:
        inside = sorted(path.rglob("*")) if path.is_dir() else [path]
        found += [p for p in inside if p.is_file() and not any(part.startswith(".") for part in p.parts[-2:])]
    if not found:
        raise InvalidInput(
            f"{', '.join(map(str, paths))}: there is no file in there.", fix="Name files, or folders that hold some."
        )
    return found


def sample_files(folder: Path) -> list[Path]:
    """What the demo ingests: the corpus without what describes it."""
    return [p for p in files_below([folder]) if not set(p.relative_to(folder).parts) & set(SKIPPED)]


def upload(
    client: Client, paths: Sequence[Path], fields: dict[str, Any], *, timeout_s: float | None, quiet: bool = False
) -> list[dict[str, Any]]:
    """Records of the files at their end (or at the time-out). A refused file gives {file_name, status, error}."""
    given = set(paths)
    # A sidecar goes with its file; alone it is for a file that is there already.
    paths = [p for p in paths if not (name := described_by(p.name)) or p.with_name(name) not in given]
    _refuse_equal_names(paths)
    records: list[dict[str, Any]] = []
    progress = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total}"),
        TimeElapsedColumn(),
        console=errors,
        disable=quiet,
        transient=True,
    )
    with progress:
        sending = progress.add_task("uploading", total=len(paths))
        for path in paths:
            try:
                records.append(client.upload(path, fields))
            except AsklineError as error:
                if error.transient or error.status >= 500:
                    raise
                reason = {"code": error.code, "message": error.message, "fix": error.fix}
                records.append({"file_name": path.name, "status": "rejected", "error": reason})
            progress.advance(sending)
        waiting = progress.add_task("indexing", total=len(records))
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            records = [_fresh(client, record) for record in records]
            done = [r for r in records if r["status"] in (*FINAL, "rejected")]
            names = [f"{r['file_name']} ({r.get('stage') or r['status']})" for r in records if r not in done]
            progress.update(waiting, completed=len(done), description=f"indexing {', '.join(names[:2])}"[:70])
            if len(done) == len(records) or (deadline is not None and time.monotonic() > deadline):
                return records
            time.sleep(0.3)


def _refuse_equal_names(paths: Sequence[Path]) -> None:
    """A name is a document: a second file of one name would become the next version of the first."""
    seen: dict[str, Path] = {}
    for path in paths:
        other = seen.setdefault(path.name, path)
        if other != path:
            raise InvalidInput(
                f"{other} and {path} have one name, so the second would replace the first.",
                fix="Rename one of them, or copy the folder into the landing folder, where the path is the name.",
            )


def _fresh(client: Client, record: dict[str, Any]) -> dict[str, Any]:
    if record["status"] in (*FINAL, "rejected"):
        return record
    found: dict[str, Any] = client.get(f"/documents/{record['document_id']}")
    return {**found, "duplicate_of": record.get("duplicate_of")}
