"""POST /search: ranked passages, without an answer."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, Field

from foundation.registry.database import transaction
from foundation.registry.documents import cited_documents
from query_service.api.common import PrincipalDep, ServicesDep
from query_service.guardrails.input_validation import clean_question
from query_service.retrieval import retrieve

router = APIRouter(tags=["ask"])


class SearchFilters(BaseModel):
    document_ids: list[str] | None = None
    document_type: str | None = None


class SearchRequest(BaseModel):
    query: str
    k: int = Field(10, ge=1, le=100)
    filters: SearchFilters = SearchFilters()


@router.post("/search", summary="Passages by words and meaning")
def search(asked: SearchRequest, services: ServicesDep, principal: PrincipalDep) -> dict[str, Any]:
    """The best passages of what you can see, each with its scores and its span, without an answer."""
    query = clean_question(asked.query, services.settings.service)
    hits = retrieve(
        services.stores,
        principal,
        query,
        k=asked.k,
        document_ids=asked.filters.document_ids,
        document_type=asked.filters.document_type,
    )
    with transaction(services.stores.engine) as connection:
        found = cited_documents(connection, principal, [h.version_id for h in hits], asked.filters.document_ids)
    items = [
        {
            "chunk_id": hit.chunk_id,
            "document_id": found[hit.version_id]["document_id"],
            "version_id": hit.version_id,
            "file_name": found[hit.version_id]["file_name"],
            "score": hit.score,
            "scores": dict(hit.scores),
            "quote": hit.text,
            "start": hit.start,
            "end": hit.end,
            "page": hit.page,
            "section": hit.section,
        }
        for hit in hits
        if hit.version_id in found
    ]
    return {"items": items, "next_cursor": None}
