"""/erasures: what a deletion found in each store, what it removed, and what a fresh look found afterwards."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from foundation.registry.erasures import get_erasure
from query_service.api.common import ConnectionDep, PrincipalDep

router = APIRouter(tags=["documents"])

AUDIT = "The audit line: ids, hash, times and who asked; neither names nor content."


@router.get("/erasures/{erasure_id}", summary="How far an erasure is, store by store")
def erasure(erasure_id: str, connection: ConnectionDep, principal: PrincipalDep) -> dict[str, Any]:
    """For each store what was found, what was removed, and a fresh count of what is left."""
    row = get_erasure(connection, principal, erasure_id)
    return {
        "erasure_id": row["erasure_id"],
        "document_id": row["document_id"],
        "status": row["status"],
        "requested_at": row["requested_at"],
        "requested_by": row["requested_by"],
        "finished_at": row["finished_at"],
        "run_id": row["run_id"],
        "attempts": row["attempts"],
        "stores": row["stores"],
        "kept": " ".join([AUDIT, *row["kept"]]),
        "message": row["error_message"],
    }
