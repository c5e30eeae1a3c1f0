"""The commands. Each talks to a running service over HTTP; `up` and `demo` start one."""

from __future__ import annotations

import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table
from typer.exceptions import TyperException

from cli import demo as demo_run
from cli import doctor as doctor_run
from cli import graph as graph_commands
from cli.client import Client, connect, segment
from cli.ingest import files_below
from cli.ingest import upload as upload_files
from cli.output import as_json, console, errors, lineage_tree, show_answer, show_documents, show_error, status
from cli.stack import Stack
from cli.versions import restore, versions
from foundation.errors import AsklineError
from foundation.settings import Settings, get_settings

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_show_locals=False,
    help="Cited answers over your documents, tables and knowledge graph.",
)
keys_app = typer.Typer(no_args_is_help=True, help="API keys, for a service that others reach.")
app.add_typer(keys_app, name="keys")
app.add_typer(graph_commands.app, name="graph")

Json = Annotated[bool, typer.Option("--json", help="Machine-readable output.")]
Url = Annotated[str | None, typer.Option("--url", help="Address of the query service.")]


@contextmanager
def _client(url: str | None) -> Iterator[Client]:
    with connect(get_settings(), url) as client:
        yield client


@contextmanager
def _stack(settings: Settings) -> Iterator[Stack]:
    """A running stack that is stopped in every case, on Ctrl-C and on SIGTERM too."""
    stack = Stack(settings, lambda line: errors.print(f"[dim]· {line}[/]"))

    def interrupted(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupted)
    started = False
    try:
        with errors.status("starting Askline"):
            stack.start()
        started = True
        yield stack
    except KeyboardInterrupt:
        errors.print("\n[dim]stopping[/]")
        if not started:
            raise typer.Exit(130) from None
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C must not leave something running
        stack.stop()


def _watch(stack: Stack) -> None:
    while True:
        time.sleep(1)
        stack.watch_once()


@app.command()
def up(json_output: Json = False) -> None:
    """Start everything and stay up until Ctrl-C."""
    with _stack(get_settings()) as stack:
        assert stack.addresses is not None
        if json_output:
            as_json({"service_url": stack.addresses.service_url, "dagster_url": stack.addresses.dagster_url})
        else:
            demo_run.say_addresses(stack)
        _watch(stack)


@app.command()
def demo(
    check: Annotated[bool, typer.Option("--check", help="Check everything in a temporary folder, then stop.")] = False,
    json_output: Json = False,
) -> None:
    """Ingest the samples, ask one question a route, stay up until Ctrl-C."""
    if check:
        _smoke(json_output)
        return
    with _stack(get_settings()) as stack:
        shown = demo_run.show(stack, quiet=json_output)
        if json_output:
            as_json(shown)
        _watch(stack)


def _smoke(json_output: bool) -> None:
    from cli.smoke import run_checks

    with tempfile.TemporaryDirectory(prefix="askline-smoke-") as folder:
        settings = get_settings().model_copy(update={"data_dir": Path(folder) / "data", "landing_dir": None})
        problems: list[str] | None = None
        with _stack(settings) as stack:
            problems = run_checks(stack)
    if problems is None:
        raise typer.Exit(130)
    if json_output:
        as_json({"ok": problems == [], "problems": problems})
    for problem in problems:
        errors.print(f"[red]✗[/] {escape(problem)}", highlight=False)
    if problems:
        raise typer.Exit(1)
    errors.print("[green]make smoke: everything holds.[/]")


