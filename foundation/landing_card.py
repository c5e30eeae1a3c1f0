"""The card of what lies in the landing bucket: a sidecar beside the file, front matter in it."""

from __future__ import annotations

import hashlib

from foundation.card import IGNORED, SIDECAR, Card, front_matter, merged, read_sidecar, tolerant
from foundation.errors import AsklineError, CardRefused, NotFound
from foundation.media_type import HEAD, detect, detect_file, is_container
from foundation.ports.objects import ObjectStore
from foundation.types import ObjectVersion

_UNKNOWN = "application/octet-stream"


def card_at(landing: ObjectStore, key: str, media_type: str, head: bytes) -> tuple[Card, str | None]:
    """(card, sha256 of the sidecar if there is one) of the file at `key`, of which `head` is the beginning.

    What is wrong in it is named in the card for the reader: nobody waits here to have it corrected.
    """
    name = key.rpartition("/")[2]
    written = front_matter(head, name) if media_type == "text/markdown" else {}
    beside, sha256 = sidecar_at(landing, key)
    return merged(beside, written), sha256


def looked_at(landing: ObjectStore, stored: ObjectVersion, name: str) -> tuple[str, bytes]:
    """(media type, the beginning of the bytes) of what lies there under this name."""
    try:
        with landing.open(stored.key, stored.version_id) as file:
            head = file.read(HEAD)
        if not stored.size:
            return _UNKNOWN, head
        if not is_container(head):
            return detect(head, stored.size, name).name, head
        with landing.local_path(stored.key, stored.version_id) as path:
            return detect_file(path, name).name, head
    except AsklineError:
        return _UNKNOWN, b""  # raw_files looks again and fails the version with the reason


def sidecar_at(landing: ObjectStore, key: str) -> tuple[Card, str | None]:
    """(card, sha256) of the sidecar of the file at `key`; ({}, None) without one."""
    name = key.rpartition("/")[2] + SIDECAR
    if not landing.exists(key + SIDECAR):
        return {}, None
    try:
        data = landing.read(key + SIDECAR)
    except NotFound:  # it is being written: a scan takes it when it is whole
        return {}, None
    sha256 = hashlib.sha256(data).hexdigest()
    try:
        return tolerant(read_sidecar(data, name), name), sha256
    except CardRefused as error:
        return {IGNORED: [error.message]}, sha256
