"""citations: the last look before an answer leaves. A quote that is not the stored text, letter for letter, goes."""

from __future__ import annotations

from typing import Any

from foundation.registry.database import transaction
from foundation.registry.documents import cited_documents
from foundation.registry.stages import parser_of
from query_service.services import Services
from query_service.state import QuestionState


def keep_supported(services: Services, state: QuestionState) -> dict[str, Any]:
    """Check each citation against the registry and the stored text once more; drop claims that lose their proof."""
    answer, stores = state["answer"], services.stores
    versions = [citation.version_id for citation in answer.citations]
    with transaction(stores.engine) as connection:
        visible = cited_documents(connection, state["principal"], versions, state.get("document_ids"))
        parsers = {version: parser_of(connection, version) for version in visible}
    kept = []
    for citation in answer.citations:
        parser = parsers.get(citation.version_id)
        if (
            parser
            and stores.artefacts.text(citation.version_id, parser)[citation.start : citation.end] == citation.quote
        ):
            kept.append(citation)
    if len(kept) == len(answer.citations):
        return {}
    numbers = {citation.n for citation in kept}
    for claim in answer.claims:
        if claim.citations and not numbers.intersection(claim.citations):
            claim.supported, claim.why = False, "What it cites was replaced or deleted meanwhile."
        claim.citations = [n for n in claim.citations if n in numbers]
    answer.citations = kept
    supported = [claim for claim in answer.claims if claim.supported]
    answer.claims = supported
    answer.text = "\n\n".join(claim.text + "".join(f"[{n}]" for n in claim.citations) for claim in supported)
    if not supported:
        answer.status = "no_evidence"
        answer.text = "What this answer rested on was replaced or deleted a moment ago. Please ask again."
    return {"answer": answer}
