"""/documents: records, content, text, page images, changes, retry, deletion."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, BackgroundTasks, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict
from sqlalchemy import Connection, RowMapping

from foundation.access import parse_acl
from foundation.errors import Conflict, InvalidInput, NotFound
from foundation.index_access import tell_index
from foundation.media_kinds import kind_of
from foundation.page_images import boxes_for_span, render_page
from foundation.publication import hide_tables
from foundation.registry import documents as registry
from foundation.registry.artefacts import chunks_of
from foundation.registry.audit import record as audit
from foundation.registry.cards import change_card
from foundation.registry.claims import ask_for_run
from foundation.registry.database import transaction
from foundation.registry.erasures import request_erasure
from foundation.registry.intake import requeue
from foundation.registry.members import descendants
from foundation.registry.stages import parser_of
from foundation.types import Status
from query_service.api.card import checked_changes
from query_service.api.common import (
    ConnectionDep,
    PrincipalDep,
    ServicesDep,
    WriterDep,
    checked_cursor,
    page,
    require_owner,
)
from query_service.api.records import full_record, record
from query_service.api.spans import Span, SpanDep

router = APIRouter(tags=["documents"])

Version = Annotated[str | None, Query(description="Version id; the active version when absent")]


@router.get("/documents", summary="Documents that you can see, newest first")
def list_documents(
    request: Request,
    connection: ConnectionDep,
    principal: PrincipalDep,
    status: Literal["uploaded", "processing", "indexed", "failed", "deleted"] | None = None,
    document_type: str | None = None,
    domain: str | None = None,
    q: Annotated[str | None, Query(description="Part of the file name")] = None,
    parent: Annotated[str | None, Query(description="Id of the archive or mail that they came out of")] = None,
    cursor: str | None = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> dict[str, Any]:
    """A page of records, without table links and runs. Deleted documents are listed only when asked for by status."""
    rows = registry.list_documents(
        connection,
        principal,
        status_is=status,
        document_type=document_type,
        domain=domain,
        file_name_has=q,
        parent_id=parent,
        after=checked_cursor(cursor, "doc"),
        limit=limit + 1,
    )
    records = [record(row, str(request.base_url)).model_dump(mode="json") for row in rows]
    return page(records, limit, "document_id")


@router.get("/documents/{document_id}", summary="One document with its state, links and runs")
def get_document(
    document_id: str, request: Request, connection: ConnectionDep, principal: PrincipalDep
) -> dict[str, Any]:
    """The record with its table links and the ids of the Dagster runs that worked on it."""
    row = registry.get_document(connection, principal, document_id)
    return full_record(connection, row, request, principal).model_dump(mode="json")


class DocumentChange(BaseModel):
    model_config = ConfigDict(extra="forbid")

    acl: list[str] | None = None
    document_type: str | None = None
    authority: str | None = None
    source_url: str | None = None
    accessed_at: str | None = None
    licence: str | None = None
    effective_date: str | None = None
    supersedes: list[str] | None = None
    amends: list[str] | None = None


_INDEXED = {"acl", "document_type"}


@router.patch("/documents/{document_id}", summary="Change who may see it, or its card")
def change_document(
    document_id: str, change: DocumentChange, request: Request, services: ServicesDep, principal: WriterDep
) -> dict[str, Any]:
    """What is absent stays. Only its owner or an admin may do it."""
    stores = services.stores
    values: dict[str, Any] = change.model_dump(exclude_unset=True)
    with transaction(stores.engine) as connection:
        row = registry.get_document(connection, principal, document_id)
        if not values:
            raise InvalidInput(
                f"The change is empty: {', '.join(DocumentChange.model_fields)} can be changed.",
                fix="Send at least one of these fields.",
            )
        require_owner(row, principal)
        card = checked_changes({name: value for name, value in values.items() if name != "acl"})
        values |= card
        # The newest too: it may be indexed already and not be active yet.
        indexed = {row["active_version"], row["latest_version"]} - {None} if values.keys() & _INDEXED else set()
        if "acl" in values:
            values["acl"] = list(parse_acl(values["acl"] or []))
            if not values["acl"]:
                raise InvalidInput("acl: nobody could see or delete it any more.", fix="Name at least yourself.")
            registry.change_document(connection, document_id, {"acl": values["acl"]})
            indexed |= _share_members(connection, document_id, values["acl"])
        change_card(connection, document_id, row["active_version"] or row["latest_version"], card)
        audit(connection, principal.name, "change", document_id, {"fields": sorted(values)})
    tell_index(stores.engine, stores.search, *sorted(indexed))
    with transaction(stores.engine) as connection:
        try:
            fresh = registry.get_document(connection, principal, document_id)
        except NotFound:  # the change took the document out of the principal's own sight
            return {"document_id": document_id, **values}
        return full_record(connection, fresh, request, principal).model_dump(mode="json")


def _share_members(connection: Connection, document_id: str, acl: list[str]) -> set[str]:
    """Whoever may see an archive or a mail may see what is in it, and nobody else. Returns the members' versions."""
    versions: set[str] = set()
    for member_id in descendants(connection, document_id):
        registry.change_document(connection, member_id, {"acl": acl})
        versions |= {version["version_id"] for version in registry.list_versions(connection, member_id)}
    return versions


