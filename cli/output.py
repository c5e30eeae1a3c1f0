"""How answers, documents and lineage look on a terminal."""

from __future__ import annotations

import json
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group
from rich.markdown import Markdown
from rich.markup import escape
from rich.panel import Panel
from rich.syntax import Syntax
from rich.table import Table
from rich.tree import Tree

console = Console()
errors = Console(stderr=True)

_COLOURS = {
    "answered": "green", "indexed": "green", "verified": "green", "partial": "yellow", "processing": "yellow",
    "uploaded": "yellow", "running": "yellow", "no_evidence": "magenta", "refused": "red", "failed": "red",
    "rejected": "red", "deleted": "dim",
}  # fmt: skip
_ROWS = 10


def status(name: str) -> str:
    return f"[{_COLOURS.get(name, 'cyan')}]{name}[/]"


def as_json(value: Any) -> None:
    """On standard output, alone: progress and remarks go to standard error."""
    console.print_json(json.dumps(value, default=str))


def show_answer(question: str, answer: dict[str, Any], lineage: dict[str, Any] | None = None) -> None:
    """The text, its numbered citations with file, page and quote, its SQL with rows, and the way to the bytes."""
    parts: list[Any] = [Markdown(answer["text"])]
    for citation in answer["citations"]:
        page = f", page {citation['page']}" if citation["page"] else ""
        quote = " ".join(citation["quote"].split())
        shown = quote if len(quote) <= 300 else quote[:300] + " …"
        parts.append(f"[cyan][{citation['n']}][/] [bold]{escape(citation['file_name'])}[/]{page}: “{escape(shown)}”")
    for entry in answer["sql"]:
        parts.append(Syntax(entry["statement"], "sql", word_wrap=True, background_color="default"))
        parts.append(rows_table(entry["columns"], entry["rows"]))
    routes = ", ".join(f"{route['name']} ({route['state']}, {route['ms']} ms)" for route in answer["routes"])
    parts.append(f"[dim]route: {escape(routes) or '-'} · status: {answer['status']} · {answer['answer_id']}[/]")
    if lineage is not None:
        parts.append(lineage_line(lineage))
    console.print(Panel(Group(*parts), title=f"[bold]{escape(question)}[/]", border_style="blue"))


def rows_table(columns: list[str], rows: list[list[Any]]) -> Table:
    table = Table(*[escape(column) for column in columns], header_style="bold")
    for row in rows[:_ROWS]:
        table.add_row(*[escape("" if value is None else str(value)) for value in row])
    if len(rows) > _ROWS:
        table.caption = f"{len(rows)} rows, the first {_ROWS} shown"
    return table


def lineage_line(lineage: dict[str, Any]) -> str:
    """One way from the answer to the bytes, in a line; `askline lineage ID` shows all of them."""
    nodes = {node["id"]: node for node in lineage["nodes"]}
    order = ["answer", "claim", "citation", "sql", "table", "chunk", "version", "object", "run"]
    below: dict[str, list[str]] = {}
    for edge in lineage["edges"]:
        below.setdefault(edge["source"], []).append(edge["target"])
    here, parts, seen = lineage["nodes"][0]["id"], [], set()
    while here and here not in seen:
        seen.add(here)
        node = nodes[here]
        detail = {"version": f"sha256 {str(node.get('sha256'))[:12]}…", "object": node["label"], "table": node["label"]}
        parts.append(f"[cyan]{node['kind']}[/] {escape(str(detail.get(node['kind'], '')))}".strip())
        runs = [t for t in below.get(here, []) if nodes[t]["kind"] == "run"]
        onward = [t for t in below.get(here, []) if nodes[t]["kind"] != "run"]
        if runs:
            parts.append(f"[cyan]run[/] {runs[-1][:8]}")
        here = min(onward, key=lambda t: order.index(nodes[t]["kind"])) if onward else ""
    return f"[dim]lineage:[/] {' → '.join(parts)}"


def lineage_tree(lineage: dict[str, Any]) -> Tree:
    """The graph as a tree from its first node; what was shown before is not opened again."""
    nodes = {node["id"]: node for node in lineage["nodes"]}
    below: dict[str, list[tuple[str, str]]] = {}
    for edge in lineage["edges"]:
        below.setdefault(edge["source"], []).append((edge["kind"], edge["target"]))
    first = lineage["nodes"][0]
    tree = Tree(f"[bold]lineage[/] {escape(first['label'])}", guide_style="dim")
    seen: set[str] = {first["id"]}

    def grow(branch: Tree, node_id: str) -> None:
        merged: dict[str, list[str]] = {}
        for kind, target in below.get(node_id, []):
            merged.setdefault(target, []).append(kind)
        for target, kinds in merged.items():
            node = nodes[target]
            sha = f" [dim]sha256 {node['sha256'][:16]}…[/]" if node.get("sha256") else ""
            label = f"[dim]{', '.join(kinds)}[/] [cyan]{node['kind']}[/] {escape(str(node['label']))}{sha}"
            added = branch.add(label)
            if target not in seen:
                seen.add(target)
                grow(added, target)

    grow(tree, first["id"])
    return tree


def show_documents(items: list[dict[str, Any]]) -> None:
    table = Table("file", header_style="bold", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.columns[0].overflow = "fold"
    for name in ("status", "ver", "chunks", "tables", "document id"):  # the id whole: other commands take it
        table.add_column(name, no_wrap=True)
    failed = []
    for item in items:
        counts = item.get("counts", {})
        table.add_row(
            escape(item["file_name"]),
            status(item["status"]),
            str(item.get("version_number") or ""),
            str(counts.get("chunks", "")),
            str(counts.get("tables", "") or ""),
            item.get("document_id", ""),
        )
        if item.get("error"):
            failed.append(item)
    console.print(table)
    for item in failed:
        error = item["error"]
        said = error.get("message") or error.get("detail", "")
        console.print(f"[red]{error['code']}[/]: {escape(said)}\n[dim]{escape(error['fix'])}[/]")


def show_error(code: str, message: str, fix: str) -> None:
    errors.print(f"[red]{code}[/]: {escape(message)}\n[dim]{escape(fix)}[/]")
