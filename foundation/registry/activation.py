"""The moment in which versions begin to answer, and with it their intervals and what their cards say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, func, insert, select, update

from foundation.registry.cards import take_cards
from foundation.registry.stages import complete_among
from foundation.registry.tables import active_intervals, document_versions, documents
from foundation.registry.version_keys import Key, key_of, keys_of, same_version, table_of
from foundation.types import ClaimedVersion, Stage, Status


def activate_complete(
    connection: Connection, run_id: str, versions: Sequence[ClaimedVersion], required: Sequence[Stage]
) -> dict[Key, str]:
    """Make those of the versions, at most one of a document, the active ones that have all required stages recorded.

    Returns the version that each replaced ('' if none), without those that are not complete, not held by this run,
    overtaken by a later version, or whose document was deleted. The documents' rows are locked in one order, so an
    activation and a deletion follow each other.
    """
    keys = keys_of(versions)
    locked = connection.execute(
        select(documents.c.document_id, documents.c.active_version)
        .where(documents.c.document_id == keys.c.document_id, documents.c.deleted_at.is_(None))
        .order_by(documents.c.document_id)
        .with_for_update(of=documents)
    )
    before: dict[str, str | None] = {row.document_id: row.active_version for row in locked}
    complete = complete_among(connection, run_id, [v for v in versions if v.document_id in before], required)
    indexed = _mark_indexed(connection, run_id, [version for version in versions if key_of(version) in complete])
    answering = _answering_numbers(connection, [document_id for document_id, _ in indexed])
    # What a later version overtook is kept in the history and does not answer.
    chosen = [key for key, number in indexed.items() if number >= answering.get(key[0], 0)]
    set_active(connection, dict(chosen))
    take_cards(connection, chosen)
    return {key: before[key[0]] or "" for key in chosen}


def set_active(connection: Connection, versions: Mapping[str, str | None]) -> None:
    """Move the active versions (document → version, or None) and keep their intervals; the caller holds the documents'
    row locks."""
    if not versions:
        return
    connection.execute(
        update(active_intervals)
        .where(active_intervals.c.document_id.in_(list(versions)), active_intervals.c.active_to.is_(None))
        .values(active_to=func.clock_timestamp())
    )
    begun = [
        {"document_id": d, "version_id": version_id} for d, version_id in versions.items() if version_id is not None
    ]
    if begun:
        connection.execute(insert(active_intervals), begun)
    new = table_of(versions.items())
    connection.execute(
        update(documents)
        .where(documents.c.document_id == new.c.document_id)
        .values(active_version=new.c.version_id, updated_at=func.clock_timestamp())
    )


def _mark_indexed(connection: Connection, run_id: str, versions: Sequence[ClaimedVersion]) -> dict[Key, int]:
    """The number of each version that this run still holds."""
    rows = connection.execute(
        update(document_versions)
        .where(
            same_version(document_versions, keys_of(versions)),
            document_versions.c.run_id == run_id,
            document_versions.c.status == Status.PROCESSING,
        )
        .values(status=Status.INDEXED, stage=None, lease_until=None, indexed_at=func.clock_timestamp())
        .returning(document_versions.c.document_id, document_versions.c.version_id, document_versions.c.number)
    )
    return {(row.document_id, row.version_id): row.number for row in rows}


def _answering_numbers(connection: Connection, document_ids: Sequence[str]) -> dict[str, int]:
    """Document → the number of the version that answers."""
    rows = connection.execute(
        select(documents.c.document_id, document_versions.c.number)
        .join(document_versions, document_versions.c.document_id == documents.c.document_id)
        .where(documents.c.document_id.in_(document_ids), document_versions.c.version_id == documents.c.active_version)
    )
    return {row.document_id: row.number for row in rows}
