"""The moment in which a version begins to answer: registry and Postgres views change in one transaction."""

from __future__ import annotations

from collections.abc import Sequence

from foundation.publication import show_tables
from foundation.registry import claims
from foundation.registry.database import transaction
from foundation.registry.documents import active_access
from foundation.registry.stages import forget_stage
from foundation.stores import Stores
from foundation.types import ClaimedVersion, Stage


def activate(stores: Stores, run_id: str, versions: Sequence[ClaimedVersion], required: Sequence[Stage]) -> int:
    """Make those of the versions the active ones that are complete; returns how many were. Safe after any stage."""
    if not versions:
        return 0
    retired = []
    activated = 0
    with transaction(stores.engine) as connection:
        # In one order, so that two runs cannot wait for each other's documents.
        for version in sorted(versions, key=lambda v: v.document_id):
            replaced = claims.activate_if_complete(connection, run_id, version, required)
            if replaced is None:
                continue
            activated += 1
            show_tables(connection, stores.relational, version.version_id, replaced or None)
            if replaced and replaced != version.version_id:
                retired.append(replaced)
    for version_id in retired:
        _retire(stores, version_id)
    return activated


def _retire(stores: Stores, version_id: str) -> None:
    """A replaced version leaves the index; its bytes and artefacts stay for the history.

    Nothing is wrong if this is interrupted: what is left is not active and therefore not shown.
    """
    with transaction(stores.engine) as connection:
        acl, document_ids, _ = active_access(connection, version_id)
    if document_ids:  # another document with the same bytes still answers from it
        stores.search.update_access(version_id, acl, document_ids)
        return
    with transaction(stores.engine) as connection:
        forget_stage(connection, version_id, Stage.SEARCH_INDEX)  # so that it is indexed anew if it comes back
    stores.search.delete_versions([version_id])
