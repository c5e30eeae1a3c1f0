"""What lineage walks over: rows of the registry, never Dagster's events. Access is checked by the caller's walk."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, RowMapping, select

from foundation.registry.tables import answer_tables, answers, chunks, citations, stages


def stages_of_version(connection: Connection, document_id: str, version_id: str) -> Sequence[RowMapping]:
    return (
        connection.execute(
            select(stages)
            .where(stages.c.document_id == document_id, stages.c.version_id == version_id)
            .order_by(stages.c.finished_at)
        )
        .mappings()
        .all()
    )


def answers_using(connection: Connection, document_id: str, asked_by: str, limit: int = 200) -> Sequence[RowMapping]:
    """The principal's own answers that cite this document or read a table of it, newest first."""
    using = (
        select(citations.c.answer_id, citations.c.version_id)
        .where(citations.c.document_id == document_id)
        .union(
            select(answer_tables.c.answer_id, answer_tables.c.version_id).where(
                answer_tables.c.document_id == document_id
            )
        )
        .subquery()
    )
    return (
        connection.execute(
            select(
                answers.c.answer_id,
                answers.c.session_id,
                answers.c.question,
                answers.c.status,
                answers.c.created_at,
                using.c.version_id,
            )
            .join(using, using.c.answer_id == answers.c.answer_id)
            .where(answers.c.asked_by == asked_by)
            .order_by(answers.c.created_at.desc())
            .limit(limit)
        )
        .mappings()
        .all()
    )


def chunks_by_id(connection: Connection, chunk_ids: Sequence[str]) -> dict[str, RowMapping]:
    rows = connection.execute(select(chunks).where(chunks.c.chunk_id.in_(chunk_ids))).mappings()
    return {row["chunk_id"]: row for row in rows}
