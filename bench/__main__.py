"""Run the benches and write bench/results.json: {name: {value, unit, bare, ratio, command}}.

python -m bench                 # the figures that Askline is held to
python -m bench search graph    # these
python -m bench --all           # these and the figures of quality, an hour

A bench that fails is reported, its old figures leave results.json, the others go on; the exit code is 1 then. Figures
of benches that did not run stay. The load average stands beside each: on a busy machine wall time says little.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import signal
import time
import traceback
from pathlib import Path
from types import FrameType
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bench.common import Results

OUT = Path(__file__).with_name("results.json")
HELD_TO = ("search", "upload_to_askable", "ingest_rate", "tables_at_size", "memory_and_start", "clone_to_answer")
BY_NAME = ("day", "embedding", "graph", "graph_size", "multihop", "text_to_sql", "no_evidence", "search_opensearch")
console = Console()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Benchmarks of Askline.")
    # argparse checks the choices of an empty list too, so the names are checked here.
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join((*HELD_TO, *BY_NAME)))
    parser.add_argument("--all", action="store_true", help="every bench")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - {*HELD_TO, *BY_NAME}
    if unknown:
        parser.error(f"no such bench: {', '.join(sorted(unknown))}; there are {', '.join((*HELD_TO, *BY_NAME))}")
    names = (*HELD_TO, *BY_NAME) if arguments.all else arguments.names or HELD_TO
    signal.signal(signal.SIGTERM, _interrupted)
    failed = []
    try:
        for name in names:
            if not _run(name):
                failed.append(name)
    except KeyboardInterrupt:
        console.print("[dim]stopped[/]")
        return 130
    if failed:
        console.print(f"[red]failed:[/] {', '.join(failed)}")
    console.print(f"[dim]{OUT}[/]")
    return 1 if failed else 0


def _run(name: str) -> bool:
    before, started = os.getloadavg()[0], time.monotonic()
    console.rule(f"bench.{name}")
    try:
        results: Results = importlib.import_module(f"bench.{name}").run()
        good = True
    except Exception:  # noqa: BLE001  reported, and the other benches go on
        console.print(escape(traceback.format_exc()), style="red")
        results, good = {}, False
    _save(name, results)
    load = f"load {before:.1f} before, {os.getloadavg()[0]:.1f} after"
    _show(results, f"{time.monotonic() - started:.0f} s, {load}")
    return good


def _save(name: str, results: Results) -> None:
    """Replace what this bench wrote before."""
    known: Results = json.loads(OUT.read_text()) if OUT.exists() else {}
    others = {key: entry for key, entry in known.items() if not entry["command"].endswith(f"bench.{name}")}
    OUT.write_text(json.dumps({**others, **results}, indent=2) + "\n")


def _show(results: Results, caption: str) -> None:
    table = Table("figure", "value", "unit", "bare", "ratio", header_style="bold", caption=caption)
    for column in (1, 3, 4):
        table.columns[column].justify = "right"
    for key, entry in results.items():
        table.add_row(escape(key), *(_text(entry[part]) for part in ("value", "unit", "bare", "ratio")))
    console.print(table)


def _text(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:,.3f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def _interrupted(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    raise SystemExit(main())
