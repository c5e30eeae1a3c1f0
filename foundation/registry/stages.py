"""What each stage of each version did: run, code version, time, counts. Lineage reads this, never Dagster's events."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    Connection,
    Float,
    TableValuedAlias,
    Text,
    and_,
    delete,
    exists,
    func,
    literal,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.dialects.postgresql import insert as upsert

from foundation.registry.claims import claimed_version
from foundation.registry.tables import document_versions, documents, stages
from foundation.registry.version_keys import Key, given, keys_of, same_version, table_of
from foundation.types import ClaimedVersion, Stage, Status


@dataclass(frozen=True, slots=True)
class Finished:
    """One version that a stage is done with."""

    version: ClaimedVersion
    code_version: str
    seconds: float
    counts: dict[str, Any]


def start_stage(connection: Connection, run_id: str, versions: Sequence[ClaimedVersion], stage: Stage) -> set[Key]:
    """Note the stage; returns the versions that this run still holds (not deleted, lease not lost)."""
    keys = keys_of(versions)
    _lock(connection, keys)
    rows = connection.execute(
        update(document_versions)
        .where(
            same_version(document_versions, keys),
            document_versions.c.run_id == run_id,
            document_versions.c.status == Status.PROCESSING,
            exists(
                select(documents.c.document_id).where(
                    documents.c.document_id == document_versions.c.document_id, documents.c.deleted_at.is_(None)
                )
            ),
        )
        .values(stage=stage)
        .returning(document_versions.c.document_id, document_versions.c.version_id)
    )
    return {(row.document_id, row.version_id) for row in rows}


def finish_stage(connection: Connection, run_id: str, stage: Stage, finished: Sequence[Finished]) -> None:
    """Record that the stage is done: by which run, with which code, when, with what result.

    Nothing is recorded for a version that was erased in the meantime.
    """
    if not finished:
        return
    keys = keys_of(
        [one.version for one in finished],
        code_version=([one.code_version for one in finished], Text()),
        seconds=([one.seconds for one in finished], Float()),
        counts=([one.counts for one in finished], JSONB()),
    )
    _lock(connection, keys)
    now = func.clock_timestamp()
    values = {
        "run_id": literal(run_id),
        "code_version": keys.c.code_version,
        "started_at": now - func.make_interval(0, 0, 0, 0, 0, 0, keys.c.seconds),
        "finished_at": now,
        "counts": keys.c.counts,
    }
    record = upsert(stages).from_select(
        ["document_id", "version_id", "stage", *values],
        select(
            document_versions.c.document_id, document_versions.c.version_id, literal(str(stage)), *values.values()
        ).where(same_version(document_versions, keys)),
    )
    connection.execute(
        record.on_conflict_do_update(
            index_elements=["document_id", "version_id", "stage"], set_={name: record.excluded[name] for name in values}
        )
    )
    connection.execute(
        update(document_versions)
        .where(same_version(document_versions, keys))
        .values(counts=document_versions.c.counts.op("||")(keys.c.counts))
    )


def stages_done(connection: Connection, stage: Stage, code_versions: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Of the contents (version id → code version) the counts of those that have this stage with that code already,
    for whichever document."""
    wanted = given(version_id=(list(code_versions), Text()), code_version=(list(code_versions.values()), Text()))
    rows = connection.execute(
        select(stages.c.version_id, stages.c.counts)
        .join(documents, documents.c.document_id == stages.c.document_id)
        .join(wanted, and_(wanted.c.version_id == stages.c.version_id, wanted.c.code_version == stages.c.code_version))
        .where(stages.c.stage == stage, documents.c.deleted_at.is_(None))  # what an erasure is about to take: no
    )
    return {row.version_id: row.counts for row in rows}


def indexed_among(connection: Connection, versions: Sequence[ClaimedVersion]) -> set[Key]:
    """Those that answer or have answered, of documents that live: a re-run may work on them."""
    rows = connection.execute(
        select(document_versions.c.document_id, document_versions.c.version_id)
        .join(documents, documents.c.document_id == document_versions.c.document_id)
        .where(
            same_version(document_versions, keys_of(versions)),
            document_versions.c.status == Status.INDEXED,
            documents.c.deleted_at.is_(None),
        )
    )
    return {(row.document_id, row.version_id) for row in rows}


