"""rag: sentences of documents that answer the question, each with its span."""

from __future__ import annotations

from foundation.types import SearchFilter
from query_service.reasoning.extraction import EvidenceSentence, extract
from query_service.retrieval import retrieve
from query_service.services import Services
from query_service.state import Finding, QuestionState, Span, Statement


def run(services: Services, state: QuestionState) -> Finding:
    stores, question = services.stores, state["rewritten_question"]
    hits = retrieve(
        stores,
        state["principal"],
        question,
        k=stores.settings.search.k,
        document_ids=state.get("document_ids"),
        document_type=state.get("document_type"),
    )
    if not hits:
        return Finding("rag", "empty", why="No document that you can see matches the question.")
    visible = SearchFilter(
        state["principal"].grants,
        tuple(ids) if (ids := state.get("document_ids")) is not None else None,
        state.get("document_type"),
    )
    found = extract(
        question,
        hits,
        stores.embedder,
        threshold=services.evidence,
        is_known=lambda word: bool(stores.search.search(word, None, visible, k=1, candidates=1)),
        word_vectors=services.word_vectors,
    )
    if found.status == "no_evidence":
        return Finding("rag", "empty", why="No passage of the documents answers the question.")
    return Finding(
        "rag",
        "done",
        statements=[Statement(_said(s), (Span(s.chunk_id, s.version_id, s.start, s.end),)) for s in found.sentences],
    )


def _said(sentence: EvidenceSentence) -> str:
    """A row of a table is said by the cells that were asked for, with the row itself behind."""
    return f"{sentence.said} ({sentence.text})" if sentence.said else sentence.text
