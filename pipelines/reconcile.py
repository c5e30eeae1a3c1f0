"""Compare the landing bucket with the registry: what was copied there arrives, what was removed there is deleted."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from foundation.card import described_by
from foundation.errors import ConfigurationError
from foundation.index_access import tell_index
from foundation.landing_card import card_at, looked_at, sidecar_at
from foundation.names import safe_name
from foundation.publication import hide_tables
from foundation.registry.cards import describe
from foundation.registry.database import transaction
from foundation.registry.documents import live_keys
from foundation.registry.erasures import erase_document, keys_in_erasure
from foundation.registry.intake import UPLOADS, Arrival, lock_key, register_arrival
from foundation.registry.members import has_work_on, holder_of_key, is_live_key
from foundation.stores import Stores
from foundation.types import ObjectVersion

_UPLOAD_GRACE_S = 60
"""An object that the service has just stored is registered by the service itself, with the ACL that came with it."""

_SETTLING_S = 3
"""A file that changed so recently may still be being written: the store does not list it yet."""


@dataclass(slots=True)
class Reconciled:
    arrived: int = 0
    deleted: int = 0
    unchanged: int = 0


def reconcile(stores: Stores) -> Reconciled:
    """One look at the whole landing bucket. ConfigurationError when the folder is not the one that it was."""
    _require_bucket(stores)
    report, seen = Reconciled(), set()
    with transaction(stores.engine) as connection:
        known, erasing = live_keys(connection), keys_in_erasure(connection)
    # All of them before the first arrives: a sidecar is read with its file, and stands behind it in the list.
    found = list(stores.landing.current())
    sidecars = {described: version.sha256 for version in found if (described := described_by(version.key))}
    for version in found:
        if described_by(version.key):
            continue
        seen.add(version.key)
        if version.key not in known and holder_of_key(version.key) is not None:
            _sweep(stores, version)
        elif version.key in known and known[version.key].object_version == version.version_id:
            report.unchanged += 1
        elif version.key not in erasing or version.key in known:
            report.arrived += _arrive(stores, version)
    for key, sha256 in sidecars.items():
        if key in known and known[key].sidecar_sha256 != sha256:
            _describe(stores, key)
    for key, (document_id, _, _) in known.items():
        if key not in seen and not stores.landing.exists(key):
            report.deleted += _removed(stores, key, document_id)
    return report


def _sweep(stores: Stores, version: ObjectVersion) -> None:
    """A member that was landed and never registered, since its holder failed or was deleted in that moment."""
    if (datetime.now(UTC) - version.stored_at).total_seconds() < _UPLOAD_GRACE_S:
        return
    with transaction(stores.engine) as connection:
        lock_key(connection, version.key)
        if not has_work_on(connection, holder_of_key(version.key) or "") and not is_live_key(connection, version.key):
            stores.landing.purge(version.key)


def _describe(stores: Stores, key: str) -> None:
    """A sidecar that is new or has changed beside a file that is known."""
    with transaction(stores.engine) as connection:
        lock_key(connection, key)
        card, sha256 = sidecar_at(stores.landing, key)
        told = describe(connection, key, card, sha256) if sha256 is not None else None
    if told is not None and told.changed:
        tell_index(stores.engine, stores.search, told.version_id)


def _removed(stores: Stores, key: str, document_id: str) -> int:
    with transaction(stores.engine) as connection:
        lock_key(connection, key)
        if stores.landing.exists(key):
            return 0
        for version in erase_document(connection, document_id, "landing folder").silenced:
            hide_tables(connection, stores.relational, version)
    return 1


def signature(folder: Path) -> tuple[str, bool]:
    """(what changes when a file of the folder appears, changes or goes; whether one has changed just now).

    A cheap look without reading any file.
    """
    digest, newest = hashlib.sha256(), 0.0
    for path in sorted(folder.rglob("*")):
        if path.relative_to(folder).parts[0].startswith(".") or not path.is_file():
            continue
        stat = path.stat()
        newest = max(newest, stat.st_mtime, stat.st_ctime)
        digest.update(f"{path}\0{stat.st_size}\0{stat.st_mtime_ns}\n".encode())
    return digest.hexdigest(), time.time() - newest < _SETTLING_S


def _require_bucket(stores: Stores) -> None:
    """A landing folder that vanished (an unmounted disk) must not look like the deletion of every document."""
    if not stores.settings.landing_folder.joinpath(".versions").is_dir():
        with transaction(stores.engine) as connection:
            if live_keys(connection):
                raise ConfigurationError(
                    f"The landing folder {stores.settings.landing_folder} is not the one that the documents came from.",
                    fix="Mount it again, or set ASKLINE_LANDING_DIR to where it is.",
                )


def _arrive(stores: Stores, version: ObjectVersion) -> int:
    parts = PurePosixPath(version.key).parts
    uploaded_by = parts[1] if len(parts) > 2 and parts[0] == UPLOADS else None
    if uploaded_by and (datetime.now(UTC) - version.stored_at).total_seconds() < _UPLOAD_GRACE_S:
        return 0
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
    return int(received.queued)


def differs(stores: Stores) -> bool:
    """Whether a scan would find something, judged by keys and the store's own note of each visible file."""
    with transaction(stores.engine) as connection:
        known, erasing = live_keys(connection), keys_in_erasure(connection)
    seen = set()
    for version in stores.landing.current():
        described = described_by(version.key)
        if described is not None:
            if described in known and known[described].sidecar_sha256 != version.sha256:
                return True
            continue
        seen.add(version.key)
        registered = known.get(version.key)
        if registered is None and holder_of_key(version.key) is not None:
            continue  # not a file that somebody put there
        if (registered is None and version.key not in erasing) or (
            registered is not None and registered.object_version != version.version_id
        ):
            return True
    return any(key not in seen and not stores.landing.exists(key) for key in known)
