"""POST /upload: files into the landing bucket, registered in one transaction each, then a nudge for Dagster."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from typing import Annotated, Any

from fastapi import APIRouter, BackgroundTasks, Form, Query, Request, UploadFile

from foundation.access import parse_acl
from foundation.card import SIDECAR_BYTES, checked, described_by
from foundation.errors import AsklineError
from foundation.registry.claims import ask_for_run
from foundation.registry.database import transaction
from foundation.registry.documents import received_document
from foundation.registry.members import descendants
from foundation.types import Status
from query_service.api.card import checked_domain
from query_service.api.common import ServicesDep, WriterDep
from query_service.api.idempotency import OnceDep
from query_service.api.outcome import outcome_of
from query_service.api.records import full_record
from query_service.intake import Intake, Sent
from query_service.problems import problem_body
from query_service.services import Services

router = APIRouter(tags=["documents"])

_FINAL = (Status.INDEXED, Status.FAILED, Status.DELETED)


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
    effective_date: Annotated[str | None, Form(description="Since when it holds, YYYY-MM-DD")] = None,
    supersedes: Annotated[
        list[str] | None, Form(description="Id or file name of a document that it takes the place of; repeatable")
    ] = None,
    amends: Annotated[
        list[str] | None, Form(description="Id or file name of a document that it amends; repeatable")
    ] = None,
    wait: Annotated[float, Query(ge=0, le=600, description="Seconds to wait for `indexed` or `failed`")] = 0,
) -> dict[str, Any]:
    """Each file becomes a document or a new version of one; `items` has a record or an error for each.

    `NAME.meta.json` is no document: it holds the card of the file `NAME`, sent with it or before. What the form says
    goes before it, and it before a Markdown file's front matter.

    The error of a single bad file is the response's own; among several it stands in its item and the others go on.
    """
    said = {
        "document_type": document_type,
        "authority": authority,
        "source_url": source_url,
        "accessed_at": accessed_at,
        "licence": licence,
        "effective_date": effective_date,
        "supersedes": supersedes,
        "amends": amends,
    }
    card = checked(said)
    entries = parse_acl(acl) if acl else (f"user:{principal.name}",)
    batch = _Batch(Intake(services, principal, entries, checked_domain(domain) or services.settings.domain, card))

    async def act() -> list[dict[str, Any]]:
        await asyncio.to_thread(batch.take_all, files)
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

    intake: Intake
    items: list[dict[str, Any]] = field(default_factory=list)
    errors: list[AsklineError] = field(default_factory=list)
    days: set[date] = field(default_factory=set)

    def take_all(self, files: Sequence[UploadFile]) -> None:
        """A sidecar goes with the file that it describes, or alone to one that is there already."""
        described = {described_by(file.filename or ""): file for file in files}
        described.pop(None, None)
        for file in files:
            if described_by(file.filename or "") is None:
                self._take(file, described.pop(file.filename, None))
        for sidecar in described.values():
            self._describe(sidecar)

    def _take(self, file: UploadFile, sidecar: UploadFile | None) -> None:
        with self._each(file):
            beside = None if sidecar is None else sidecar.file.read(SIDECAR_BYTES + 1)
            received = self.intake.receive(Sent(file.filename or "", file.size or 0, file.file), beside)
            self.items.append({"document_id": received.document_id, "duplicate_of": received.duplicate_of})
            if received.queued:
                self.days.add(received.arrival_day)

    def _describe(self, sidecar: UploadFile) -> None:
        with self._each(sidecar):
            document_id = self.intake.describe(sidecar.filename or "", sidecar.file.read(SIDECAR_BYTES + 1))
            self.items.append({"document_id": document_id, "duplicate_of": None})

    @contextmanager
    def _each(self, file: UploadFile) -> Iterator[None]:
        try:
            yield
        except AsklineError as error:
            if error.transient:
                raise
            self.errors.append(error)
            self.items.append({"file_name": file.filename, "status": "rejected", "error": problem_body(error)})

    def raise_if_all_refused(self) -> None:
        if self.errors and len(self.errors) == len(self.items):
            raise self.errors[0]


def _digest(file: UploadFile) -> str:
    file.file.seek(0)
    digest = hashlib.file_digest(file.file, "sha256").hexdigest()  # type: ignore[arg-type]  # a spooled file reads alike
    file.file.seek(0)
    return digest


def _nudge(services: Services, day: date) -> None:
    with transaction(services.stores.engine) as connection:
        wanted = ask_for_run(connection, day)
    if wanted:
        services.nudge.ingest(day)


async def _until_final(services: Services, items: list[dict[str, Any]], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    ids = [item["document_id"] for item in items if "document_id" in item]

    def open_() -> bool:
        """Whether one of them, or of the files that came out of them, has not ended yet."""
        with transaction(services.stores.engine) as connection:
            inside = [member for document_id in ids for member in descendants(connection, document_id)]
            rows = [received_document(connection, document_id) for document_id in (*ids, *inside)]
        for day in {row["arrival_day"] for row in rows if row["parent_id"] and row["status"] == Status.UPLOADED}:
            _nudge(services, day)
        return any(row["status"] not in _FINAL for row in rows)

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
            shown |= outcome_of(connection, services, row["document_id"], row["latest_version"])
    return shown
