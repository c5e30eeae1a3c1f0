"""Hybrid retrieval under access: the filter works inside the search, the registry has the last word."""

from __future__ import annotations

from collections.abc import Sequence

from foundation.registry.database import transaction
from foundation.registry.documents import cited_documents
from foundation.stores import Stores
from foundation.types import Hit, Principal, SearchFilter


def retrieve(
    stores: Stores,
    principal: Principal,
    question: str,
    *,
    k: int,
    document_ids: Sequence[str] | None = None,
    document_type: str | None = None,
) -> list[Hit]:
    """At most k chunks of documents that the principal may see and whose active version holds them, best first."""
    chosen = stores.settings.search
    found = stores.search.search(
        question,
        stores.embedder.embed_query(question),
        SearchFilter(principal.grants, tuple(document_ids) if document_ids is not None else None, document_type),
        # Some hits may be of versions that were just replaced or deleted: ask for more than are needed.
        k=2 * k,
        candidates=max(chosen.candidates, 2 * k),
        dense_weight=chosen.dense_weight,
    )
    with transaction(stores.engine) as connection:
        visible = cited_documents(connection, principal, [hit.version_id for hit in found], document_ids)
    return [hit for hit in found if hit.version_id in visible][:k]
