"""/documents/{document_id}/versions: the history of a document, and the way back to an older version."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, BackgroundTasks, Request

from foundation.errors import Conflict
from foundation.registry import documents as registry
from foundation.registry.audit import record as audit
from foundation.registry.claims import ask_for_run
from foundation.registry.intake import lock_key, restore_version
from foundation.types import Status
from query_service.api.common import ConnectionDep, PrincipalDep, ServicesDep, WriterDep, require_owner
from query_service.api.records import full_record

router = APIRouter(tags=["documents"])


@router.get("/documents/{document_id}/versions", summary="Its history, newest first")
def list_versions(document_id: str, connection: ConnectionDep, principal: PrincipalDep) -> dict[str, Any]:
    """Each content that the document has had, with its state; one of them answers now."""
    row = registry.get_document(connection, principal, document_id)
    intervals = registry.active_times(connection, document_id)
    items = [
        {
            "version_id": v["version_id"],
            "number": v["number"],
            "status": v["status"],
            "active": v["version_id"] == row["active_version"],
            "active_times": intervals.get(v["version_id"], []),
            "size_bytes": v["size_bytes"],
            "arrived_at": v["arrived_at"],
            "indexed_at": v["indexed_at"],
            "error_code": v["error_code"],
            "error_message": v["error_message"],
            "error_fix": v["error_fix"],
            "card": v["card"],
        }
        for v in registry.list_versions(connection, document_id)
    ]
    return {"items": items, "next_cursor": None}


@router.post(
    "/documents/{document_id}/versions/{version_id}/restore",
    status_code=202,
    summary="Make an older version the one that answers",
)
def restore(
    document_id: str,
    version_id: str,
    request: Request,
    background: BackgroundTasks,
    services: ServicesDep,
    connection: ConnectionDep,
    principal: WriterDep,
) -> dict[str, Any]:
    """It becomes the newest version again, and answers once it is whole; until then the one of now answers."""
    require_owner(registry.get_document(connection, principal, document_id), principal)
    version = registry.version_of(connection, principal, document_id, version_id)
    if version["status"] != Status.INDEXED:
        raise Conflict(
            f"{version['file_name']}: version {version['number']} is {version['status']}, so it was never whole.",
            fix="GET /documents/{id}/versions lists those that are `indexed`.",
        )
    if version["active_version"] == version_id and version["number"] == registry.newest(connection, document_id):
        raise Conflict(
            f"{version['file_name']}: version {version['number']} answers already.", fix="Nothing is to be done."
        )
    lock_key(connection, version["landing_key"])
    bytes_then = services.stores.landing.open(version["landing_key"], version["object_version"])
    with bytes_then:
        # The bucket's newest object is this version again: else a scan would take the other for a change.
        stored = services.stores.landing.put(version["landing_key"], bytes_then)
    restore_version(connection, document_id, version_id, stored.version_id)
    audit(connection, principal.name, "restore", document_id, {"version": version_id})
    day = version["arrival_day"]
    if ask_for_run(connection, day):
        background.add_task(services.nudge.ingest, day)
    fresh = registry.get_document(connection, principal, document_id)
    return full_record(connection, fresh, request, principal).model_dump(mode="json")
