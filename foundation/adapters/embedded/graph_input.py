"""What GraphStore.write_versions refuses, and how it adds rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, Table, text

from foundation.lexicon import normalise
from foundation.registry.tables import edges, mentions, node_aliases, node_keys, nodes
from foundation.types import VersionGraph


def check_version(graph: VersionGraph) -> None:
    """ValueError unless every mention is of this version and of something given, and everything given is held up."""
    version_id, nodes, edges, mentions = graph.version_id, graph.nodes, graph.edges, graph.mentions
    for mention in mentions:
        if mention.version_id != version_id:
            raise ValueError(f"A mention belongs to version {mention.version_id}, not to {version_id}.")
        if (mention.node_id is None) == (mention.edge_id is None):
            raise ValueError(f"The mention of {mention.surface!r} needs exactly one of node_id and edge_id.")
        if not 0 <= mention.start < mention.end:
            raise ValueError(f"The mention of {mention.surface!r} has no span: {mention.start} to {mention.end}.")
    node_ids = {node.node_id for node in nodes}
    edge_ids = {edge.edge_id for edge in edges}
    held_nodes = {m.node_id for m in mentions if m.node_id is not None}
    held_edges = {m.edge_id for m in mentions if m.edge_id is not None}
    ends = {end for edge in edges for end in (edge.source_id, edge.target_id)}
    for problem, ids in (
        ("has no mention", edge_ids - held_edges),
        ("has no mention and ends no edge", node_ids - held_nodes - ends),
        ("is mentioned but not given", (held_nodes - node_ids) | (held_edges - edge_ids)),
        ("ends an edge but is not given", ends - node_ids),
    ):
        if ids:
            raise ValueError(f"{min(ids)} {problem}.")


def add(connection: Connection, graphs: Sequence[VersionGraph]) -> None:
    """Add what is not there yet. Rows go in sorted, so that two writers never wait for each other."""
    found = {n.node_id: n for graph in reversed(graphs) for n in graph.nodes}
    insert_rows(connection, nodes, ((n.node_id, n.type, n.name, n.external_id) for _, n in sorted(found.items())))
    ties = {e.edge_id: e for graph in graphs for e in graph.edges}
    insert_rows(connection, edges, ((e.edge_id, e.source_id, e.target_id, e.type) for _, e in sorted(ties.items())))
    aliases = {
        (node.node_id, normalise(name) or name.casefold(), graph.version_id): name
        for graph in graphs
        for node in graph.nodes
        for name in (*reversed(node.aliases), node.name)
    }
    insert_rows(connection, node_aliases, ((*key, surface) for key, surface in sorted(aliases.items())))
    insert_rows(
        connection,
        mentions,
        (
            (m.node_id, m.edge_id, m.chunk_id, m.version_id, m.start, m.end, m.surface, m.method)
            for graph in graphs
            for m in graph.mentions
        ),
    )
    weigh(connection, ties)


def weigh(connection: Connection, edge_ids: Iterable[str]) -> None:
    """Count the mentions of these edges anew.

    Rows are locked in order, so that two writers wait in one direction, and not against the key, which the mentions
    that another writer has already added hold; the count is a statement of its own, so that it sees what that writer
    has committed in the meantime.
    """
    touched = {"edges": sorted(edge_ids)}
    connection.execute(
        text("select from askline.edges where edge_id = any(:edges) order by edge_id for no key update"), touched
    )
    connection.execute(
        text("""
            update askline.edges e set weight = counted.weight
            from (
                select held.edge_id, (select count(*) from askline.mentions m where m.edge_id = held.edge_id) as weight
                from askline.edges held where held.edge_id = any(:edges)
            ) counted
            where counted.edge_id = e.edge_id and counted.weight <> e.weight
        """),
        touched,
    )


_COLUMNS = {
    nodes: ("node_id text", "type text", "name text", "external_id text"),
    edges: ("edge_id text", "source_id text", "target_id text", "type text"),
    node_keys: ("key text", "node_id text"),
    node_aliases: ("node_id text", "alias text", "version_id text", "surface text"),
    mentions: (
        *("node_id text", "edge_id text", "chunk_id text", "version_id text"),
        *("start_char int", "end_char int", "surface text", "method text"),
    ),
}


def insert_rows(connection: Connection, table: Table, rows: Iterable[tuple[Any, ...]]) -> None:
    """One statement with a JSON array a column: a parameter a cell takes ten times as long, and arrays of Postgres,
    which psycopg writes in Python, three times."""
    columns = [column.split() for column in _COLUMNS[table]]
    values = list(zip(*rows, strict=True))
    if not values:
        return
    names = ", ".join(name for name, _ in columns)
    cast = ", ".join(f"cast({name} as {kind})" for name, kind in columns)
    given = ", ".join(f"json_array_elements_text(cast(:{name} as json))" for name, _ in columns)
    connection.execute(
        text(
            f"insert into {table.fullname} ({names}) select {cast} from rows from ({given}) as given({names})"
            " on conflict do nothing"
        ),
        {name: json.dumps(column) for (name, _), column in zip(columns, values, strict=True)},
    )
