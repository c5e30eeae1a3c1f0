"""From `git clone` to the first cited answer of `make demo`, with nothing cached.

python -m bench.clone_to_answer

Bar: ≤ 6 min. What is committed is cloned (over file://, so the network's share of the clone is not in it) into a
temporary folder; then the steps of `make demo` run one by one: the virtual environment with uv, the packages of the
lock, the embedding model, and the demo itself until it prints an answer with a citation. pip and uv start with empty
caches (XDG_CACHE_HOME and UV_CACHE_DIR point to an empty folder), so every package comes from the registry that this
machine's pip is configured for, and the model from its Maven repository. The query service and Dagster get free ports.
`bare` is the download and install alone (with the clone), ratio = bare / value: its share.
"""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from threading import Timer

import psutil
from rich.console import Console
from rich.table import Table

from bench.common import Results, cpu_seconds, figure, free_ports, tree, uninterrupted
from cli.stack import ROOT
from foundation.adapters.embedded import postgres

COMMAND = "python -m bench.clone_to_answer"
_STEPS = (
    ("virtual environment, uv", ".venv/bin/uv"),
    ("packages", ".venv/.run"),
    ("embedding model", "models"),
)
_STEP_TIMEOUT_S = 900
_STOP_TIMEOUT_S = 90
_CITATION = re.compile(r"^│ \[\d+\] .*: “")
_END_OF_ANSWER = "╰"


def run() -> Results:
    rows: list[tuple[str, float, float]] = []
    with tempfile.TemporaryDirectory(prefix="askline-bench-") as name:
        folder = Path(name)
        clone, cache = folder / "askline", folder / "cache"
        cache.mkdir()
        env = _environment(cache)
        rows.append(("git clone", *_timed(["git", "clone", "--quiet", f"file://{ROOT}", str(clone)], folder, env)))
        for step, target in _STEPS:
            rows.append((step, *_timed(["make", target], clone, env)))
        rows.append(("demo, to the first cited answer", *_demo(clone, env)))
        downloaded = sum(path.stat().st_size for path in cache.rglob("*") if path.is_file() and not path.is_symlink())
    total, cpu = sum(row[1] for row in rows), sum(row[2] for row in rows)
    install = sum(row[1] for row in rows[:-1])
    table = Table("step", "s", "CPU s", title=f"clone to answer; {downloaded / 1e6:,.0f} MB in the caches after it")
    for step, seconds, used in rows:
        table.add_row(step, f"{seconds:.1f}", f"{used:.1f}")
    Console().print(table)
    return {
        "clone to first cited answer": figure(total, "s", COMMAND, bare=install, ratio=install / total),
        "clone to first cited answer, CPU": figure(cpu, "CPU s", COMMAND),
    }


def _environment(cache: Path) -> dict[str, str]:
    """Ours without what would lead to another stack, virtual environment or make, and with empty caches."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("ASKLINE_", "MAKE", "DAGSTER_")) and name not in ("VIRTUAL_ENV", "MFLAGS")
    }
    places = {"XDG_CACHE_HOME": str(cache), "UV_CACHE_DIR": str(cache / "uv"), "PIP_CACHE_DIR": str(cache / "pip")}
    return {**inherited, **places, **free_ports(), "COLUMNS": "160", "NO_COLOR": "1", "PYTHONUNBUFFERED": "1"}


def _timed(command: list[str], folder: Path, env: Mapping[str, str]) -> tuple[float, float]:
    """Seconds and CPU seconds of a command that has to succeed; its whole group ends with the bench."""
    started, before = time.monotonic(), _children_cpu()
    process = subprocess.Popen(
        command, cwd=folder, env=dict(env), start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        output, _ = process.communicate(timeout=_STEP_TIMEOUT_S)
    finally:
        _end_group(process, signal.SIGKILL)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{output.decode(errors='replace')[-2000:]}")
    return time.monotonic() - started, _children_cpu() - before


def _demo(clone: Path, env: Mapping[str, str]) -> tuple[float, float]:
    started = time.monotonic()
    process = subprocess.Popen(
        ["make", "demo"],
        cwd=clone,
        env=dict(env),
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    data = clone / ".askline"
    # Reading its lines blocks: the timer ends a demo that says nothing any more.
    timer = Timer(_STEP_TIMEOUT_S, _end_group, (process, signal.SIGINT))
    timer.start()
    try:
        seconds = _first_cited_answer(process, started)
        cpu = _tree_cpu(process.pid) + _tree_cpu(postgres.running_pid(data / "postgres"))
        return seconds, cpu
    finally:
        timer.cancel()
        with uninterrupted():
            _stop(process)
            postgres.stop(data / "postgres")


def _first_cited_answer(process: subprocess.Popen[str], started: float) -> float:
    """Seconds until an answer's panel with a citation in it is on the terminal as a whole."""
    assert process.stdout is not None
    lines: list[str] = []
    cited = False
    for line in process.stdout:
        lines.append(line)
        cited = cited or bool(_CITATION.match(line))
        if cited and line.startswith(_END_OF_ANSWER):
            return time.monotonic() - started
    raise RuntimeError(f"make demo ended without a cited answer:\n{''.join(lines)[-2000:]}")


def _stop(process: subprocess.Popen[str]) -> None:
    """Ctrl-C, as a user would; the demo goes on printing meanwhile, so somebody has to read."""
    top = psutil.Process(process.pid) if psutil.pid_exists(process.pid) else None
    tree = top.children(recursive=True) if top is not None else []
    _end_group(process, signal.SIGINT)
    with suppress(subprocess.TimeoutExpired):
        process.communicate(timeout=_STOP_TIMEOUT_S)
    _end_group(process, signal.SIGKILL)
    for left in tree:
        with suppress(psutil.NoSuchProcess):  # it compares start times: a reused pid is never hit
            left.kill()
    process.wait()


def _end_group(process: subprocess.Popen[bytes] | subprocess.Popen[str], number: int) -> None:
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)


def _children_cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _tree_cpu(pid: int | None) -> float:
    if pid is None:
        return 0.0
    with suppress(psutil.NoSuchProcess):
        return sum(map(cpu_seconds, tree(psutil.Process(pid))))
    return 0.0


if __name__ == "__main__":
    print(json.dumps(run(), indent=1))
