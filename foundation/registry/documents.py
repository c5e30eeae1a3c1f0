"""Reading documents and their versions, as a principal may."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import date
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, RowMapping, Select, and_, case, func, select, true, update
from sqlalchemy.dialects.postgresql import distinct_on

from foundation.access import may_see
from foundation.errors import NotFound
from foundation.registry.tables import active_intervals, document_versions, documents, stages, table_links
from foundation.types import Principal, Status

_latest = (
    select(document_versions)
    .where(document_versions.c.document_id == documents.c.document_id)
    .order_by(document_versions.c.number.desc())
    .limit(1)
    .lateral("latest")
)

_answering_card = (
    select(document_versions.c.card)
    .where(
        document_versions.c.document_id == documents.c.document_id,
        document_versions.c.version_id == documents.c.active_version,
    )
    .scalar_subquery()
)

status = case((documents.c.deleted_at.is_not(None), Status.DELETED.value), else_=_latest.c.status).label("status")


def _records() -> Select[Any]:
    return (
        select(
            documents,
            _latest.c.version_id.label("latest_version"),
            _latest.c.number,
            _latest.c.size_bytes,
            _latest.c.arrived_at,
            _latest.c.arrival_day,
            _latest.c.indexed_at,
            _latest.c.stage,
            _latest.c.attempts,
            _latest.c.run_id,
            _latest.c.error_code,
            _latest.c.error_message,
            _latest.c.error_fix,
            _latest.c.warnings,
            _latest.c.counts,
            _latest.c.card,
            _answering_card.label("answering_card"),
            status,
        )
        .select_from(documents)
        .outerjoin(_latest, true())
    )


def get_document(connection: Connection, principal: Principal, document_id: str) -> RowMapping:
    """One document with its latest version's state. NotFound also for what the principal may not see."""
    row = (
        connection.execute(_records().where(documents.c.document_id == document_id, may_see(principal)))
        .mappings()
        .one_or_none()
    )
    if row is None:
        raise NotFound(f"There is no document {document_id}.")
    return row


def received_document(connection: Connection, document_id: str) -> RowMapping:
    """A document for whoever has just handed it in, even if its ACL names others only."""
    return connection.execute(_records().where(documents.c.document_id == document_id)).mappings().one()


def list_documents(
    connection: Connection,
    principal: Principal,
    *,
    status_is: str | None = None,
    document_type: str | None = None,
    domain: str | None = None,
    file_name_has: str | None = None,
    parent_id: str | None = None,
    after: str | None = None,
    limit: int = 50,
) -> Sequence[RowMapping]:
    """Newest first. Deleted ones only when asked for by status. `after`: the last document_id of the page before."""
    clauses = [may_see(principal)]
    clauses.append(
        documents.c.deleted_at.is_(None) if status_is != Status.DELETED else documents.c.deleted_at.is_not(None)
    )
    if status_is is not None:
        clauses.append(status == status_is)
    if document_type is not None:
        clauses.append(documents.c.document_type == document_type)
    if domain is not None:
        clauses.append(documents.c.domain == domain)
    if file_name_has:
        clauses.append(documents.c.file_name.icontains(file_name_has, autoescape=True))
    if parent_id is not None:
        clauses.append(documents.c.parent_id == parent_id)
    if after is not None:
        clauses.append(documents.c.document_id < after)  # ids are ordered by time
    return (
        connection.execute(_records().where(*clauses).order_by(documents.c.document_id.desc()).limit(limit))
        .mappings()
        .all()
    )


def list_versions(connection: Connection, document_id: str) -> Sequence[RowMapping]:
    """Newest first; the caller has checked that the principal may see the document."""
    return (
        connection.execute(
            select(document_versions)
            .where(document_versions.c.document_id == document_id)
            .order_by(document_versions.c.number.desc())
        )
        .mappings()
        .all()
    )


def active_times(connection: Connection, document_id: str) -> dict[str, list[dict[str, Any]]]:
    """version_id → the times in which it answered, oldest first; `until` is None for the one that answers now."""
    rows = connection.execute(
        select(active_intervals)
        .where(active_intervals.c.document_id == document_id)
        .order_by(active_intervals.c.interval_id)
    )
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row.version_id, []).append({"since": row.active_from, "until": row.active_to})
    return found


def newest(connection: Connection, document_id: str) -> int:
    """The number of the newest version."""
    number: int = connection.execute(
        select(func.max(document_versions.c.number)).where(document_versions.c.document_id == document_id)
    ).scalar_one()
    return number


def list_stages(connection: Connection, document_id: str) -> Sequence[RowMapping]:
    return (
        connection.execute(
            select(stages)
            .where(stages.c.document_id == document_id)
            .order_by(stages.c.version_id, stages.c.finished_at)
        )
        .mappings()
        .all()
    )


def links_of(connection: Connection, version_ids: Sequence[str]) -> Sequence[RowMapping]:
    return (
        connection.execute(
            select(table_links).where(table_links.c.version_id.in_(version_ids)).order_by(table_links.c.dataset_id)
        )
        .mappings()
        .all()
    )


def change_document(connection: Connection, document_id: str, values: dict[str, Any]) -> None:
    connection.execute(
        update(documents)
        .where(documents.c.document_id == document_id)
        .values(**values, updated_at=func.clock_timestamp())
    )