@app.command()
def upload(
    paths: Annotated[list[Path], typer.Argument(exists=True, help="Files, or folders of files.")],
    document_type: Annotated[str | None, typer.Option(help="For example policy.")] = None,
    acl: Annotated[list[str] | None, typer.Option(help="user:NAME, group:NAME or public; repeatable.")] = None,
    licence: Annotated[str | None, typer.Option(help="Licence of the files.")] = None,
    source_url: Annotated[str | None, typer.Option(help="Where they come from.")] = None,
    accessed_at: Annotated[str | None, typer.Option(help="When they were taken from there, YYYY-MM-DD.")] = None,
    authority: Annotated[str | None, typer.Option(help="Who stands behind them.")] = None,
    effective_date: Annotated[str | None, typer.Option(help="Since when they hold, YYYY-MM-DD.")] = None,
    supersedes: Annotated[list[str] | None, typer.Option(help="Id or file name of what they replace.")] = None,
    amends: Annotated[list[str] | None, typer.Option(help="Id or file name of what they amend.")] = None,
    wait: Annotated[float, typer.Option(help="Seconds to wait until they are indexed.")] = 600,
    url: Url = None,
    json_output: Json = False,
) -> None:
    """Upload files, with the NAME.meta.json beside them, and wait until each is indexed or failed."""
    fields: dict[str, Any] = {
        **{"document_type": document_type, "acl": acl, "licence": licence, "source_url": source_url},
        **{"accessed_at": accessed_at, "authority": authority, "effective_date": effective_date},
        **{"supersedes": supersedes, "amends": amends},
    }
    with _client(url) as client:
        given = {name: value for name, value in fields.items() if value is not None}
        records = upload_files(client, files_below(paths), given, timeout_s=wait, quiet=json_output)
    as_json(records) if json_output else show_documents(records)
    if any(record["status"] != "indexed" for record in records):
        raise typer.Exit(1)


@app.command()
def ask(
    question: str,
    session: Annotated[str | None, typer.Option(help="Go on with this conversation.")] = None,
    route: Annotated[list[str] | None, typer.Option(help="Force a route; repeatable.")] = None,
    url: Url = None,
    json_output: Json = False,
) -> None:
    """Ask a question; the answer comes with its citations, SQL and lineage."""
    with _client(url) as client:
        body = {"question": question, "session_id": session, "routes": route}
        with errors.status("thinking"):
            answer = client.post("/ask", body)
            found = None if json_output else client.get(f"/lineage/answers/{answer['answer_id']}")
    as_json(answer) if json_output else show_answer(question, answer, found)


@app.command("status")
def show_status(
    file: Annotated[str | None, typer.Argument(help="Part of a file name, or a document id.")] = None,
    url: Url = None,
    json_output: Json = False,
) -> None:
    """Documents with their state; of one file everything that is known."""
    with _client(url) as client:
        if file and file.startswith("doc_"):
            items = [client.get(f"/documents/{segment(file)}")]
        else:
            items = client.get("/documents", q=file, limit=500)["items"]
    if json_output:
        as_json(items)
        return
    if not items:
        errors.print(f"No document has “{escape(file)}” in its name." if file else "There is no document yet.")
        return
    show_documents(items)
    if file and len(items) == 1:
        for name in ("media_type", "acl", "arrived_at", "indexed_at", "run_ids", "warnings", "counts", "error"):
            if items[0].get(name):
                console.print(f"[bold]{name}[/] {items[0][name]}")


@app.command()
def lineage(
    id: Annotated[str, typer.Argument(help="Of an answer, a document or a chunk, or a table's name.")],
    url: Url = None,
    json_output: Json = False,
) -> None:
    """The way from an answer, document, chunk or table to the bytes."""
    kinds = {"ans_": "answers", "doc_": "documents", "chk_": "chunks"}
    with _client(url) as client:
        found = client.get(f"/lineage/{kinds.get(id[:4], 'tables')}/{segment(id)}")
    as_json(found) if json_output else console.print(lineage_tree(found))


