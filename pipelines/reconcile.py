"""Compare the landing bucket with the registry: what was copied there arrives, what was removed there is deleted."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Collection
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from foundation.card import SIDECAR, described_by
from foundation.errors import ConfigurationError, NotFound
from foundation.registry.database import transaction
from foundation.registry.documents import LiveKey, live_keys
from foundation.registry.erasures import keys_in_erasure
from foundation.registry.intake import lock_key
from foundation.registry.members import has_work_on, holder_of_key, is_live_key
from foundation.stores import Stores
from pipelines.arrivals import Outcome, arrive, is_young, leave, take_sidecar

_SETTLING_S = 3
"""A file that changed so recently may still be being written: the store does not list it yet."""
_ASKED = 100
"""Of so many documents whose object is not listed the store is asked whether it ever had one."""


@dataclass(slots=True)
class Reconciled:
    arrived: int = 0
    deleted: int = 0
    unchanged: int = 0


def reconcile(stores: Stores) -> Reconciled:
    """One look at the whole landing store. ConfigurationError when it is not the one that the documents came from."""
    report = Reconciled()
    with transaction(stores.engine) as connection:
        known, erasing = live_keys(connection), keys_in_erasure(connection)
    # All of them before the first arrives: a sidecar is read with its file, and stands behind it in the list.
    found = dict(stores.landing.listing())
    _require_same_store(stores, known, found)
    for key, version_id in found.items():
        if described_by(key):
            continue
        if key not in known and holder_of_key(key) is not None:
            _sweep(stores, key, version_id)
        elif key in known and known[key].object_version == version_id:
            report.unchanged += 1
        elif key not in erasing or key in known:
            report.arrived += _arrived(stores, key, version_id)
    for key in filter(None, map(described_by, found)):
        if key in known and known[key].sidecar_sha256 != _sha256_of_sidecar(stores, key):
            take_sidecar(stores, key)
    for key, (document_id, _, _) in known.items():
        if key not in found:
            report.deleted += leave(stores, key, document_id)
    return report


def _arrived(stores: Stores, key: str, version_id: str) -> bool:
    try:
        version = stores.landing.head(key, version_id)
    except NotFound:  # removed since it was listed
        return False
    return arrive(stores, version) is Outcome.QUEUED


def _sha256_of_sidecar(stores: Stores, key: str) -> str | None:
    try:
        return stores.landing.head(key + SIDECAR).sha256
    except NotFound:
        return None


def _sweep(stores: Stores, key: str, version_id: str) -> None:
    """A member that was landed and never registered, since its holder failed or was deleted in that moment."""
    try:
        if is_young(stores.landing.head(key, version_id)):
            return
    except NotFound:
        return
    with transaction(stores.engine) as connection:
        lock_key(connection, key)
        if not has_work_on(connection, holder_of_key(key) or "") and not is_live_key(connection, key):
            stores.landing.purge(key)


def _require_same_store(stores: Stores, known: dict[str, LiveKey], found: Collection[str]) -> None:
    """A store that vanished (an unmounted disk, another bucket) must not look like the deletion of every document.

    What a person deletes leaves its versions in a versioned store; a store that has nothing of any document, not even
    that, is another one.
    """
    if not known or any(key in found for key in known):
        return
    if not any(stores.landing.versions(key) for key in islice(known, _ASKED)):
        raise ConfigurationError(
            "The landing store holds nothing of the documents that the registry knows: it is not where they came from.",
            fix="Mount the folder again, or correct ASKLINE_LANDING_DIR; on S3 ASKLINE_S3__BUCKET and its prefix.",
        )


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