def version_of(
    connection: Connection, principal: Principal, document_id: str, version_id: str | None = None
) -> RowMapping:
    """A version with its document's fields; without an id the active one, else the latest. NotFound."""
    document = get_document(connection, principal, document_id)
    wanted = version_id or document["active_version"] or document["latest_version"]
    row = (
        connection.execute(
            select(document_versions, documents.c.landing_key, documents.c.file_name, documents.c.active_version)
            .join(documents, documents.c.document_id == document_versions.c.document_id)
            .where(
                document_versions.c.document_id == document_id,
                document_versions.c.version_id == wanted,
                documents.c.deleted_at.is_(None),
            )
        )
        .mappings()
        .one_or_none()
    )
    if row is None:
        raise NotFound(
            f"There is no version {wanted} of document {document_id}.",
            fix="GET /documents/{id}/versions lists them; leave `version` out for the active one.",
        )
    return row


def cited_documents(
    connection: Connection, principal: Principal, version_ids: Sequence[str], within: Sequence[str] | None = None
) -> dict[str, RowMapping]:
    """version_id → the oldest visible document whose active version it is. What is missing here may not be cited."""
    clauses = [
        may_see(principal),
        documents.c.deleted_at.is_(None),
        documents.c.active_version.in_(version_ids),
    ]
    if within is not None:
        clauses.append(documents.c.document_id.in_(within))
    rows = connection.execute(
        select(documents, document_versions.c.card)
        .join(
            document_versions,
            and_(
                document_versions.c.document_id == documents.c.document_id,
                document_versions.c.version_id == documents.c.active_version,
            ),
        )
        .ext(distinct_on(documents.c.active_version))
        .where(*clauses)
        .order_by(documents.c.active_version, documents.c.created_at)
    ).mappings()
    return {row["active_version"]: row for row in rows}


class Access(NamedTuple):
    """What filters of the search index see of a content."""

    acl: tuple[str, ...]
    document_ids: tuple[str, ...]
    document_type: str | None


def access_of(connection: Connection, version_ids: Collection[str]) -> dict[str, Access]:
    """Of each of these contents, by the living documents that have it; empty when none has."""
    return _access(connection, version_ids, true())


def active_access(connection: Connection, version_ids: Collection[str]) -> dict[str, Access]:
    """The same by the living documents that answer from it."""
    return _access(connection, version_ids, documents.c.active_version == document_versions.c.version_id)


def shared_contents(connection: Connection, version_ids: Sequence[str]) -> list[str]:
    """Of these contents those that more than one living document has."""
    rows = connection.execute(
        select(document_versions.c.version_id)
        .join(documents, documents.c.document_id == document_versions.c.document_id)
        .where(document_versions.c.version_id.in_(version_ids), documents.c.deleted_at.is_(None))
        .group_by(document_versions.c.version_id)
        .having(func.count() > 1)
    )
    return list(rows.scalars())


def _access(connection: Connection, version_ids: Collection[str], which: ColumnElement[bool]) -> dict[str, Access]:
    # A type that came with these bytes goes into the index with them, before the document itself says so.
    own_type = func.coalesce(document_versions.c.card["document_type"].astext, documents.c.document_type)
    rows = connection.execute(
        select(
            document_versions.c.version_id, documents.c.document_id, documents.c.acl, own_type.label("document_type")
        )
        .join(document_versions, document_versions.c.document_id == documents.c.document_id)
        .where(document_versions.c.version_id.in_(version_ids), documents.c.deleted_at.is_(None), which)
        .order_by(documents.c.created_at)
    )
    having = defaultdict(list)
    for row in rows:
        having[row.version_id].append(row)
    return {
        version_id: Access(
            tuple(sorted({entry for row in having[version_id] for entry in row.acl})),
            tuple(row.document_id for row in having[version_id]),
            next((row.document_type for row in having[version_id] if row.document_type), None),
        )
        for version_id in version_ids
    }


def day_outcome(connection: Connection, day: date) -> Sequence[RowMapping]:
    """Every version that arrived on this day and was not erased, with its end."""
    return (
        connection.execute(
            select(
                documents.c.document_id,
                documents.c.file_name,
                document_versions.c.version_id,
                document_versions.c.status,
                document_versions.c.stage,
                document_versions.c.error_code,
                document_versions.c.error_message,
            )
            .join(documents, documents.c.document_id == document_versions.c.document_id)
            .where(document_versions.c.arrival_day == day, documents.c.deleted_at.is_(None))
            .order_by(document_versions.c.arrived_at)
        )
        .mappings()
        .all()
    )


class LiveKey(NamedTuple):
    document_id: str
    object_version: str | None
    """Of the latest version."""
    sidecar_sha256: str | None


def live_keys(connection: Connection, of: Collection[str] | None = None) -> dict[str, LiveKey]:
    """landing_key → the living document that is there; `of` these keys only."""
    statement = (
        select(documents.c.landing_key, documents.c.document_id, _latest.c.object_version, documents.c.sidecar_sha256)
        .select_from(documents)
        .outerjoin(_latest, true())
        .where(documents.c.deleted_at.is_(None))
    )
    if of is not None:
        statement = statement.where(documents.c.landing_key.in_(of))
    rows = connection.execute(statement)
    return {row.landing_key: LiveKey(row.document_id, row.object_version, row.sidecar_sha256) for row in rows}
