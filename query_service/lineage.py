"""The way from an answer to the bytes, and back: nodes and edges, each node with an address that resolves.

answer → claim → citation → chunk → version → object
answer → sql → table → version;  version → run (a Dagster run a stage);  mart → run (that published it)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, RowMapping

from foundation.errors import NotFound
from foundation.registry import conversations, documents
from foundation.registry import lineage as registry
from foundation.registry.datasets import sources_of_mart, visible_table
from foundation.registry.table_names import name_in, names_of_version, visible_names
from foundation.types import Principal
from query_service.stored_answers import as_shown


@dataclass(slots=True)
class Lineage:
    """A graph under construction; nodes and edges keep their order and come once."""

    base_url: str
    dagster_url: str | None
    nodes: dict[str, dict[str, Any]] = field(default_factory=dict)
    edges: dict[tuple[str, str, str], None] = field(default_factory=dict)

    def node(self, node_id: str, kind: str, label: str, path: str | None, **more: Any) -> str:
        url = f"{self.base_url}{path}" if path else None
        self.nodes.setdefault(node_id, {"id": node_id, "kind": kind, "label": label, "url": url, **more})
        return node_id

    def edge(self, source: str, target: str, kind: str) -> None:
        self.edges[(source, target, kind)] = None

    def run(self, run_id: str) -> str:
        if run_id not in self.nodes:
            url = f"{self.dagster_url.rstrip('/')}/runs/{run_id}" if self.dagster_url else None
            self.nodes[run_id] = {"id": run_id, "kind": "run", "label": f"Dagster run {run_id[:8]}", "url": url}
        return run_id

    def as_json(self) -> dict[str, Any]:
        return {
            "nodes": list(self.nodes.values()),
            "edges": [{"source": s, "target": t, "kind": kind} for s, t, kind in self.edges],
        }


def of_answer(connection: Connection, principal: Principal, answer_id: str, graph: Lineage) -> dict[str, Any]:
    """From the answer's claims down to the landing bytes and the runs; what was erased is marked so."""
    row = conversations.get_answer(connection, principal, answer_id)
    (body,) = as_shown(connection, [row["body"]])
    root = graph.node(
        answer_id,
        "answer",
        row["question"],
        f"lineage/answers/{answer_id}",
        status=row["status"],
        stale=body["stale"],
    )
    stale = {citation["n"]: citation["stale"] for citation in body["citations"]}
    cited = [citation for citation in conversations.citations_of(connection, answer_id) if citation["n"] in stale]
    chunks = registry.chunks_by_id(connection, [c["chunk_id"] for c in cited])
    for citation in cited:
        name = f"{answer_id}#citation-{citation['n']}"
        graph.node(
            name,
            "citation",
            f"[{citation['n']}] {citation['quote'][:120]}",
            f"documents/{citation['document_id']}/text?version={citation['version_id']}"
            f"&start={citation['start_char']}&end={citation['end_char']}",
            start=citation["start_char"],
            end=citation["end_char"],
            stale=stale[citation["n"]],
        )
        version = _version(connection, principal, graph, citation["document_id"], citation["version_id"])
        chunk = chunks.get(citation["chunk_id"])
        if chunk is not None:
            graph.edge(name, _chunk(graph, chunk), "quotes")
            graph.edge(chunk["chunk_id"], version, "cut from")
        else:
            graph.edge(name, version, "quotes")
    for number, claim in enumerate(body.get("claims", []), start=1):
        name = graph.node(f"{answer_id}#claim-{number}", "claim", claim["text"][:120], None)
        graph.edge(root, name, "states")
        for n in claim["citations"]:
            graph.edge(name, f"{answer_id}#citation-{n}", "cites")
    _sql(connection, principal, graph, root, body, conversations.tables_of(connection, answer_id))
    return graph.as_json()


def _sql(
    connection: Connection,
    principal: Principal,
    graph: Lineage,
    root: str,
    body: dict[str, Any],
    tables: Sequence[RowMapping],
) -> None:
    by_name = {row["table_name"]: row for row in tables}
    for number, entry in enumerate(body.get("sql", []), start=1):
        statement = graph.node(f"{root}#sql-{number}", "sql", entry["statement"], None, engine=entry["engine"])
        graph.edge(root, statement, "ran")
        for name in entry["tables"]:
            row = by_name.get(name)
            if row is None:
                continue
            table = graph.node(row["dataset_id"], "table", name, f"tables/{name}")
            graph.edge(statement, table, "reads")
            if row["run_id"]:
                graph.edge(table, graph.run(row["run_id"]), "published by")
            sources = [row] if row["version_id"] else sources_of_mart(connection, row["dataset_id"], principal)
            for source in sources:
                if source["dataset_id"] != table:
                    graph.edge(table, _source(graph, source["dataset_id"], source["table_name"]), "built from")
                if source["document_id"]:
                    version = _version(connection, principal, graph, source["document_id"], source["version_id"])
                    graph.edge(source["dataset_id"], version, "parsed from")


