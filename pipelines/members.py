"""Files inside a file become documents: kept with the content that holds them, registered when it begins to answer.

The bytes lie with the artefacts of the holder's version, so equal archives are unpacked once. When a version becomes
the active one, its members are landed and registered under keys that only the holder's id and their place decide:
doing it again changes nothing, and a new version of the holder updates and deletes them in its own transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path, PurePosixPath

from sqlalchemy import Connection, select

from foundation.card import KEPT_FIELDS, SIDECAR, Card, described_by, merged
from foundation.errors import ResourceLimit
from foundation.landing_card import card_at, looked_at
from foundation.media_kinds import kind_of
from foundation.names import safe_name
from foundation.publication import hide_tables
from foundation.registry.database import transaction
from foundation.registry.erasures import erase_document
from foundation.registry.intake import Arrival, register_arrival
from foundation.registry.members import holders, member_key, member_keys, unpacked
from foundation.registry.table_names import answering_documents
from foundation.registry.tables import documents
from foundation.settings import ParsingSettings
from foundation.stores import Stores
from foundation.types import ClaimedVersion, KeptMember, ObjectVersion, ParsedDocument
from pipelines.parsing.dispatch import HOLDERS

_MB = 1_000_000
_COMPRESSED = (".gz", ".bz2", ".xz")


@dataclass(frozen=True, slots=True)
class LandedMember:
    """A member whose bytes are in the landing bucket."""

    member: KeptMember
    file_name: str
    stored: ObjectVersion
    media_type: str
    card: Card
    sidecar_sha256: str | None


def holds_members(version: ClaimedVersion) -> bool:
    """Whether the version is of a kind that holds files, even if this one is empty."""
    return kind_of(version.media_type) in HOLDERS


def keep_members(stores: Stores, version: ClaimedVersion, parsed: ParsedDocument) -> int:
    """Store the bytes that a parser has unpacked with the version's artefacts; returns how many files there were.

    A document that answers from these bytes already (a re-index with a newer parser) gets its members anew at once.
    """
    members = [(KeptMember(m.path, m.file_name, m.size), Path(m.content)) for m in parsed.members]
    stores.artefacts.save_members(version.version_id, members)
    for member in parsed.members:
        Path(member.content).unlink(missing_ok=True)  # the folder is kept for the whole batch
    with transaction(stores.engine) as connection:
        answering = answering_documents(connection, version.version_id)
    for document_id, name in answering:
        landed = land_members(stores, document_id, version.version_id, name)
        with transaction(stores.engine) as connection:
            if (document_id, name) in answering_documents(connection, version.version_id):
                settle_members(connection, stores, document_id, landed)
    return len(members)


def beyond_limits(connection: Connection, stores: Stores, version: ClaimedVersion) -> ResourceLimit | None:
    """Why the members of this version may not become documents: too deep, or too much with all that came before."""
    members = stores.artefacts.load_members(version.version_id)
    if not members:
        return None
    limits: ParsingSettings = stores.settings.parsing
    above = holders(connection, version.document_id)
    if len(above) >= limits.unpack_depth:
        return ResourceLimit(
            f"{version.file_name} lies {len(above)} archives or mails deep and holds files itself; "
            f"files are unpacked {limits.unpack_depth} deep.",
            fix="Unpack it and upload the files inside, or raise ASKLINE_PARSING__UNPACK_DEPTH.",
        )
    count, size = unpacked(connection, above[-1], version.document_id) if above else (0, 0)
    count, size = count + len(members), size + sum(member.size for _, member in members)
    if count > limits.unpack_members or size > limits.unpack_mb * _MB:
        return ResourceLimit(
            f"{version.file_name}: {count:,} files with {size / _MB:,.0f} MB would come out of one upload; at most "
            f"{limits.unpack_members:,} with {limits.unpack_mb:,} MB are taken.",
            fix="Upload in several parts, or raise ASKLINE_PARSING__UNPACK_MEMBERS or ASKLINE_PARSING__UNPACK_MB.",
        )
    return None


def land_members(stores: Stores, document_id: str, version_id: str, holder_name: str) -> list[LandedMember]:
    """Put the members of a version into the landing bucket; nothing is registered yet. Safe to repeat.

    A sidecar is landed beside the file that it describes and is no document.
    """
    members = stores.artefacts.load_members(version_id)
    names = {member.path for _, member in members}
    sidecars: dict[str, int] = {}
    for ordinal, member in members:
        described = described_by(member.path)
        if described is not None and described in names:
            sidecars.setdefault(described, ordinal)
    landed = []
    for ordinal, member in members:
        if described_by(member.path) in names:
            continue
        name = member.file_name or _inner_name(holder_name)
        key = member_key(document_id, member.path, name)
        beside = sidecars.get(member.path)
        if beside is not None:
            with stores.artefacts.open_member(version_id, beside) as file:
                stores.landing.put(key + SIDECAR, file)
        with stores.artefacts.open_member(version_id, ordinal) as file:
            stored = stores.landing.put(key, file)
        media_type, head = looked_at(stores.landing, stored, name)
        card, sidecar_sha256 = card_at(stores.landing, key, media_type, head)
        landed.append(LandedMember(member, name, stored, media_type, card, sidecar_sha256))
    return landed


def settle_members(
    connection: Connection, stores: Stores, document_id: str, landed: Sequence[LandedMember]
) -> set[date]:
    """Register the landed members as documents of their holder's owner, and delete those that are not in it any more.

    In the transaction in which the holder's version begins to answer. Returns the days on which there is work now.
    """
    holder = connection.execute(
        select(documents)
        .where(documents.c.document_id == document_id, documents.c.deleted_at.is_(None))
        .with_for_update()
    ).one_or_none()
    if holder is None:  # deleted since it was asked for
        return set()
    inherited = {name: value for name in KEPT_FIELDS if (value := getattr(holder, name)) is not None}
    gone = member_keys(connection, document_id)
    days = set()
    for one in sorted(landed, key=lambda one: one.stored.key):
        gone.pop(one.stored.key, None)
        received = register_arrival(
            connection,
            Arrival(
                landing_key=one.stored.key,
                file_name=one.file_name,
                media_type=one.media_type,
                sha256=one.stored.sha256,
                size_bytes=one.stored.size,
                object_version=one.stored.version_id,
                owner=holder.owner,
                acl=tuple(holder.acl),
                domain=holder.domain,
                source="member",
                card=merged(one.card, inherited),
                sidecar_sha256=one.sidecar_sha256,
                parent_id=document_id,
                parent_path=one.member.path,
            ),
        )
        if received.queued:
            days.add(received.arrival_day)
    for member_id in sorted(gone.values()):
        for version in erase_document(connection, member_id, holder.owner).silenced:
            hide_tables(connection, stores.relational, version)
    return days


def _inner_name(holder_name: str) -> str:
    """The one file of a compressed file is called as that is, without its last extension."""
    path = PurePosixPath(holder_name)
    return safe_name(path.stem) if path.suffix.lower() in _COMPRESSED and path.stem.strip(". ") else "content"
