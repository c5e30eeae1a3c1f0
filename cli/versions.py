"""The history of a document on the command line, and the way back to an older version."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from cli.client import connect, segment
from cli.ingest import FINAL
from cli.output import as_json, console, errors, show_documents, status
from foundation.settings import get_settings

Json = Annotated[bool, typer.Option("--json", help="Machine-readable output.")]
Url = Annotated[str | None, typer.Option("--url", help="Address of the query service.")]
Document = Annotated[str, typer.Argument(help="A document's id.")]


def versions(id: Document, url: Url = None, json_output: Json = False) -> None:
    """The versions of a document, newest first."""
    with connect(get_settings(), url) as client:
        items = client.get(f"/documents/{segment(id)}/versions")["items"]
    as_json(items) if json_output else console.print(_table(items))


def restore(
    id: Document,
    version: Annotated[str, typer.Argument(help="The number, or the id, of an older version.")],
    wait: Annotated[float, typer.Option(help="Seconds to wait until it answers.")] = 120,
    url: Url = None,
    json_output: Json = False,
) -> None:
    """Make an older version the one that answers."""
    with connect(get_settings(), url) as client:
        path = f"/documents/{segment(id)}"
        numbers = {str(v["number"]): v["version_id"] for v in client.get(f"{path}/versions")["items"]}
        record = client.post(f"{path}/versions/{segment(numbers.get(version, version))}/restore")
        deadline = time.monotonic() + wait
        with errors.status("restoring"):
            while record["status"] not in FINAL and time.monotonic() < deadline:
                time.sleep(0.3)
                record = client.get(path)
    as_json(record) if json_output else show_documents([record])
    if record["status"] != "indexed":
        raise typer.Exit(1)


def _table(items: list[dict[str, Any]]) -> Table:
    table = Table("version", "status", "bytes", "arrived", "answered", "sha256", header_style="bold")
    for item in items:
        times = [
            f"{time['since'][:16].replace('T', ' ')} – {(time['until'] or 'now')[:16].replace('T', ' ')}"
            for time in item["active_times"]
        ]
        table.add_row(
            str(item["number"]),
            status(item["status"]),
            str(item["size_bytes"]),
            item["arrived_at"][:16].replace("T", " "),
            "\n".join(times),
            item["version_id"][:16] + "…",
        )
        if item["error_message"]:
            table.add_row("", f"[red]{item['error_code']}[/]", "", "", escape(item["error_message"]), "")
    return table
