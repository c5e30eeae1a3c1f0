"""What a card says: of a version as it came, of a document as it answers now, and which versions it relates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, RowMapping, and_, delete, func, insert, or_, select, update

from foundation.access import may_see
from foundation.card import FIELDS, IGNORED, KEPT_FIELDS, RELATIONS, Card
from foundation.registry.tables import document_versions, documents, version_relations
from foundation.registry.version_keys import Key, same_version, table_of
from foundation.types import Principal

_ON_DOCUMENT = (*KEPT_FIELDS, "effective_date")
assert {*_ON_DOCUMENT, *RELATIONS} == set(FIELDS)

_other = documents.alias("other")


def save_card(connection: Connection, document_id: str, version_id: str, card: Mapping[str, Any]) -> None:
    """Add these fields to what the version's card says; None takes a field away. The document does not change."""
    if not card:
        return
    before: Card = connection.execute(_card_of(document_id, version_id).with_for_update()).scalar_one()
    before.pop(IGNORED, None)
    whole = {name: value for name, value in {**before, **card}.items() if value}
    connection.execute(update(document_versions).where(_is(document_id, version_id)).values(card=whole))
    _relate(connection, document_id, version_id, whole)


def take_cards(connection: Connection, versions: Sequence[Key]) -> None:
    """Each document says from now on what the card of this version of it says; what belongs to a version goes if that
    is silent."""
    if not versions:
        return
    new = table_of(versions)
    card = document_versions.c.card
    kept = {name: func.coalesce(card[name].astext, documents.c[name]) for name in KEPT_FIELDS}
    connection.execute(
        update(documents)
        .where(documents.c.document_id == new.c.document_id, same_version(document_versions, new))
        .values(**kept, effective_date=card["effective_date"].astext, updated_at=func.clock_timestamp())
    )


def receive_card(connection: Connection, document_id: str, version_id: str, card: Card) -> bool:
    """A card that came with these bytes, or for them. Returns whether the document says so now.

    It waits with its version while another one answers: until then what is cited is of that one.
    """
    save_card(connection, document_id, version_id, card)
    active: str | None = connection.execute(
        select(documents.c.active_version).where(documents.c.document_id == document_id)
    ).scalar_one()
    if active not in (None, version_id) or not card:
        return False
    take_cards(connection, [(document_id, version_id)])
    return True


@dataclass(frozen=True, slots=True)
class Described:
    document_id: str
    version_id: str
    changed: bool
    """Whether the document that answers says something else now, so that the index must be told."""


def describe(connection: Connection, landing_key: str, card: Card, sidecar_sha256: str) -> Described | None:
    """A sidecar that came after its file: it is of the newest version. None when no living document is at the key."""
    row = connection.execute(
        select(documents.c.document_id, document_versions.c.version_id)
        .join(document_versions, document_versions.c.document_id == documents.c.document_id)
        .where(documents.c.landing_key == landing_key, documents.c.deleted_at.is_(None))
        .order_by(document_versions.c.number.desc())
        .limit(1)
    ).one_or_none()
    if row is None:
        return None
    connection.execute(
        update(documents).where(documents.c.document_id == row.document_id).values(sidecar_sha256=sidecar_sha256)
    )
    changed = receive_card(connection, row.document_id, row.version_id, card)
    return Described(row.document_id, row.version_id, changed)


def change_card(connection: Connection, document_id: str, version_id: str, changes: Mapping[str, Any]) -> None:
    """A correction by hand, of the version that answers: at once, and kept for when the version is restored."""
    save_card(connection, document_id, version_id, changes)
    on_document = {name: changes[name] for name in _ON_DOCUMENT if name in changes}
    if on_document:
        connection.execute(
            update(documents)
            .where(documents.c.document_id == document_id)
            .values(**on_document, updated_at=func.clock_timestamp())
        )


def relations_of(
    connection: Connection, principal: Principal, document_id: str, version_id: str | None
) -> list[dict[str, Any]]:
    """What this version supersedes or amends: kind, target as it was written, and the document that is meant by it,
    where the principal may see one."""
    rows = connection.execute(
        select(version_relations, _other.c.document_id.label("meant"), _other.c.active_version, _other.c.file_name)
        .outerjoin(_other, and_(_means(_other), may_see(principal, _other), _other.c.document_id != document_id))
        .where(version_relations.c.document_id == document_id, version_relations.c.version_id == version_id)
        .order_by(version_relations.c.kind, version_relations.c.target)
    ).all()
    return [
        {
            "kind": row.kind,
            "target": row.target,
            "document_id": row.meant,
            "version_id": row.active_version,
            "file_name": row.file_name,
        }
        for row in rows
    ]


def related_versions(
    connection: Connection, principal: Principal, document_ids: Sequence[str] | None = None
) -> Sequence[RowMapping]:
    """Every relation between answering versions that the principal may see.

    Rows: kind, document_id, version_id, file_name, effective_date of the newer one; of_document, of_version of the one
    that it supersedes or amends (only these documents, if given).
    """
    clauses = [
        documents.c.active_version == version_relations.c.version_id,
        documents.c.deleted_at.is_(None),
        may_see(principal),
        may_see(principal, _other),
        _other.c.active_version.is_not(None),
        _other.c.document_id != documents.c.document_id,
    ]
    if document_ids is not None:
        clauses.append(_other.c.document_id.in_(document_ids))
    return (
        connection.execute(
            select(
                version_relations.c.kind,
                documents.c.document_id,
                version_relations.c.version_id,
                documents.c.file_name,
                documents.c.effective_date,
                _other.c.document_id.label("of_document"),
                _other.c.active_version.label("of_version"),
            )
            .join(documents, documents.c.document_id == version_relations.c.document_id)
            .join(_other, _means(_other))
            .where(*clauses)
            .order_by(documents.c.created_at, version_relations.c.kind)
        )
        .mappings()
        .all()
    )


def _means(other: Any) -> Any:
    """A target is a document's id, or the name of its file; among namesakes each that lives is meant."""
    named = func.lower(other.c.file_name) == func.lower(version_relations.c.target)
    return and_(or_(other.c.document_id == version_relations.c.target, named), other.c.deleted_at.is_(None))


def _relate(connection: Connection, document_id: str, version_id: str, card: Card) -> None:
    of_version = and_(version_relations.c.document_id == document_id, version_relations.c.version_id == version_id)
    connection.execute(delete(version_relations).where(of_version))
    rows = [
        {"document_id": document_id, "version_id": version_id, "kind": kind, "target": target}
        for kind in RELATIONS
        for target in card.get(kind, ())
    ]
    if rows:
        connection.execute(insert(version_relations), rows)


def _card_of(document_id: str, version_id: str) -> Any:
    return select(document_versions.c.card).where(_is(document_id, version_id))


def _is(document_id: str, version_id: str) -> Any:
    return and_(document_versions.c.document_id == document_id, document_versions.c.version_id == version_id)
