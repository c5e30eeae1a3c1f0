"""What an upload does with a file: the bytes into the landing bucket, then document and version, in one transaction."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import BinaryIO

from foundation.card import SIDECAR, Card, checked, described_by, merged, read_sidecar
from foundation.errors import CardRefused, EmptyInput, TooLarge
from foundation.index_access import tell_index
from foundation.landing_card import card_at
from foundation.media_type import HEAD, check_upload
from foundation.names import safe_name
from foundation.registry.cards import describe
from foundation.registry.database import transaction
from foundation.registry.intake import UPLOADS, Arrival, Received, lock_key, register_arrival
from foundation.types import Principal
from query_service.services import Services

_MB = 1_000_000


@dataclass(frozen=True, slots=True)
class Sent:
    """A file of a request; `size` in bytes."""

    name: str
    size: int
    file: BinaryIO


@dataclass(frozen=True, slots=True)
class Intake:
    """Where the files of one request go, and what its form says of all of them."""

    services: Services
    principal: Principal
    acl: tuple[str, ...]
    domain: str
    card: Card

    def receive(self, sent: Sent, sidecar: bytes | None = None) -> Received:
        """A document or a new version of one, with the sidecar that came beside it. Raises what is wrong with it."""
        name, stores = safe_name(sent.name), self.services.stores
        self._check_size(name, sent.size)
        head = sent.file.read(HEAD)
        media_type = check_upload(head, sent.size, name)
        sent.file.seek(0)
        if sidecar is not None:
            checked(read_sidecar(sidecar, name + SIDECAR), name + SIDECAR)
        key = self._key(name)
        with transaction(stores.engine) as connection:
            # Under the key's lock from the first byte, so that neither a scan nor an erasure comes in between.
            lock_key(connection, key)
            stored = stores.landing.put(key, sent.file)
            if sidecar is not None:
                stores.landing.put(key + SIDECAR, sidecar)
            found, sidecar_sha256 = card_at(stores.landing, key, media_type.name, head)
            received = register_arrival(
                connection,
                Arrival(
                    landing_key=key,
                    file_name=name,
                    media_type=media_type.name,
                    sha256=stored.sha256,
                    size_bytes=stored.size,
                    object_version=stored.version_id,
                    owner=self.principal.name,
                    acl=self.acl,
                    domain=self.domain,
                    source="api",
                    card=merged(self.card, found),
                    sidecar_sha256=sidecar_sha256,
                ),
            )
        if received.card_changed:
            tell_index(stores.engine, stores.search, received.version_id)
        return received

    def describe(self, name: str, sidecar: bytes) -> str:
        """A sidecar that came alone, for a file that is there already; returns the document's id. CardRefused."""
        name, stores = safe_name(name), self.services.stores
        card = merged(self.card, checked(read_sidecar(sidecar, name), name))
        described = described_by(name)
        assert described is not None
        key = self._key(described)
        with transaction(stores.engine) as connection:
            lock_key(connection, key)
            told = describe(connection, key, card, hashlib.sha256(sidecar).hexdigest())
            if told is None:
                raise CardRefused(
                    f"{name} describes {described}, which is not among your uploads.",
                    fix="Upload both in one request, or the file first.",
                )
            stores.landing.put(key + SIDECAR, sidecar)
        if told.changed:
            tell_index(stores.engine, stores.search, told.version_id)
        return told.document_id

    def _check_size(self, name: str, size: int) -> None:
        limit = self.services.settings.service.max_upload_mb * _MB
        if size > limit:
            raise TooLarge(f"{name} has {size / _MB:,.1f} MB; at most {limit // _MB:,} MB are accepted.")
        if size == 0:
            raise EmptyInput(f"{name} is empty (0 bytes).", fix="Upload a file that has content.")

    def _key(self, name: str) -> str:
        return f"{UPLOADS}/{self.principal.name}/{name}"
