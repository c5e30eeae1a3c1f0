"""summarization: what a document, or one of its sections, says, in sentences of its own."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlalchemy import RowMapping

from foundation.registry.artefacts import chunks_of
from foundation.registry.database import transaction
from foundation.registry.openings import Opening, visible_openings
from foundation.registry.stages import parser_of
from query_service.reasoning.document_type import load_types
from query_service.reasoning.summary import Summary, summarize
from query_service.reasoning.targets import Target, kind_words, resolve
from query_service.retrieval import retrieve
from query_service.services import Services
from query_service.state import Finding, QuestionState, Span, Statement

_MOST_DOCUMENTS = 3
_SENTENCES_EACH = 4  # where several documents are summed up
_MOST_SENTENCES = 12
_WANTED = re.compile(
    r"\b(\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten)\s+(?:\w+\s+)?(?:sentences?|points?|bullets?)", re.I
)
_ITEM = re.compile(r"\b(rule|step|item|point|paragraph|article|clause|question)\s+(?:no\.? ?|number )?(\d+)\b", re.I)
_NUMBERS = {word: n for n, word in enumerate("one two three four five six seven eight nine ten".split(), 1)}


def run(services: Services, state: QuestionState) -> Finding:
    """Sentences with their spans; empty when the question leaves open which document is meant, or it has no text."""
    target = find_target(services, state)
    if not target.documents:
        return Finding("summarization", "empty", why=target.reason)
    if target.ambiguous and len(target.documents) > _MOST_DOCUMENTS:
        return Finding("summarization", "empty", why=f"{target.reason} Say which one you mean.")
    if (item := _item(state["rewritten_question"], target.section)) and not state.get("forced_routes"):
        return Finding("summarization", "empty", why=f"{item.capitalize()} is to be quoted, not summed up.")
    documents = target.documents[:_MOST_DOCUMENTS]
    most = _wanted(state["rewritten_question"]) or (_SENTENCES_EACH if len(documents) > 1 else None)
    statements: list[Statement] = []
    titles: list[str] = []
    missing: list[str] = []
    for document in documents:
        summary, chunks = _summary(services, document, target, most)
        prefix = f"{document.file_name}: " if len(documents) > 1 else ""
        found = _statements(summary, document.version_id, chunks, prefix)
        statements += found
        (titles if found else missing).append(_called(document, summary, target))
    if not statements:
        return Finding("summarization", "empty", why=" ".join(missing))
    note = " ".join(filter(None, [target.reason, *missing])) or None
    return Finding(
        "summarization",
        "done",
        statements=statements,
        intro=f"Summary of {' and '.join(titles)}, in its own sentences:",
        listed=True,
        note=note,
    )


def find_target(services: Services, state: QuestionState, question: str | None = None) -> Target:
    """The documents that the question is about, among those that the principal may see."""
    stores, principal = services.stores, state["principal"]
    asked, within, of_type = (
        question or state["rewritten_question"],
        state.get("document_ids"),
        state.get("document_type"),
    )
    with transaction(stores.engine) as connection:
        openings = visible_openings(connection, principal, within=within, document_type=of_type)
    return resolve(
        asked,
        openings,
        retrieve=lambda ids: retrieve(
            stores, principal, asked, k=stores.settings.search.k, document_ids=ids or within, document_type=of_type
        ),
        kinds=kind_words((t.name, t.aliases) for t in load_types(stores.domain.file("document_types.yaml"))),
        chosen=within is not None,
    )


def _summary(
    services: Services, document: Opening, target: Target, most: int | None
) -> tuple[Summary, Sequence[RowMapping]]:
    stores = services.stores
    with transaction(stores.engine) as connection:
        parser = parser_of(connection, document.version_id)
        chunks = chunks_of(connection, document.version_id)
    if parser is None or not chunks:
        return Summary(()), ()
    parsed = stores.artefacts.load_parsed(document.version_id, parser)
    summary = summarize(
        parsed, stores.embedder, topic=target.topic, section=target.section, titled=target.titled, most=most
    )
    return summary, chunks


def _statements(summary: Summary, version_id: str, chunks: Sequence[RowMapping], prefix: str) -> list[Statement]:
    statements = []
    for sentence in summary.sentences:
        chunk_id = chunk_at(chunks, sentence.start, sentence.end)
        if chunk_id is not None:
            span = Span(chunk_id, version_id, sentence.start, sentence.end)
            statements.append(Statement(prefix + sentence.text, (span,)))
    return statements


def chunk_at(chunks: Sequence[RowMapping], start: int, end: int) -> str | None:
    """The chunk that holds most of the span, the first of equals; None when none touches it."""

    def shared(row: RowMapping) -> int:
        return min(end, row["end_char"]) - max(start, row["start_char"])

    best = max(chunks, key=shared, default=None)
    return best["chunk_id"] if best is not None and shared(best) > 0 else None


def _called(document: Opening, summary: Summary, target: Target) -> str:
    """How the intro calls it, or why there is nothing."""
    if summary.section_missing:
        return f"{document.file_name} has no section {target.section}."
    if not summary.sentences:
        return f"{document.file_name} holds no running text that could be summed up."
    if not summary.sections:
        return document.file_name
    sections = ", ".join(f"“{title}”" for title in dict.fromkeys(summary.sections))
    return f"{document.file_name}, {sections}"


def _item(question: str, section: str | None) -> str | None:
    """`rule 3`, where the question asks for one numbered item that is no section."""
    return next((f"{m[1]} {m[2]}" for m in _ITEM.finditer(question) if m[2] != section), None)


def _wanted(question: str) -> int | None:
    """`in three sentences`"""
    found = _WANTED.search(question)
    if found is None:
        return None
    return min(_MOST_SENTENCES, max(1, _NUMBERS.get(found[1].casefold()) or int(found[1])))