def of_document(connection: Connection, principal: Principal, document_id: str, graph: Lineage) -> dict[str, Any]:
    """Upstream to the bytes and the runs, downstream to chunks, tables and the principal's own answers."""
    row = documents.get_document(connection, principal, document_id)
    visible = visible_names(connection, principal)
    root = graph.node(document_id, "document", row["file_name"], f"documents/{document_id}", status=row["status"])
    for version in documents.list_versions(connection, document_id):
        node = _version(connection, principal, graph, document_id, version["version_id"])
        graph.edge(root, node, "active version" if version["version_id"] == row["active_version"] else "version")
        for dataset_id, stored in names_of_version(connection, document_id, version["version_id"]).items():
            name = name_in(visible, dataset_id, document_id)
            graph.node(dataset_id, "table", name or stored, f"tables/{name}" if name else None)
            graph.edge(dataset_id, node, "parsed from")
    for answer in registry.answers_using(connection, document_id, principal.name):
        graph.node(
            answer["answer_id"],
            "answer",
            answer["question"],
            f"lineage/answers/{answer['answer_id']}",
            stale=answer["version_id"] != row["active_version"],
        )
        if answer["version_id"] in graph.nodes:
            graph.edge(answer["answer_id"], answer["version_id"], "used")
    return graph.as_json()


def of_chunk(connection: Connection, principal: Principal, chunk_id: str, graph: Lineage) -> dict[str, Any]:
    """From the chunk to its version, object and runs. NotFound unless a visible document answers from it."""
    chunk = registry.chunks_by_id(connection, [chunk_id]).get(chunk_id)
    found = documents.cited_documents(connection, principal, [chunk["version_id"]]) if chunk else {}
    if chunk is None or chunk["version_id"] not in found:
        raise NotFound(
            f"There is no chunk {chunk_id}.", fix="GET /documents/{id}/chunks lists the chunks of a document."
        )
    _chunk(graph, chunk)
    document = found[chunk["version_id"]]
    version = _version(connection, principal, graph, document["document_id"], chunk["version_id"])
    graph.edge(chunk_id, version, "cut from")
    return graph.as_json()


def of_table(connection: Connection, principal: Principal, name: str, graph: Lineage) -> dict[str, Any]:
    """From the table (a mart: from its source tables) to versions, objects and runs."""
    table = visible_table(connection, principal, name)
    graph.node(table.dataset_id, "table", name, f"tables/{name}", rows=table.row_count, mart=table.kind == "mart")
    if table.document_id and table.version_id:
        version = _version(connection, principal, graph, table.document_id, table.version_id)
        graph.edge(table.dataset_id, version, "parsed from")
    if table.run_id:
        graph.edge(table.dataset_id, graph.run(table.run_id), "published by")
    for source in sources_of_mart(connection, table.dataset_id, principal) if table.kind == "mart" else []:
        graph.edge(table.dataset_id, _source(graph, source["dataset_id"], source["table_name"]), "built from")
        if source["document_id"]:
            version = _version(connection, principal, graph, source["document_id"], source["version_id"])
            graph.edge(source["dataset_id"], version, "parsed from")
    return graph.as_json()


def _source(graph: Lineage, dataset_id: str, name: str | None) -> str:
    """The upload that a mart was built from; without a name where no visible document holds it any more."""
    return graph.node(dataset_id, "table", name or "not visible any more", f"tables/{name}" if name else None)


def _chunk(graph: Lineage, chunk: RowMapping) -> str:
    return graph.node(
        chunk["chunk_id"],
        "chunk",
        f"characters {chunk['start_char']}-{chunk['end_char']}",
        f"lineage/chunks/{chunk['chunk_id']}",
        page=chunk["page"],
        parser=chunk["parser"],
        chunker=chunk["chunker"],
    )


def _version(connection: Connection, principal: Principal, graph: Lineage, document_id: str, version_id: str) -> str:
    """The version with its landing object and the runs of its stages; only a name where it is not to be seen now."""
    if version_id in graph.nodes:
        return version_id
    try:
        row = documents.version_of(connection, principal, document_id, version_id)
    except NotFound:
        return graph.node(version_id, "version", "erased or not visible any more", None, sha256=version_id)
    graph.node(
        version_id,
        "version",
        f"{row['file_name']} (version {row['number']})",
        f"documents/{document_id}/versions",
        sha256=version_id,
        document_id=document_id,
        active=row["active_version"] == version_id,
    )
    stored = graph.node(
        row["object_version"],
        "object",
        row["landing_key"],
        f"documents/{document_id}/content?version={version_id}",
        sha256=version_id,
        bytes=row["size_bytes"],
    )
    graph.edge(version_id, stored, "bytes of")
    for stage in registry.stages_of_version(connection, document_id, version_id):
        run = graph.run(stage["run_id"])
        graph.edge(version_id, run, stage["stage"])
        graph.nodes[version_id].setdefault("stages", {})[stage["stage"]] = {
            "run_id": stage["run_id"],
            "code_version": stage["code_version"],
            "finished_at": stage["finished_at"],
        }
    return version_id
