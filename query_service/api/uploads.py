"""POST /upload: files into the landing bucket, registered in one transaction each, then a nudge for Dagster."""

from __future__ import annotations

import asyncio
import hashlib
import time
from dataclasses import dataclass, field
from datetime import date
from typing import Annotated, Any

from fastapi import APIRouter, BackgroundTasks, Form, Query, Request, UploadFile

from foundation.access import parse_acl
from foundation.errors import AsklineError, EmptyInput, TooLarge
from foundation.media_type import HEAD, check_upload
from foundation.names import safe_name
from foundation.registry.claims import ask_for_run
from foundation.registry.database import transaction
from foundation.registry.documents import received_document
from foundation.registry.intake import UPLOADS, Arrival, Received, lock_key, register_arrival
from foundation.types import Principal, Status
from query_service.api.common import ServicesDep, WriterDep
from query_service.api.idempotency import OnceDep
from query_service.api.outcome import outcome_of
from query_service.api.records import full_record
from query_service.problems import problem_body
from query_service.services import Services

router = APIRouter(tags=["documents"])

_FINAL = (Status.INDEXED, Status.FAILED, Status.DELETED)
_MB = 1_000_000


@router.post("/upload", status_code=202, summary="Upload one or many files")
async def upload(
    request: Request,
    background: BackgroundTasks,
    services: ServicesDep,
    principal: WriterDep,
    once: OnceDep,
    files: list[UploadFile],
    document_type: Annotated[str | None, Form()] = None,
    authority: Annotated[str | None, Form()] = None,
    domain: Annotated[str | None, Form()] = None,
    acl: Annotated[list[str] | None, Form(description="user:NAME, group:NAME or public; absent: yours alone")] = None,
    source_url: Annotated[str | None, Form()] = None,
    accessed_at: Annotated[str | None, Form()] = None,
    licence: Annotated[str | None, Form()] = None,
    wait: Annotated[float, Query(ge=0, le=600, description="Seconds to wait for `indexed` or `failed`")] = 0,
) -> dict[str, Any]:
    """Each file becomes a document or a new version of one; `items` has a record or an error for each.

    The error of a single bad file is the response's own; among several it stands in its item and the others go on.
    """
    card = {
        "document_type": document_type,
        "authority": authority,
        "source_url": source_url,
        "accessed_at": accessed_at,
        "licence": licence,
    }
    entries = parse_acl(acl) if acl else (f"user:{principal.name}",)
    batch = _Batch(services, principal, entries, card, domain or services.settings.domain)

    async def act() -> list[dict[str, Any]]:
        for file in files:
            await asyncio.to_thread(batch.take, file)
        batch.raise_if_all_refused()
        for day in sorted(batch.days):
            if wait:  # the response waits for the run, so the run cannot wait for the response
                await asyncio.to_thread(_nudge, services, day)
            else:
                background.add_task(_nudge, services, day)
        if wait:
            await _until_final(services, batch.items, wait)
        return batch.items

    described = [[file.filename, await asyncio.to_thread(_digest, file)] for file in files] if once.keyed else []
    items = await once([described, card, entries], act)
    return {"items": [await asyncio.to_thread(_shown, services, item, request, bool(wait)) for item in items]}


@dataclass
class _Batch:
    """The files of one request, each for itself."""

    services: Services
    principal: Principal
    acl: tuple[str, ...]
    card: dict[str, str | None]
    domain: str
    items: list[dict[str, Any]] = field(default_factory=list)
    errors: list[AsklineError] = field(default_factory=list)
    days: set[date] = field(default_factory=set)

    def take(self, file: UploadFile) -> None:
        try:
            received = _receive(self.services, self.principal, file, self.acl, self.card, self.domain)
        except AsklineError as error:
            if error.transient:
                raise
            self.errors.append(error)
            self.items.append({"file_name": file.filename, "status": "rejected", "error": problem_body(error)})
            return
        self.items.append({"document_id": received.document_id, "duplicate_of": received.duplicate_of})
        if received.queued:
            self.days.add(received.arrival_day)

    def raise_if_all_refused(self) -> None:
        if self.errors and len(self.errors) == len(self.items):
            raise self.errors[0]


def _digest(file: UploadFile) -> str:
    file.file.seek(0)
    digest = hashlib.file_digest(file.file, "sha256").hexdigest()  # type: ignore[arg-type]  # a spooled file reads alike
    file.file.seek(0)
    return digest


def _receive(
    services: Services,
    principal: Principal,
    file: UploadFile,
    acl: tuple[str, ...],
    card: dict[str, str | None],
    domain: str,
) -> Received:
    name = safe_name(file.filename or "")
    limit = services.settings.service.max_upload_mb * _MB
    size = file.size or 0
    if size > limit:
        raise TooLarge(f"{name} has {size / _MB:,.1f} MB; at most {limit // _MB:,} MB are accepted.")
    if size == 0:
        raise EmptyInput(f"{name} is empty (0 bytes).", fix="Upload a file that has content.")
    head = file.file.read(HEAD)
    media_type = check_upload(head, size, name)
    file.file.seek(0)
    key = f"{UPLOADS}/{principal.name}/{name}"
    stores = services.stores
    with transaction(stores.engine) as connection:
        # Under the key's lock from the first byte, so that neither a scan nor an erasure comes in between.
        lock_key(connection, key)
        stored = stores.landing.put(key, file.file)
        return register_arrival(
            connection,
            Arrival(
                landing_key=key,
                file_name=name,
                media_type=media_type.name,
                sha256=stored.sha256,
                size_bytes=stored.size,
                object_version=stored.version_id,
                owner=principal.name,
                acl=acl,
                domain=domain,
                source="api",
                card=card,
            ),
        )


def _nudge(services: Services, day: date) -> None:
    with transaction(services.stores.engine) as connection:
        wanted = ask_for_run(connection, day)
    if wanted:
        services.nudge.ingest(day)


async def _until_final(services: Services, items: list[dict[str, Any]], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    ids = [item["document_id"] for item in items if "document_id" in item]

    def open_() -> bool:
        with transaction(services.stores.engine) as connection:
            return any(received_document(connection, i)["status"] not in _FINAL for i in ids)

    while time.monotonic() < deadline and await asyncio.to_thread(open_):
        await asyncio.sleep(0.2)


def _shown(services: Services, item: dict[str, Any], request: Request, waited: bool) -> dict[str, Any]:
    if "document_id" not in item:
        return item  # refused
    with transaction(services.stores.engine) as connection:
        row = received_document(connection, item["document_id"])
        shown = full_record(connection, row, request).model_dump(mode="json")
        shown["duplicate_of"] = item["duplicate_of"]
        if waited and row["latest_version"]:
            shown |= outcome_of(connection, services, row["latest_version"])
    return shown
