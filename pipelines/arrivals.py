"""What happens to a document when something has happened to its object in the landing store."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import Enum
from pathlib import PurePosixPath

from foundation.index_access import tell_index
from foundation.landing_card import card_at, looked_at, sidecar_at
from foundation.names import safe_name
from foundation.publication import hide_tables
from foundation.registry.cards import describe
from foundation.registry.database import transaction
from foundation.registry.erasures import erase_document
from foundation.registry.intake import UPLOADS, Arrival, lock_key, register_arrival
from foundation.stores import Stores
from foundation.types import ObjectVersion

UPLOAD_GRACE_S = 60
"""An object that the service has just stored is registered by the service itself, with the ACL that came with it."""


class Outcome(Enum):
    QUEUED = "queued"
    KNOWN = "known"
    YOUNG = "young"
    """Left to the service for now; whoever sees it later than UPLOAD_GRACE_S takes it."""


def is_young(version: ObjectVersion) -> bool:
    return (datetime.now(UTC) - version.stored_at).total_seconds() < UPLOAD_GRACE_S


def arrive(stores: Stores, version: ObjectVersion) -> Outcome:
    """A file that lies in the landing store and is not known as it is now."""
    parts = PurePosixPath(version.key).parts
    uploaded_by = parts[1] if len(parts) > 2 and parts[0] == UPLOADS else None
    if uploaded_by and is_young(version):
        return Outcome.YOUNG
    acl = (f"user:{uploaded_by}",) if uploaded_by else stores.settings.ingestion.scan_acl
    media_type, head = looked_at(stores.landing, version, parts[-1])
    with transaction(stores.engine) as connection:
        lock_key(connection, version.key)
        card, sidecar_sha256 = card_at(stores.landing, version.key, media_type, head)
        received = register_arrival(
            connection,
            Arrival(
                landing_key=version.key,
                file_name=safe_name(parts[-1]),
                media_type=media_type,
                sha256=version.sha256,
                size_bytes=version.size,
                object_version=version.version_id,
                owner=uploaded_by or stores.settings.service.local_principal,
                acl=acl,
                domain=stores.settings.domain,
                source="scan",
                card=card,
                sidecar_sha256=sidecar_sha256,
            ),
        )
    if received.card_changed:
        tell_index(stores.engine, stores.search, received.version_id)
    return Outcome.QUEUED if received.queued else Outcome.KNOWN


def take_sidecar(stores: Stores, key: str) -> None:
    """A sidecar that is new or has changed beside the file at `key`; nothing happens while that is not known."""
    with transaction(stores.engine) as connection:
        lock_key(connection, key)
        card, sha256 = sidecar_at(stores.landing, key)
        told = describe(connection, key, card, sha256) if sha256 is not None else None
    if told is not None and told.changed:
        tell_index(stores.engine, stores.search, told.version_id)


def leave(stores: Stores, key: str, document_id: str) -> bool:
    """Delete the document whose object somebody has removed; False when it is there after all."""
    with transaction(stores.engine) as connection:
        lock_key(connection, key)
        if stores.landing.exists(key):
            return False
        for version in erase_document(connection, document_id, "landing folder").silenced:
            hide_tables(connection, stores.relational, version)
    return True
