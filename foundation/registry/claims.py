"""Work on versions: claim, renew, release, fail. One transaction each; leases free what a dead run held."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from sqlalchemy import Connection, Row, and_, delete, exists, func, insert, or_, select, tuple_, update
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.dialects.postgresql import insert as upsert

from foundation.errors import AsklineError, StageFailed
from foundation.registry.tables import (
    batch_versions,
    batches,
    document_versions,
    documents,
    inbox,
    nudges,
)
from foundation.registry.version_keys import same_version
from foundation.types import ClaimedVersion, Stage, Status

CLAIM_LOCK = 0x41534B43  # claims follow each other: they are quick, and the same bytes must not be in work twice


@dataclass(frozen=True, slots=True)
class Shard:
    """Part `index` of `count`, counted from 1; by the hash of the version id."""

    index: int = 1
    count: int = 1

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"


def ask_for_run(connection: Connection, day: date, older_than: timedelta = timedelta(seconds=15)) -> bool:
    """Whether the caller should start a run for this day: true for one caller until that run has claimed."""
    statement = upsert(nudges).values(arrival_day=day, requested_at=func.clock_timestamp())
    taken = connection.execute(
        statement.on_conflict_do_update(
            index_elements=[nudges.c.arrival_day],
            set_={"requested_at": func.clock_timestamp()},
            where=nudges.c.requested_at < func.clock_timestamp() - older_than,
        ).returning(nudges.c.arrival_day)
    )
    return taken.one_or_none() is not None


def claim(
    connection: Connection, run_id: str, day: date, *, shard: Shard, limit: int, lease: timedelta
) -> list[ClaimedVersion]:
    """Take the pending versions of a day for this run; a second call of the same run adds what came since.

    Left for a later run: what another run holds, and bytes that another document has in work at this moment.
    """
    # The nudge is given back before the claim looks: whoever arrives after the look asks for a run of their own.
    connection.execute(delete(nudges).where(nudges.c.arrival_day == day))
    hold_claims(connection)
    version, other = document_versions, document_versions.alias("other")
    in_work_elsewhere = exists(
        select(other.c.version_id).where(
            other.c.version_id == version.c.version_id, other.c.status == Status.PROCESSING
        )
    )
    pending = (
        select(version.c.document_id, version.c.version_id, func.min(inbox.c.inbox_id).label("place"))
        .join(inbox, and_(inbox.c.document_id == version.c.document_id, inbox.c.version_id == version.c.version_id))
        .join(documents, documents.c.document_id == version.c.document_id)
        .where(
            inbox.c.claimed_at.is_(None),
            inbox.c.arrival_day == day,
            version.c.status == Status.UPLOADED,
            documents.c.deleted_at.is_(None),
            _of_shard(version.c.version_id, shard),
            ~in_work_elsewhere,
        )
        .group_by(version.c.document_id, version.c.version_id)
        .subquery()
    )
    # Of several documents with the same bytes the first goes ahead; the others then find its artefacts.
    first = (
        select(pending)
        .ext(distinct_on(pending.c.version_id))
        .order_by(pending.c.version_id, pending.c.place)
        .subquery()
    )
    taken = connection.execute(select(first).order_by(first.c.place).limit(limit)).all()
    if not taken:
        return []
    keys = [(row.document_id, row.version_id) for row in taken]
    connection.execute(
        update(version)
        .where(_in(version, keys))
        .values(
            status=Status.PROCESSING,
            stage=Stage.RAW_FILES,
            run_id=run_id,
            attempts=version.c.attempts + 1,
            lease_until=func.clock_timestamp() + lease,
            error_code=None,
            error_message=None,
            error_fix=None,
        )
    )
    connection.execute(
        update(inbox)
        .where(_in(inbox, keys), inbox.c.claimed_at.is_(None))
        .values(claimed_at=func.clock_timestamp(), run_id=run_id)
    )
    add_to_batch(connection, run_id, day, keys, shard)
    return batch(connection, run_id, only_processing=True)


def add_to_batch(connection: Connection, run_id: str, day: date, keys: Sequence[tuple[str, str]], shard: Shard) -> None:
    connection.execute(
        upsert(batches).values(run_id=run_id, arrival_day=day, shard=str(shard)).on_conflict_do_nothing()
    )
    if keys:
        rows = [{"run_id": run_id, "document_id": d, "version_id": v} for d, v in keys]
        connection.execute(upsert(batch_versions).on_conflict_do_nothing(), rows)


def batch(connection: Connection, run_id: str, *, only_processing: bool = False) -> list[ClaimedVersion]:
    """The versions of this run that are still to be worked on: in work by it, or (re-runs) indexed and living."""
    version = document_versions
    working = and_(version.c.status == Status.PROCESSING, version.c.run_id == run_id)
    wanted = working if only_processing else or_(working, version.c.status == Status.INDEXED)
    rows = connection.execute(
        select(version, documents.c.file_name, documents.c.landing_key, documents.c.acl, documents.c.document_type)
        .join(batch_versions, same_version(batch_versions, version))
        .join(documents, documents.c.document_id == version.c.document_id)
        .where(batch_versions.c.run_id == run_id, documents.c.deleted_at.is_(None), wanted)
        .order_by(version.c.arrived_at, version.c.document_id)
    )
    return [claimed_version(row) for row in rows]


def living_versions(connection: Connection, day: date, shard: Shard | None = None) -> list[tuple[str, str]]:
    """(document_id, version_id) of the indexed versions that arrived on this day and still answer."""
    rows = connection.execute(
        select(document_versions.c.document_id, document_versions.c.version_id)
        .join(documents, documents.c.active_version == document_versions.c.version_id)
        .where(
            documents.c.document_id == document_versions.c.document_id,
            documents.c.deleted_at.is_(None),
            document_versions.c.arrival_day == day,
            document_versions.c.status == Status.INDEXED,
            _of_shard(document_versions.c.version_id, shard or Shard()),
        )
        .order_by(document_versions.c.arrived_at)
    )
    return [(row.document_id, row.version_id) for row in rows]


def renew(connection: Connection, run_id: str, lease: timedelta) -> int:
    """Prolong every lease of this run; returns how many it still holds."""
    return connection.execute(
        update(document_versions)
        .where(document_versions.c.run_id == run_id, document_versions.c.status == Status.PROCESSING)
        .values(lease_until=func.clock_timestamp() + lease)
    ).rowcount


def fail(connection: Connection, run_id: str, version: ClaimedVersion, stage: Stage, error: AsklineError) -> None:
    """The version ends `failed` with the reason; an earlier active version keeps answering."""
    connection.execute(
        update(document_versions)
        .where(
            document_versions.c.document_id == version.document_id,
            document_versions.c.version_id == version.version_id,
            document_versions.c.run_id == run_id,
            document_versions.c.status == Status.PROCESSING,
        )
        .values(
            status=Status.FAILED,
            stage=stage,
            lease_until=None,
            error_code=error.code,
            error_message=error.message,
            error_fix=error.fix.replace("{id}", version.document_id),
        )
    )


def free_lost(
    connection: Connection, max_attempts: int, *, run_id: str | None = None, reason: str = "The run that held it died"
) -> tuple[int, int]:
    """Free what a dead run held (by its id, else by expired lease): back to the queue, or failed after max_attempts.

    Returns (requeued, failed).
    """
    lost = and_(
        document_versions.c.status == Status.PROCESSING,
        document_versions.c.run_id == run_id
        if run_id is not None
        else document_versions.c.lease_until < func.clock_timestamp(),
    )
    failed = connection.execute(
        update(document_versions)
        .where(lost, document_versions.c.attempts >= max_attempts)
        .values(
            status=Status.FAILED,
            lease_until=None,
            error_code=StageFailed.code,
            error_message=func.concat(reason, " in stage ", document_versions.c.stage, ", ", max_attempts, " times."),
            error_fix=func.replace(StageFailed.fix, "{id}", document_versions.c.document_id),
        )
    ).rowcount
    rows = connection.execute(
        update(document_versions)
        .where(lost)
        .values(status=Status.UPLOADED, lease_until=None, run_id=None)
        .returning(document_versions.c.document_id, document_versions.c.version_id, document_versions.c.arrival_day)
    ).all()
    if rows:
        connection.execute(
            insert(inbox),
            [
                {
                    "document_id": row.document_id,
                    "version_id": row.version_id,
                    "arrival_day": row.arrival_day,
                    "source": "lease",
                }
                for row in rows
            ],
        )
    return len(rows), failed


def days_with_work(connection: Connection, grace: timedelta) -> list[tuple[date, int]]:
    """(day, pending versions) of the days that hold an unclaimed arrival older than `grace`, oldest first."""
    rows = connection.execute(
        select(inbox.c.arrival_day, func.count().label("pending"))
        .join(document_versions, same_version(inbox, document_versions))
        .join(documents, documents.c.document_id == inbox.c.document_id)
        .where(
            inbox.c.claimed_at.is_(None),
            document_versions.c.status == Status.UPLOADED,
            documents.c.deleted_at.is_(None),
            # Nobody nudges for what came out of an archive or a mail.
            or_(inbox.c.arrived_at < func.clock_timestamp() - grace, inbox.c.source == "member"),
        )
        .group_by(inbox.c.arrival_day)
        .order_by(inbox.c.arrival_day)
    )
    return [(row.arrival_day, row.pending) for row in rows]


def hold_claims(connection: Connection) -> None:
    """Until the transaction ends, no run claims a version."""
    connection.execute(select(func.pg_advisory_xact_lock(CLAIM_LOCK)))


def in_work(connection: Connection, version_id: str | None = None) -> bool:
    """Whether a run has these bytes in work, for whichever document; without them, whether it has any."""
    working = select(document_versions.c.version_id).where(document_versions.c.status == Status.PROCESSING)
    if version_id is not None:
        working = working.where(document_versions.c.version_id == version_id)
    return bool(connection.execute(select(exists(working))).scalar_one())


def _of_shard(version_id: Any, shard: Shard) -> Any:
    return func.mod(func.abs(func.hashtext(version_id)), shard.count) == shard.index - 1


def _in(table: Any, keys: Sequence[tuple[str, str]]) -> Any:
    return tuple_(table.c.document_id, table.c.version_id).in_(keys)


def claimed_version(row: Row[Any]) -> ClaimedVersion:
    return ClaimedVersion(
        document_id=row.document_id,
        version_id=row.version_id,
        file_name=row.file_name,
        landing_key=row.landing_key,
        object_version=row.object_version,
        size_bytes=row.size_bytes,
        media_type=row.media_type,
        arrival_day=row.arrival_day,
        acl=tuple(row.acl),
        document_type=row.document_type,
        attempts=row.attempts,
    )