@app.command()
def delete(
    id: Annotated[str, typer.Argument(help="A document's id.")],
    wait: Annotated[float, typer.Option(help="Seconds to wait for the verified erasure.")] = 120,
    url: Url = None,
    json_output: Json = False,
) -> None:
    """Delete a document: gone from answers at once, then erased from every store and verified."""
    with _client(url) as client:
        erasure = client.delete(f"/documents/{segment(id)}")
        deadline = time.monotonic() + wait
        with errors.status("erasing"):
            report = client.get(f"/erasures/{erasure['erasure_id']}")
            while report["status"] == "running" and time.monotonic() < deadline:
                time.sleep(0.3)
                report = client.get(f"/erasures/{erasure['erasure_id']}")
    if json_output:
        as_json(report)
    else:
        table = Table("store", "found", "removed", "left", title=f"erasure {status(report['status'])}")
        for store in report["stores"]:
            table.add_row(store["name"], str(store["found"]), str(store["removed"]), str(store["left"]))
        console.print(table)
        console.print(f"[dim]Kept: {escape(report['kept'])}[/]")
    if report["status"] != "verified":
        raise typer.Exit(1)


app.command()(versions)
app.command()(restore)


@app.command()
def doctor(json_output: Json = False) -> None:
    """What is installed, what runs, what is missing, and what to do."""
    with errors.status("looking"):
        findings = doctor_run.examine(get_settings())
    if json_output:
        as_json(findings)
    else:
        colours = {"ok": "green", "missing": "red", "stopped": "yellow", "warning": "yellow"}
        table = Table("part", "state", "detail", "what to do", header_style="bold")
        for finding in findings:
            state = f"[{colours[finding['state']]}]{finding['state']}[/]"
            table.add_row(finding["part"], state, escape(finding["detail"]), escape(finding["fix"] or ""))
        console.print(table)
    if any(finding["state"] == "missing" for finding in findings):
        raise typer.Exit(1)


@keys_app.command("create")
def create_key(
    name: Annotated[str, typer.Argument(help="The principal that the key stands for.")],
    group: Annotated[list[str] | None, typer.Option(help="A group of it; repeatable.")] = None,
    scope: Annotated[list[str] | None, typer.Option(help="read, write, admin; repeatable.")] = None,
    url: Url = None,
    json_output: Json = False,
) -> None:
    """Create an API key; it is shown this once."""
    body = {"name": name, "groups": group or [], "scopes": scope or ["read", "write"]}
    with _client(url) as client:
        made = client.post("/keys", body)
    as_json(made) if json_output else console.print(f"{made['key_id']}\n[bold]{made['key']}[/]")


@keys_app.command("list")
def list_keys(url: Url = None, json_output: Json = False) -> None:
    """The keys, without their secrets."""
    with _client(url) as client:
        items = client.get("/keys")["items"]
    if json_output:
        as_json(items)
        return
    table = Table("key", "principal", "groups", "scopes", "last used", "revoked", header_style="bold")
    for item in items:
        lists = [", ".join(item["groups"]), ", ".join(item["scopes"])]
        table.add_row(item["key_id"], item["name"], *lists, item["last_used_at"] or "", item["revoked_at"] or "")
    console.print(table)


@keys_app.command("revoke")
def revoke_key(key_id: str, url: Url = None, json_output: Json = False) -> None:
    """Revoke a key at once."""
    with _client(url) as client:
        client.delete(f"/keys/{segment(key_id)}")
    as_json({"key_id": key_id, "revoked": True}) if json_output else console.print(f"{key_id} is revoked.")


def main() -> None:
    """Exit codes: 0 done; 1 it failed, and the error says why; 2 wrong usage; 130 interrupted."""
    try:
        code = app(standalone_mode=False)
    except AsklineError as error:
        code = _failed(error.code, error.message, error.fix, 1)
    except typer.Abort:
        code = 130
    except TyperException as error:  # an option or argument that is missing, unknown or of another kind
        said = getattr(error, "format_message", error.__str__)()
        code = _failed("usage", said, "`askline --help` and `askline COMMAND --help` say what there is.", 2)
    sys.exit(code if isinstance(code, int) else 0)


def _failed(code: str, message: str, fix: str, exit_code: int) -> int:
    """The error as JSON on standard output where --json was given, else in words on standard error."""
    if "--json" in sys.argv:
        as_json({"error": {"code": code, "message": message, "fix": fix}})
    else:
        show_error(code, message, fix)
    return exit_code


if __name__ == "__main__":
    main()
