"""The moment in which a version begins to answer: registry and Postgres views change in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from sqlalchemy import Connection

from foundation.errors import AsklineError
from foundation.publication import show_tables
from foundation.registry import claims
from foundation.registry.activation import activate_complete
from foundation.registry.database import transaction
from foundation.registry.documents import active_access
from foundation.registry.stages import complete_among, forget_stage, replaced_in_index
from foundation.registry.table_names import answering_documents
from foundation.registry.version_keys import key_of
from foundation.stores import Stores
from foundation.types import ClaimedVersion, Stage
from pipelines.code_versions import is_table
from pipelines.datasets import name_tables
from pipelines.members import beyond_limits, holds_members, land_members, settle_members
from pipelines.next_run import wanted_for
from pipelines.read_back import not_read_back


def activate(stores: Stores, run_id: str, versions: Sequence[ClaimedVersion], required: Sequence[Stage]) -> int:
    """Make those of the versions the active ones that are complete; returns how many were. Safe after any stage."""
    whole = _read_back(stores, run_id, versions, required)
    if not whole:
        return 0
    landed = {
        v.document_id: land_members(stores, v.document_id, v.version_id, v.file_name) for v in whole if holds_members(v)
    }
    activated = 0
    for group in _one_of_each_document(whole):
        days: set[date] = set()
        with transaction(stores.engine) as connection:
            replaced_by = activate_complete(connection, run_id, group, required)
            for version in group:
                replaced = replaced_by.get(key_of(version))
                if replaced is None:
                    continue
                activated += 1
                if replaced or is_table(version):
                    name_tables(connection, version.document_id, version.file_name, version.version_id)
                    show_tables(connection, stores.relational, version.version_id, replaced or None)
                if version.document_id in landed:
                    days |= settle_members(connection, stores, version.document_id, landed[version.document_id])
        wanted_for(days)
    with transaction(stores.engine) as connection:
        # Not only what was replaced now: a version that is overtaken ends after the one that answers, and a process
        # that was killed here has left one.
        retired = replaced_in_index(connection, {version.document_id for version in whole})
    for version_id in retired:
        _retire(stores, version_id)
    return activated


def _one_of_each_document(versions: Sequence[ClaimedVersion]) -> list[list[ClaimedVersion]]:
    """In their order: of two versions of one document the second replaces the first. Each group in one order, so that
    two runs cannot wait for each other's documents."""
    groups: list[dict[str, ClaimedVersion]] = []
    for version in versions:
        free = next((group for group in groups if version.document_id not in group), None)
        if free is None:
            groups.append(free := {})
        free[version.document_id] = version
    return [[group[document_id] for document_id in sorted(group)] for group in groups]


def _read_back(
    stores: Stores, run_id: str, versions: Sequence[ClaimedVersion], required: Sequence[Stage]
) -> list[ClaimedVersion]:
    """Those that are complete and that every store gives back; the others fail, and their stage is done again."""
    if not versions:
        return []
    with transaction(stores.engine) as connection:
        found = complete_among(connection, run_id, versions, required)
    complete = [version for version in versions if key_of(version) in found]
    unread = not_read_back(stores, {v: found[key_of(v)] for v in complete})
    whole = []
    for version in complete:
        lost = unread.get(version) or _too_much_inside(stores, version)
        if lost is None:
            whole.append(version)
            continue
        stage, error = lost
        with transaction(stores.engine) as connection:
            forget_stage(connection, version.version_id, stage)
            claims.fail(connection, run_id, version, stage, error)
    return whole


def _too_much_inside(stores: Stores, version: ClaimedVersion) -> tuple[Stage, AsklineError] | None:
    if not holds_members(version):
        return None
    with transaction(stores.engine) as connection:
        error = beyond_limits(connection, stores, version)
    return None if error is None else (Stage.PARSED_TEXT, error)


def show_again(stores: Stores, connection: Connection, version_id: str) -> None:
    """The tables of a content that answers already have been made anew, and may be other ones than before."""
    answering = answering_documents(connection, version_id)
    for document_id, file_name in answering:
        name_tables(connection, document_id, file_name, version_id)
    if answering:
        show_tables(connection, stores.relational, version_id, None)


def _retire(stores: Stores, version_id: str) -> None:
    """A replaced version leaves the index; its bytes and artefacts stay for the history.

    Nothing is wrong if this is interrupted: what is left is not active and therefore not shown.
    """
    with transaction(stores.engine) as connection:
        # Nobody claims these bytes meanwhile, and finds them indexed just before they go. Whoever had them in work
        # until now has made them answer, which is why the look at what answers comes after this one.
        claims.hold_claims(connection)
        if claims.in_work(connection, version_id):
            return
        access = active_access(connection, [version_id])[version_id]
        if access.document_ids:  # another document with the same bytes still answers from it
            stores.search.update_access(version_id, *access)
        else:
            forget_stage(connection, version_id, Stage.SEARCH_INDEX)  # so that it is indexed anew if it comes back
            stores.search.delete_versions([version_id])
