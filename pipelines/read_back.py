"""The last look before a version counts as indexed: what its stages recorded must come out of the stores again.

A stage looks at what it has written; this finds what was lost since, or what a stage of earlier left undone because
the bytes were known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import RowMapping

from foundation.errors import StageFailed
from foundation.registry.database import transaction
from foundation.registry.datasets import datasets_of
from foundation.registry.quality import held_of
from foundation.stores import Stores
from foundation.types import ClaimedVersion, Stage

Recorded = Mapping[Stage, Mapping[str, Any]]
"""What each stage recorded of a version."""


def not_read_back(
    stores: Stores, versions: Mapping[ClaimedVersion, Recorded]
) -> dict[ClaimedVersion, tuple[Stage, StageFailed]]:
    """The versions of which something cannot be read back: the stage whose work it is, and what they fail with."""
    if not versions:
        return {}
    with transaction(stores.engine) as connection:
        held = held_of(connection, [version.version_id for version in versions])
        tables = {
            version: datasets_of(connection, version.version_id)
            for version, counts in versions.items()
            if counts[Stage.STRUCTURED_TABLES].get("tables", 0)
        }
    lost = {
        version: _lost(stores, version, counts, held[version.version_id], tables.get(version, []))
        for version, counts in versions.items()
    }
    return {version: what for version, what in lost.items() if what is not None}


def _lost(
    stores: Stores, version: ClaimedVersion, counts: Recorded, held: tuple[int, int], tables: Sequence[RowMapping]
) -> tuple[Stage, StageFailed] | None:
    name, version_id, (chunks, mentions) = version.file_name, version.version_id, held
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
    if mentions != evidence:
        message = f"{name}: {mentions} of {evidence} mentions can be read back from the graph."
        return Stage.GRAPH_EDGES, StageFailed(message)
    return None