def _lock(connection: Connection, keys: TableValuedAlias) -> None:
    """Take the rows in one order, so that two transactions over the same versions cannot wait for each other."""
    connection.execute(
        select(document_versions.c.version_id)
        .where(same_version(document_versions, keys))
        .order_by(document_versions.c.document_id, document_versions.c.version_id)
        .with_for_update(of=document_versions, key_share=True)
    )


def complete_among(
    connection: Connection, run_id: str, versions: Sequence[ClaimedVersion], required: Sequence[Stage]
) -> dict[Key, dict[Stage, dict[str, Any]]]:
    """Of the versions that this run holds, those that have every required stage, with what each stage recorded."""
    rows = connection.execute(
        select(stages.c.document_id, stages.c.version_id, stages.c.stage, stages.c.counts)
        .join(document_versions, same_version(document_versions, stages))
        .where(
            same_version(stages, keys_of(versions)),
            stages.c.stage.in_(required),
            document_versions.c.run_id == run_id,
            document_versions.c.status == Status.PROCESSING,
        )
    )
    found: dict[Key, dict[Stage, dict[str, Any]]] = {}
    for row in rows:
        found.setdefault((row.document_id, row.version_id), {})[Stage(row.stage)] = row.counts
    return {key: counts for key, counts in found.items() if len(counts) == len(required)}


def replaced_in_index(connection: Connection, document_ids: Collection[str]) -> list[str]:
    """Older versions of these documents that are in the index although another one answers."""
    rows = connection.execute(
        select(stages.c.version_id)
        .distinct()
        .join(document_versions, same_version(stages, document_versions))
        .join(documents, documents.c.document_id == stages.c.document_id)
        .where(
            stages.c.document_id.in_(document_ids),
            stages.c.stage == Stage.SEARCH_INDEX,
            document_versions.c.status == Status.INDEXED,
            documents.c.active_version.is_distinct_from(stages.c.version_id),
        )
    )
    return list(rows.scalars())


def forget_stage(connection: Connection, version_id: str, stage: Stage) -> None:
    """What this stage made of these bytes has been taken away again."""
    connection.execute(delete(stages).where(stages.c.version_id == version_id, stages.c.stage == stage))


def save_warnings(connection: Connection, warnings: Mapping[Key, list[dict[str, Any]]]) -> None:
    new = table_of(warnings, warnings=(list(warnings.values()), JSONB()))
    connection.execute(
        update(document_versions).where(same_version(document_versions, new)).values(warnings=new.c.warnings)
    )


def share_warnings(connection: Connection, version_ids: Sequence[str]) -> None:
    """Versions without warnings get those of another document with the same bytes: they were not parsed again."""
    other = document_versions.alias("other")
    connection.execute(
        update(document_versions)
        .where(
            document_versions.c.version_id.in_(version_ids),
            document_versions.c.warnings == literal([], document_versions.c.warnings.type),
            other.c.version_id == document_versions.c.version_id,
            other.c.warnings != literal([], document_versions.c.warnings.type),
        )
        .values(warnings=other.c.warnings)
    )


def parser_of(connection: Connection, version_id: str) -> str | None:
    """The parser whose text of this version is the current one."""
    return connection.execute(
        select(stages.c.counts["parser"].astext)
        .where(stages.c.version_id == version_id, stages.c.stage == Stage.PARSED_TEXT)
        .order_by(stages.c.finished_at.desc())
        .limit(1)
    ).scalar_one_or_none()


def recorded_codes(connection: Connection) -> Iterator[tuple[ClaimedVersion, str, str]]:
    """(version, stage, code version) of every stage of every version that answers."""
    rows = connection.execute(
        select(
            document_versions,
            documents.c.file_name,
            documents.c.landing_key,
            documents.c.acl,
            documents.c.document_type,
            stages.c.stage.label("done_stage"),
            stages.c.code_version,
        )
        .join(documents, documents.c.active_version == document_versions.c.version_id)
        .join(
            stages,
            and_(
                stages.c.document_id == document_versions.c.document_id,
                stages.c.version_id == document_versions.c.version_id,
            ),
        )
        .where(documents.c.document_id == document_versions.c.document_id, documents.c.deleted_at.is_(None))
    )
    for row in rows:
        yield claimed_version(row), row.done_stage, row.code_version
