"""Spans become citations: visible documents only, the quote cut from the stored text, never taken from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from foundation.page_images import boxes_for_span
from foundation.registry.artefacts import get_chunk
from foundation.registry.database import transaction
from foundation.registry.documents import cited_documents
from foundation.registry.stages import parser_of
from foundation.stores import Stores
from foundation.types import Principal
from query_service.answer import Citation
from query_service.state import Span


def cite(
    stores: Stores, principal: Principal, spans: Iterable[Span], document_ids: Sequence[str] | None = None
) -> dict[Span, Citation]:
    """Span → citation, numbered in order of appearance. A span that may not be cited is left out.

    Equal spans share a number. What is checked here, against the registry, at this moment: the version is the active
    one of a document that the principal may see, and the span lies inside its text.
    """
    ordered = list(dict.fromkeys(spans))
    versions = list(dict.fromkeys(span.version_id for span in ordered))
    found: dict[Span, Citation] = {}
    with transaction(stores.engine) as connection:
        visible = cited_documents(connection, principal, versions, document_ids)
        parsers = {version: parser_of(connection, version) for version in visible}
        chunks = {span.chunk_id: get_chunk(connection, span.chunk_id) for span in ordered}
    for span in ordered:
        document, parser, chunk = visible.get(span.version_id), parsers.get(span.version_id), chunks[span.chunk_id]
        if document is None or parser is None or chunk is None or chunk["version_id"] != span.version_id:
            continue
        text = stores.artefacts.text(span.version_id, parser)
        if not 0 <= span.start < span.end <= len(text):
            continue
        boxes = boxes_for_span(
            stores.artefacts.word_boxes(span.version_id, parser, span.start, span.end), span.start, span.end
        )
        page = min(boxes) if boxes else chunk["page"]
        found[span] = Citation(
            n=len(found) + 1,
            document_id=document["document_id"],
            version_id=span.version_id,
            chunk_id=span.chunk_id,
            file_name=document["file_name"],
            page=page,
            start=span.start,
            end=span.end,
            quote=text[span.start : span.end],
            box=list(boxes[page][0]) if boxes and page is not None else None,
            source_url=document["source_url"],
            accessed_at=document["accessed_at"],
            licence=document["licence"],
            authority=document["authority"],
            effective_date=document["effective_date"],
            supersedes=document["card"].get("supersedes", []),
            amends=document["card"].get("amends", []),
        )
    return found
