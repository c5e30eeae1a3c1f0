"""What each stage of each version did: run, code version, time, counts. Lineage reads this, never Dagster's events."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, and_, delete, exists, func, literal, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from foundation.registry.claims import claimed_version
from foundation.registry.tables import document_versions, documents, stages
from foundation.types import ClaimedVersion, Stage, Status


def start_stage(connection: Connection, run_id: str, version: ClaimedVersion, stage: Stage) -> bool:
    """Note the stage; False when this run does not hold the version any more (deleted, lease lost)."""
    row = connection.execute(
        update(document_versions)
        .where(
            document_versions.c.document_id == version.document_id,
            document_versions.c.version_id == version.version_id,
            document_versions.c.run_id == run_id,
            document_versions.c.status == Status.PROCESSING,
            exists(
                select(documents.c.document_id).where(
                    documents.c.document_id == version.document_id, documents.c.deleted_at.is_(None)
                )
            ),
        )
        .values(stage=stage)
    )
    return row.rowcount == 1


def finish_stage(
    connection: Connection,
    run_id: str,
    version: ClaimedVersion,
    stage: Stage,
    *,
    code_version: str,
    seconds: float,
    counts: dict[str, Any],
) -> None:
    """Record that this stage of the version is done: by which run, with which code, when, with what result."""
    values = {
        "run_id": run_id,
        "code_version": code_version,
        "started_at": func.clock_timestamp() - timedelta(seconds=seconds),
        "finished_at": func.clock_timestamp(),
        "counts": counts,
    }
    connection.execute(
        upsert(stages)
        .from_select(
            ["document_id", "version_id", "stage", *values],
            # Nothing is recorded for a version that was erased in the meantime.
            select(
                document_versions.c.document_id,
                document_versions.c.version_id,
                literal(str(stage)),
                *(literal(v, stages.c[k].type) if not hasattr(v, "self_group") else v for k, v in values.items()),
            ).where(
                document_versions.c.document_id == version.document_id,
                document_versions.c.version_id == version.version_id,
            ),
        )
        .on_conflict_do_update(index_elements=["document_id", "version_id", "stage"], set_=values)
    )
    connection.execute(
        update(document_versions)
        .where(
            document_versions.c.document_id == version.document_id,
            document_versions.c.version_id == version.version_id,
        )
        .values(counts=document_versions.c.counts.op("||")(literal(counts, document_versions.c.counts.type)))
    )


def stage_done(connection: Connection, version_id: str, stage: Stage, code_version: str) -> dict[str, Any] | None:
    """The counts of this stage if these bytes have it with this code already, for whichever document."""
    return connection.execute(
        select(stages.c.counts)
        .join(documents, documents.c.document_id == stages.c.document_id)
        .where(
            stages.c.version_id == version_id,
            stages.c.stage == stage,
            stages.c.code_version == code_version,
            documents.c.deleted_at.is_(None),  # what an erasure is about to take away does not count
        )
        .limit(1)
    ).scalar_one_or_none()


def is_indexed(connection: Connection, version: ClaimedVersion) -> bool:
    """Whether the version answers or has answered, of a document that lives: a re-run may work on it."""
    return connection.execute(
        select(
            exists(
                select(document_versions.c.version_id)
                .join(documents, documents.c.document_id == document_versions.c.document_id)
                .where(
                    document_versions.c.document_id == version.document_id,
                    document_versions.c.version_id == version.version_id,
                    document_versions.c.status == Status.INDEXED,
                    documents.c.deleted_at.is_(None),
                )
            )
        )
    ).scalar_one()


def forget_stage(connection: Connection, version_id: str, stage: Stage) -> None:
    """What this stage made of these bytes has been taken away again."""
    connection.execute(delete(stages).where(stages.c.version_id == version_id, stages.c.stage == stage))


def save_warnings(connection: Connection, version: ClaimedVersion, warnings: list[dict[str, Any]]) -> None:
    connection.execute(
        update(document_versions)
        .where(
            document_versions.c.document_id == version.document_id,
            document_versions.c.version_id == version.version_id,
        )
        .values(warnings=warnings)
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
