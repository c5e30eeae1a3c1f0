"""The last look before a version counts as indexed: what its stages recorded must come out of the stores again.

A stage looks at what it has written; this finds what was lost since, or what a stage of earlier left undone because
the bytes were known.
"""

from __future__ import annotations

from typing import Any

from foundation.errors import StageFailed
from foundation.registry.artefacts import chunks_of
from foundation.registry.database import transaction
from foundation.registry.datasets import datasets_of
from foundation.stores import Stores
from foundation.types import ClaimedVersion, Stage


def not_read_back(
    stores: Stores, version: ClaimedVersion, counts: dict[Stage, dict[str, Any]]
) -> tuple[Stage, StageFailed] | None:
    """The stage whose work cannot be read back, and what the version fails with; None when everything is there.

    `counts`: what each stage recorded.
    """
    name, version_id = version.file_name, version.version_id
    with transaction(stores.engine) as connection:
        chunks, tables = len(chunks_of(connection, version_id)), datasets_of(connection, version_id)
    wanted, found = counts[Stage.CHUNKS]["chunks"], stores.search.count(version_id)
    if chunks != wanted:
        return Stage.CHUNKS, StageFailed(f"{name}: {chunks} of {wanted} chunks are in the registry.")
    if found != wanted:
        message = f"{name}: {found} of {wanted} chunks can be read back from the index."
        return Stage.SEARCH_INDEX, StageFailed(message)
    if len(tables) != counts[Stage.STRUCTURED_TABLES].get("tables", 0):
        return Stage.STRUCTURED_TABLES, StageFailed(f"{name}: {len(tables)} of its tables are in the catalog.")
    for row in tables:
        copied = stores.relational.row_count(row["postgres_table"])
        if copied != row["row_count"]:
            message = f"{name}: {copied} of {row['row_count']} rows of {row['label']} can be read back from Postgres."
            return Stage.POSTGRES_COPIES, StageFailed(message)
    evidence = counts[Stage.GRAPH_EDGES].get("mentions", 0)
    held = stores.graph.counts(version_id)["mentions"] if evidence else 0
    if held != evidence:
        message = f"{name}: {held} of {evidence} mentions can be read back from the graph."
        return Stage.GRAPH_EDGES, StageFailed(message)
    return None
