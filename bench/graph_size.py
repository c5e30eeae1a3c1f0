"""The two-hop neighbourhood in a graph of 1,000,000 edges, for a reader of half its documents.

python -m bench.graph_size [EDGES]

Bar: p95 ≤ 10 ms over 300 nodes by chance. `bare` is the same walk without access, evidence, order, names or aliases.
Preferential attachment makes hubs, as diseases are; the second row starts at the hundred largest.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from statistics import quantiles

from sqlalchemy import Connection, Engine, func, insert, select, text

from bench.common import Results, figure, postgres_of_ones_own
from foundation import ids
from foundation.adapters.embedded.graph import PostgresGraph
from foundation.adapters.embedded.graph_input import add
from foundation.registry.database import create_registry_engine, migrate
from foundation.registry.tables import documents, edges
from foundation.types import Edge, Mention, Node, Principal, VersionGraph

COMMAND = "python -m bench.graph_size"
EDGES = 1_000_000
_EDGES_A_NODE, _EDGES_A_DOCUMENT, _CHUNKS, _TOGETHER = 5, 2_000, 20, 25
_READER = Principal("reader")
_TWO_HOPS = """
    with near as (
        select source_id, target_id from askline.edges where source_id = :id
        union select source_id, target_id from askline.edges where target_id = :id
    ), ends as (select source_id as id from near union select target_id from near)
    select e.* from ends join askline.edges e on e.source_id = ends.id
    union select e.* from ends join askline.edges e on e.target_id = ends.id
    limit 500
"""


def run(count: int = EDGES) -> Results:
    with ExitStack() as stack:
        url, _ = stack.enter_context(postgres_of_ones_own())
        engine = create_registry_engine(url)
        stack.callback(engine.dispose)
        migrate(engine)
        graph = PostgresGraph(engine)
        starts, hubs = _fill(engine, count)
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            assert connection.scalar(select(func.count()).select_from(edges)) == count
            connection.execute(text("vacuum analyze"))
        graph.neighbourhood(_READER, starts[:1], hops=2)
        ours, of_hubs = (
            _milliseconds(lambda node_id: graph.neighbourhood(_READER, [node_id], hops=2), chosen)
            for chosen in (starts, hubs)
        )
        with engine.connect() as connection:
            bare = _milliseconds(lambda node_id: connection.execute(text(_TWO_HOPS), {"id": node_id}).all(), starts)
    p95, p95_hubs, p95_bare = (quantiles(times, n=20)[-1] for times in (ours, of_hubs, bare))
    print(f"p50 {quantiles(ours, n=2)[0]:.1f} ms, of hubs {quantiles(of_hubs, n=2)[0]:.1f} ms")
    return {
        f"two-hop neighbourhood, {count:,} edges, p95": figure(
            p95, "ms", COMMAND, bare=p95_bare, ratio=p95_bare / p95
        ),
        f"two-hop neighbourhood of a hub, {count:,} edges, p95": figure(p95_hubs, "ms", COMMAND),
    }  # fmt: skip


def _milliseconds(work: Callable[[str], object], node_ids: Sequence[str]) -> list[float]:
    times = []
    for node_id in node_ids:
        started = time.perf_counter()
        work(node_id)
        times.append(1000 * (time.perf_counter() - started))
    return times


def _fill(engine: Engine, count: int) -> tuple[list[str], list[str]]:
    """Half the documents are the reader's. Returns 300 nodes by chance that he sees, and the 100 with most edges."""
    draw = random.Random(1)
    nodes = [Node(ids.node_id("disease", f"node {n}"), "disease", f"node {n}") for n in range(count // _EDGES_A_NODE)]
    ends = list(range(len(nodes)))
    made: dict[tuple[int, int], None] = {}
    while len(made) < count:
        one, other = draw.choice(ends), draw.choice(ends)
        if one != other and (one, other) not in made:
            made[one, other] = None
            ends += [one, other]
    pairs = list(made)
    seen: Counter[int] = Counter()
    with engine.begin() as connection:
        # What is made here is whole: a million edges' five million look-ups of foreign keys measure nothing.
        connection.execute(text("set local session_replication_role = replica"))
        for first in range(0, count // _EDGES_A_DOCUMENT, _TOGETHER):
            graphs = []
            for number in range(first, min(first + _TOGETHER, count // _EDGES_A_DOCUMENT)):
                own = pairs[number * _EDGES_A_DOCUMENT : (number + 1) * _EDGES_A_DOCUMENT]
                graphs.append(_document(connection, f"v{number}", own, nodes, mine=number % 2 == 1))
                if number % 2:
                    seen.update(end for pair in own for end in pair)
            add(connection, graphs)
    chosen = random.Random(2).sample(sorted(seen), 300)
    return [nodes[n].node_id for n in chosen], [nodes[n].node_id for n, _ in seen.most_common(100)]


def _document(
    connection: Connection, version: str, pairs: Sequence[tuple[int, int]], nodes: Sequence[Node], *, mine: bool
) -> VersionGraph:
    row = {"file_name": "f", "media_type": "text/plain", "domain": "d", "owner": "o", "landing_key": version}
    acl = ["user:reader"] if mine else ["user:other"]
    connection.execute(insert(documents).values(document_id=version, active_version=version, acl=acl, **row))
    ties = []
    for one, other in pairs:
        source, target = nodes[one].node_id, nodes[other].node_id
        ties.append(Edge(ids.edge_id(source, "causes", target), source, target, "causes"))
    mentions = [
        Mention(f"{version}-{n % _CHUNKS}", version, n, n + 5, "found", "pattern", edge_id=tie.edge_id)
        for n, tie in enumerate(ties)
    ]
    used = dict.fromkeys(end for pair in pairs for end in pair)
    return VersionGraph(version, [nodes[n] for n in used], ties, mentions)


if __name__ == "__main__":
    print(json.dumps(run(int(sys.argv[1]) if sys.argv[1:] else EDGES), indent=1))
