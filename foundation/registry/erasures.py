"""Deletion: gone from answers in one transaction, then erased from every store by a run, with a report per store."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ARRAY,
    ColumnElement,
    Connection,
    RowMapping,
    Text,
    cast,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)

from foundation.access import may_see
from foundation.card import KEPT_FIELDS
from foundation.errors import NotFound
from foundation.ids import new_id
from foundation.registry.activation import set_active
from foundation.registry.audit import record
from foundation.registry.members import living_members
from foundation.registry.tables import (
    batch_versions,
    chunks,
    document_versions,
    documents,
    erasures,
    metadata,
    stages,
)
from foundation.types import Principal

ERASED_NAME = "(erased)"
_SAID = (*KEPT_FIELDS, "effective_date", "sidecar_sha256", "duplicate_of", "parent_path")
"""What a document says of itself besides its name."""


@dataclass(frozen=True, slots=True)
class Requested:
    erasure_id: str
    active_version: str | None
    """The version that answered until now."""
    members: tuple[Requested, ...] = ()
    """Of the documents inside it, which go with it."""

    @property
    def silenced(self) -> tuple[str, ...]:
        """Every version that answered until now, of the document and of those inside it."""
        own = () if self.active_version is None else (self.active_version,)
        return own + tuple(version for member in self.members for version in member.silenced)


def request_erasure(connection: Connection, principal: Principal, document_id: str) -> Requested:
    """Mark the document deleted and ask for its erasure. NotFound."""
    document = connection.execute(
        select(documents)
        .where(documents.c.document_id == document_id, documents.c.deleted_at.is_(None), may_see(principal))
        .with_for_update()
    ).one_or_none()
    if document is None:
        raise NotFound(f"There is no document {document_id}.")
    return erase_document(connection, document.document_id, principal.name)


def erase_document(connection: Connection, document_id: str, requested_by: str) -> Requested:
    """The same for whoever has decided it already (the reconciling scan); the document exists and lives.

    What it holds goes with it: the members of an archive, the attachments of a mail, however deep.
    """
    document = connection.execute(
        select(documents).where(documents.c.document_id == document_id).with_for_update()
    ).one()
    versions: Sequence[str] = (
        connection.execute(select(document_versions.c.version_id).where(document_versions.c.document_id == document_id))
        .scalars()
        .all()
    )
    set_active(connection, {document_id: None})
    connection.execute(
        update(documents).where(documents.c.document_id == document_id).values(deleted_at=func.clock_timestamp())
    )
    erasure_id = new_id("era")
    connection.execute(
        insert(erasures).values(
            erasure_id=erasure_id,
            document_id=document_id,
            landing_key=document.landing_key,
            requested_by=requested_by,
            acl=document.acl,
            version_ids=versions,
        )
    )
    record(connection, requested_by, "delete", document_id, {"erasure_id": erasure_id, "versions": list(versions)})
    held = tuple(erase_document(connection, member, requested_by) for member in living_members(connection, document_id))
    return Requested(erasure_id, document.active_version, held)


def get_erasure(connection: Connection, principal: Principal, erasure_id: str) -> RowMapping:
    row = (
        connection.execute(
            select(erasures).where(
                erasures.c.erasure_id == erasure_id,
                erasures.c.acl.overlap(cast(list(principal.grants), ARRAY(Text))),
            )
        )
        .mappings()
        .one_or_none()
    )
    if row is None:
        raise NotFound(f"There is no erasure {erasure_id}.", fix="DELETE /documents/{id} gives the id of an erasure.")
    return row


def open_erasures(connection: Connection, max_attempts: int) -> Sequence[RowMapping]:
    """Erasures that are not verified yet and may still be tried, oldest first."""
    return (
        connection.execute(
            select(erasures)
            .where(erasures.c.status == "running", erasures.c.attempts < max_attempts)
            .order_by(erasures.c.requested_at)
        )
        .mappings()
        .all()
    )


def start_erasure(connection: Connection, erasure_id: str, run_id: str) -> None:
    connection.execute(
        update(erasures)
        .where(erasures.c.erasure_id == erasure_id)
        .values(run_id=run_id, attempts=erasures.c.attempts + 1)
    )


def unshared_versions(connection: Connection, version_ids: Sequence[str]) -> list[str]:
    """Those of these contents that no living document has any more: only their artefacts may go."""
    still = (
        select(document_versions.c.version_id)
        .join(documents, documents.c.document_id == document_versions.c.document_id)
        .where(document_versions.c.version_id.in_(version_ids), documents.c.deleted_at.is_(None))
    )
    kept: set[str] = set(connection.execute(still).scalars())
    return [version for version in version_ids if version not in kept]


def living_object_versions(connection: Connection, landing_key: str) -> set[str]:
    """Version ids at this key that a living document has."""
    return set(
        connection.execute(
            select(document_versions.c.object_version)
            .join(documents, documents.c.document_id == document_versions.c.document_id)
            .where(documents.c.landing_key == landing_key, documents.c.deleted_at.is_(None))
        ).scalars()
    )


def keys_in_erasure(connection: Connection, of: Collection[str] | None = None) -> set[str]:
    """Landing keys of deleted documents whose erasure is not verified: a scan must not take them for new files.

    `of` these keys only.
    """
    statement = select(erasures.c.landing_key).where(erasures.c.status != "verified")
    if of is not None:
        statement = statement.where(erasures.c.landing_key.in_(of))
    return set(connection.execute(statement).scalars())


def remove_rows(connection: Connection, document_id: str, unshared: Sequence[str]) -> int:
    """Delete the document's own registry rows; what stays is the tombstone without its name. Returns rows removed."""
    before = remaining_rows(connection, document_id, unshared)
    connection.execute(delete(chunks).where(chunks.c.version_id.in_(unshared)))
    connection.execute(delete(document_versions).where(document_versions.c.document_id == document_id))
    connection.execute(
        update(documents)
        .where(documents.c.document_id == document_id)
        .values(
            file_name=ERASED_NAME,
            landing_key=func.concat("erased/", documents.c.document_id),
            updated_at=func.clock_timestamp(),
            **dict.fromkeys(_SAID),
        )
    )
    connection.execute(update(documents).where(documents.c.duplicate_of == document_id).values(duplicate_of=None))
    return before - remaining_rows(connection, document_id, unshared)


