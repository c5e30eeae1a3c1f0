"""The knowledge graph on the command line: entities, and what was decided about those that may be one thing."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from cli.client import connect, segment
from cli.output import as_json, console
from foundation.settings import get_settings

app = typer.Typer(no_args_is_help=True, help="The knowledge graph: entities, and which of them are one thing.")

Json = Annotated[bool, typer.Option("--json", help="Machine-readable output.")]
Url = Annotated[str | None, typer.Option("--url", help="Address of the query service.")]
Left = Annotated[str, typer.Argument(help="An entity's id.")]
Right = Annotated[str, typer.Argument(help="Another entity's id.")]
Reason = Annotated[str, typer.Option(help="Why; it is shown with the decision.")]


@app.command()
def entities(
    name: Annotated[str | None, typer.Argument(help="A name, or the beginning of a word of one.")] = None,
    type: Annotated[str | None, typer.Option(help="Only entities of this type.")] = None,
    limit: Annotated[int, typer.Option(help="How many.")] = 50,
    url: Url = None,
    json_output: Json = False,
) -> None:
    """Entities by name; without one the most mentioned."""
    with connect(get_settings(), url) as client:
        items = client.get("/graph/entities", **_given(q=name, type=type, limit=limit))["items"]
    if json_output:
        as_json(items)
        return
    table = Table("entity", "type", "name", "also called", "one with", header_style="bold")
    for item in items:
        others = "\n".join(item["same_as"])
        table.add_row(item["node_id"], item["type"], escape(item["name"]), escape(", ".join(item["aliases"])), others)
    console.print(table)


@app.command()
def merges(
    name: Annotated[str | None, typer.Argument(help="Part of a name of either entity.")] = None,
    same: Annotated[bool | None, typer.Option("--merged/--refused", help="Only merges, or only refusals.")] = None,
    limit: Annotated[int, typer.Option(help="How many.")] = 100,
    url: Url = None,
    json_output: Json = False,
) -> None:
    """Each merge and each refusal to merge, with its rule and its reason; newest first."""
    with connect(get_settings(), url) as client:
        items = client.get("/graph/merges", **_given(q=name, same=same, limit=limit))["items"]
    if json_output:
        as_json(items)
        return
    table = Table("entities", "", "rule", "reason", header_style="bold")
    for item in items:
        ends = [
            f"{escape(end['name'])} [dim]({end['type']}) {end['node_id']}[/]" for end in (item["left"], item["right"])
        ]
        by = f" [dim]by {escape(item['pinned_by'])}[/]" if item["pinned_by"] else ""
        verdict = "[green]one[/]" if item["same"] else "[yellow]two[/]"
        table.add_row("\n".join(ends), verdict, item["rule"] + by, escape(item["reason"]))
    console.print(table)


@app.command()
def forbid(
    left: Left, right: Right, reason: Reason = "Undone by hand.", url: Url = None, json_output: Json = False
) -> None:
    """Undo a merge for good: two entities are two, whatever the rules find."""
    _pin(left, right, False, reason, url, json_output)


@app.command()
def merge(
    left: Left, right: Right, reason: Reason = "Merged by hand.", url: Url = None, json_output: Json = False
) -> None:
    """Merge two entities for good, whatever the rules find."""
    _pin(left, right, True, reason, url, json_output)


@app.command()
def unpin(left: Left, right: Right, url: Url = None, json_output: Json = False) -> None:
    """Take back what forbid or merge said: the rules decide again."""
    with connect(get_settings(), url) as client:
        client.delete(f"/graph/merges/{segment(left)}/{segment(right)}")
    as_json({"left_id": left, "right_id": right, "pinned": False}) if json_output else console.print(
        "The rules decide."
    )


def _pin(left: str, right: str, same: bool, reason: str, url: str | None, json_output: bool) -> None:
    with connect(get_settings(), url) as client:
        made = client.post("/graph/merges", {"left_id": left, "right_id": right, "same": same, "reason": reason})
    as_json(made) if json_output else console.print("They are one." if same else "They are two.")


def _given(**parameters: Any) -> dict[str, Any]:
    return {name: value for name, value in parameters.items() if value is not None}