@router.get(
    "/documents/{document_id}/content",
    summary="The bytes, as they came",
    response_class=Response,
    responses={200: {"content": {"application/octet-stream": {}}}},
)
def content(
    document_id: str,
    services: ServicesDep,
    connection: ConnectionDep,
    principal: PrincipalDep,
    version: Version = None,
) -> StreamingResponse:
    """Always as an attachment. The ETag is the sha256 of the bytes, which is also the version's id."""
    row = registry.version_of(connection, principal, document_id, version)
    file = services.stores.landing.open(row["landing_key"], row["object_version"])
    headers = {
        # Never shown by the browser as a page of this origin: a document is data.
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(row['file_name'])}",
        "Content-Length": str(row["size_bytes"]),
        "ETag": f'"{row["version_id"]}"',
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "sandbox",
    }
    return StreamingResponse(iter(lambda: file.read(1 << 20), b""), media_type=row["media_type"], headers=headers)


@router.get("/documents/{document_id}/text", summary="A span of the parsed text, letter for letter")
def text(
    document_id: str,
    services: ServicesDep,
    connection: ConnectionDep,
    principal: PrincipalDep,
    asked: SpanDep,
    version: Version = None,
) -> dict[str, Any]:
    """With the version, start and end of a citation it gives exactly the citation's quote."""
    row = registry.version_of(connection, principal, document_id, version)
    parser = _parser(connection, row)
    whole = services.stores.artefacts.text(row["version_id"], parser)
    start, end = asked.within(len(whole))
    return {
        "version_id": row["version_id"],
        "start": start,
        "end": end,
        "length": len(whole),
        "text": whole[start:end],
    }


@router.get(
    "/documents/{document_id}/pages/{number}",
    summary="A page as PNG, with a span lit",
    response_class=Response,
    responses={200: {"content": {"image/png": {}}}},
)
def page_image(
    document_id: str,
    number: int,
    services: ServicesDep,
    connection: ConnectionDep,
    principal: PrincipalDep,
    asked: SpanDep,
    version: Version = None,
) -> Response:
    """Pages count from 1. Without a span nothing is lit."""
    row = registry.version_of(connection, principal, document_id, version)
    if kind_of(row["media_type"]) not in ("pdf", "image"):
        raise NotFound(
            f"{row['file_name']} is neither PDF nor image, and only these have page images.",
            fix="GET /documents/{id}/text gives its text, or a span of it.",
        )
    stores = services.stores
    boxes = []
    if asked != Span(None, None):
        parser = _parser(connection, row)
        start, end = asked.within(len(stores.artefacts.text(row["version_id"], parser)))
        words = stores.artefacts.word_boxes(row["version_id"], parser, start, end)
        boxes = boxes_for_span(words, start, end).get(number, [])
    with stores.landing.local_path(row["landing_key"], row["object_version"]) as path:
        megapixels = services.settings.ocr.max_megapixels
        image = render_page(path, number, boxes, name=row["file_name"], megapixels=megapixels)
    return Response(image, media_type="image/png", headers={"Cache-Control": "private, max-age=3600"})


@router.get("/documents/{document_id}/chunks", summary="The chunks of its active version")
def list_chunks(document_id: str, connection: ConnectionDep, principal: PrincipalDep) -> dict[str, Any]:
    """What search finds: spans of the parsed text, in their order."""
    row = registry.version_of(connection, principal, document_id)
    items = [
        {
            "chunk_id": c["chunk_id"],
            "version_id": c["version_id"],
            "ordinal": c["ordinal"],
            "start": c["start_char"],
            "end": c["end_char"],
            "page": c["page"],
            "section": c["section"],
            "tokens": c["tokens"],
        }
        for c in chunks_of(connection, row["version_id"])
    ]
    return {"items": items, "next_cursor": None}


@router.post("/documents/{document_id}/retry", status_code=202, summary="Try a failed version again")
def retry(
    document_id: str,
    request: Request,
    background: BackgroundTasks,
    services: ServicesDep,
    connection: ConnectionDep,
    principal: WriterDep,
) -> dict[str, Any]:
    """Puts it back to `uploaded`; a run takes it up. Only its owner or an admin may do it."""
    row = registry.get_document(connection, principal, document_id)
    require_owner(row, principal)
    if row["status"] != Status.FAILED:
        raise Conflict(f"{document_id} is {row['status']}; only a failed document is tried again.")
    requeue(connection, document_id, row["latest_version"], source="retry")
    audit(connection, principal.name, "retry", document_id, {"version": row["latest_version"]})
    if ask_for_run(connection, row["arrival_day"]):
        background.add_task(services.nudge.ingest, row["arrival_day"])
    fresh = registry.get_document(connection, principal, document_id)
    return full_record(connection, fresh, request).model_dump(mode="json")


@router.delete("/documents/{document_id}", status_code=202, summary="Gone from answers now, from the stores soon")
def delete_document(
    document_id: str,
    request: Request,
    background: BackgroundTasks,
    services: ServicesDep,
    connection: ConnectionDep,
    principal: WriterDep,
) -> dict[str, Any]:
    """It is in no answer any more when the reply comes; a run then erases it from every store and verifies that."""
    require_owner(registry.get_document(connection, principal, document_id), principal)
    requested = request_erasure(connection, principal, document_id)
    for version in requested.silenced:
        hide_tables(connection, services.stores.relational, version)
    background.add_task(services.nudge.erase)
    return {"erasure_id": requested.erasure_id, "status_url": f"{request.base_url}erasures/{requested.erasure_id}"}


def _parser(connection: ConnectionDep, row: RowMapping) -> str:
    parser = parser_of(connection, row["version_id"])
    if parser is None:
        raise NotFound(
            f"{row['file_name']}: this version has no text yet.", fix="GET /documents/{id} shows how far it is."
        )
    return parser