def remaining_rows(connection: Connection, document_id: str, unshared: Sequence[str]) -> int:
    """Rows that a fresh look still finds, in every table of the registry that names a document or a version.

    Not counted is what is kept: the tombstone without its name, the erasure and the audit line.
    """
    left = 0
    for table in metadata.tables.values():
        if table in (documents, erasures):
            continue
        if "document_id" in table.c:  # rows of another document with the same content are its own to erase
            of_it: ColumnElement[bool] = table.c.document_id == document_id
        elif "version_id" in table.c:
            of_it = table.c.version_id.in_(unshared)
        else:
            continue
        left += connection.execute(select(func.count()).select_from(table).where(of_it)).scalar_one()
    told = or_(documents.c.file_name != ERASED_NAME, *(documents.c[name].is_not(None) for name in _SAID))
    tombstone = select(func.count()).where(documents.c.document_id == document_id, told)
    return left + int(connection.execute(tombstone).scalar_one())


def runs_of(connection: Connection, document_id: str) -> tuple[list[str], datetime]:
    """(ids of the runs that worked on the document, when it was created)"""
    batched = select(batch_versions.c.run_id).where(batch_versions.c.document_id == document_id)
    staged = select(stages.c.run_id).where(stages.c.document_id == document_id)
    run_ids: list[str] = sorted(connection.execute(batched.union(staged)).scalars())
    created: datetime = connection.execute(
        select(documents.c.created_at).where(documents.c.document_id == document_id)
    ).scalar_one()
    return run_ids, created


def save_report(
    connection: Connection,
    erasure_id: str,
    *,
    verified: bool,
    stores: list[dict[str, Any]],
    kept: Sequence[str] = (),
    message: str | None = None,
) -> None:
    values: dict[str, Any] = {"stores": stores, "kept": list(kept), "error_message": message}
    if verified:
        values |= {
            "status": "verified",
            "finished_at": func.clock_timestamp(),
            "landing_key": func.concat("erased/", erasures.c.document_id),
        }
    connection.execute(update(erasures).where(erasures.c.erasure_id == erasure_id).values(**values))


def repeat_erasures(connection: Connection, version_ids: Sequence[str], since: datetime) -> int:
    """Erasures of these contents that were verified since then are done once more; returns how many."""
    return connection.execute(
        update(erasures)
        .where(
            erasures.c.status == "verified",
            erasures.c.finished_at >= since,
            erasures.c.version_ids.overlap(cast(list(version_ids), ARRAY(Text))),
        )
        .values(status="running", finished_at=None, attempts=0)
    ).rowcount


def give_up(connection: Connection, max_attempts: int) -> int:
    """Erasures that were tried too often end `failed`, with the last message; returns how many."""
    return connection.execute(
        update(erasures)
        .where(erasures.c.status == "running", erasures.c.attempts >= max_attempts)
        .values(status="failed", finished_at=func.clock_timestamp())
    ).rowcount
