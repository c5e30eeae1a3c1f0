"""How a landed object becomes a document and a version. Every way in (upload, scan) goes through `register_arrival`."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date

from sqlalchemy import Connection, func, insert, select, update

from foundation.access import may_see
from foundation.card import Card
from foundation.errors import Conflict
from foundation.ids import new_id
from foundation.registry.cards import receive_card
from foundation.registry.documents import newest
from foundation.registry.tables import document_versions, documents, inbox
from foundation.types import Principal, Status

UPLOADS = "uploads"
"""The service stores what NAME uploads under `uploads/NAME/`; anything else in the bucket was put there by hand."""


@dataclass(frozen=True, slots=True)
class Arrival:
    landing_key: str
    file_name: str
    media_type: str
    sha256: str
    size_bytes: int
    object_version: str
    owner: str
    acl: tuple[str, ...]
    domain: str
    source: str
    """api, scan or member"""
    card: Card = field(default_factory=dict)
    """The fields that came with it."""
    sidecar_sha256: str | None = None
    parent_id: str | None = None
    """The document that holds it, and its place in there: an archive's member, a mail's attachment."""
    parent_path: str | None = None


@dataclass(frozen=True, slots=True)
class Received:
    document_id: str
    version_id: str
    arrival_day: date
    queued: bool
    """False when the same bytes were there already and nothing is to be done."""
    duplicate_of: str | None
    card_changed: bool = False
    """Whether the document that answers says something else now, so that the index must be told."""


def lock_key(connection: Connection, key: str) -> None:
    """Until the transaction ends, nobody else stores, registers or erases at this landing key."""
    connection.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(key, 0))))


def register_arrival(connection: Connection, arrival: Arrival) -> Received:
    """Record a landed object: a new document, a new version of one, or nothing when the bytes are known.

    The key's advisory lock makes two arrivals at one key follow each other, so that a file that is uploaded twice at
    once is one document. A document keeps its ACL whatever arrives later.
    """
    lock_key(connection, arrival.landing_key)
    existing = connection.execute(
        select(documents).where(documents.c.landing_key == arrival.landing_key, documents.c.deleted_at.is_(None))
    ).one_or_none()
    if existing is None:
        return _new_document(connection, arrival)
    _note_sidecar(connection, existing.document_id, arrival)
    known = connection.execute(
        select(document_versions).where(
            document_versions.c.document_id == existing.document_id,
            document_versions.c.version_id == arrival.sha256,
        )
    ).one_or_none()
    if known is None:
        day = _new_version(connection, existing.document_id, arrival)
        receive_card(connection, existing.document_id, arrival.sha256, arrival.card)
        return Received(existing.document_id, arrival.sha256, day, True, existing.duplicate_of)
    told = receive_card(connection, existing.document_id, arrival.sha256, arrival.card)
    latest = newest(connection, existing.document_id)
    if known.status in (Status.UPLOADED, Status.PROCESSING) or (
        known.status == Status.INDEXED and known.number == latest
    ):
        return Received(existing.document_id, arrival.sha256, known.arrival_day, False, existing.document_id, told)
    # Failed bytes that come again are tried again; an older version that comes again becomes the newest.
    requeue(
        connection,
        existing.document_id,
        arrival.sha256,
        source=arrival.source,
        number=known.number if known.number == latest else latest + 1,
        object_version=arrival.object_version,
    )
    return Received(existing.document_id, arrival.sha256, known.arrival_day, True, existing.duplicate_of)


def restore_version(connection: Connection, document_id: str, version_id: str, object_version: str) -> None:
    """An older version becomes the newest again: a run makes it whole where it is not any more, then it answers."""
    requeue(
        connection,
        document_id,
        version_id,
        source="restore",
        number=newest(connection, document_id) + 1,
        object_version=object_version,
    )


def requeue(
    connection: Connection,
    document_id: str,
    version_id: str,
    *,
    source: str,
    number: int | None = None,
    object_version: str | None = None,
) -> None:
    """Put a version that is not in work back to `uploaded`, with its attempts counted anew."""
    values: dict[str, object] = {
        "status": Status.UPLOADED,
        "stage": None,
        "error_code": None,
        "error_message": None,
        "error_fix": None,
        "attempts": 0,
        "run_id": None,
        "lease_until": None,
    }
    if number is not None:
        values["number"] = number
    if object_version is not None:
        values["object_version"] = object_version
    row = connection.execute(
        update(document_versions)
        .where(
            document_versions.c.document_id == document_id,
            document_versions.c.version_id == version_id,
            document_versions.c.status != Status.PROCESSING,
        )
        .values(**values)
        .returning(document_versions.c.arrival_day)
    ).one_or_none()
    if row is None:
        raise Conflict(
            f"{document_id}: this version is being processed or is not there.",
            fix="GET /documents/{id} shows its state; try again once it is `failed`.",
        )
    connection.execute(
        insert(inbox).values(document_id=document_id, version_id=version_id, arrival_day=row.arrival_day, source=source)
    )


def _new_document(connection: Connection, arrival: Arrival) -> Received:
    document_id = new_id("doc")
    original = _original(connection, arrival)
    connection.execute(
        insert(documents).values(
            document_id=document_id,
            landing_key=arrival.landing_key,
            file_name=arrival.file_name,
            media_type=arrival.media_type,
            owner=arrival.owner,
            acl=list(arrival.acl),
            domain=arrival.domain,
            duplicate_of=original,
            parent_id=arrival.parent_id,
            parent_path=arrival.parent_path,
        )
    )
    _note_sidecar(connection, document_id, arrival)
    day = _new_version(connection, document_id, arrival)
    receive_card(connection, document_id, arrival.sha256, arrival.card)
    return Received(document_id, arrival.sha256, day, True, original)


def _note_sidecar(connection: Connection, document_id: str, arrival: Arrival) -> None:
    if arrival.sidecar_sha256 is not None:
        connection.execute(
            update(documents)
            .where(documents.c.document_id == document_id)
            .values(sidecar_sha256=arrival.sidecar_sha256)
        )


def _original(connection: Connection, arrival: Arrival) -> str | None:
    """The oldest living document with the same bytes that the owner may see."""
    owner = Principal(arrival.owner)
    return connection.execute(
        select(documents.c.document_id)
        .join(document_versions, document_versions.c.document_id == documents.c.document_id)
        .where(document_versions.c.version_id == arrival.sha256, documents.c.deleted_at.is_(None), may_see(owner))
        .order_by(documents.c.created_at)
        .limit(1)
    ).scalar_one_or_none()


def _new_version(connection: Connection, document_id: str, arrival: Arrival) -> date:
    number: int = connection.execute(
        select(func.coalesce(func.max(document_versions.c.number), 0) + 1).where(
            document_versions.c.document_id == document_id
        )
    ).scalar_one()
    day: date = connection.execute(
        insert(document_versions)
        .values(
            document_id=document_id,
            version_id=arrival.sha256,
            number=number,
            object_version=arrival.object_version,
            size_bytes=arrival.size_bytes,
            media_type=arrival.media_type,
        )
        .returning(document_versions.c.arrival_day)
    ).scalar_one()
    connection.execute(
        update(documents)
        .where(documents.c.document_id == document_id)
        .values(media_type=arrival.media_type, updated_at=func.clock_timestamp())
    )
    connection.execute(
        insert(inbox).values(document_id=document_id, version_id=arrival.sha256, arrival_day=day, source=arrival.source)
    )
    return day
