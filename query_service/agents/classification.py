"""classification: what kind of document a file is, which documents are of a kind, with the sentence that shows it."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from foundation.errors import NotFound
from foundation.registry.artefacts import chunks_of
from foundation.registry.database import transaction
from foundation.registry.openings import Opening, visible_openings
from foundation.registry.stages import parser_of
from foundation.stores import Stores
from query_service.agents.summarization import chunk_at, find_target
from query_service.answer import AnswerWarning
from query_service.reasoning.document_type import (
    READ_PASSAGES,
    Classification,
    DocumentType,
    Passage,
    TypeClassifier,
    load_types,
)
from query_service.services import Services
from query_service.state import Finding, QuestionState, Span, Statement

_MOST_LISTED = 30
_MOST_NAMED = 5
_MARGIN_S = 2.0  # before the deadline, a list ends with what has been looked at
_BUDGET_S = 10.0  # without a deadline
_MOST_KNOWN = 20_000  # versions whose type is remembered, without any text

_LISTING = re.compile(r"\b(?:which|list|show|find|how many|all|every|any|are there|what (?:documents|files))\b", re.I)
_ASKS_KIND = re.compile(r"\b(?:category|kind|type|sort|class)\b.{0,40}\b(?:does|do|is|are|of|belongs?)\b", re.I)
_PLURAL = re.compile(r"\b(?:documents|files|uploads)\b", re.I)
_CONTENT = re.compile(r"\bwhat (?:does|do|did)\b.*\b(?:say|state|require|mention|tell|contain|mean)s?\b", re.I)
"""Asks what a document says, not what it is."""
_IS_IT = re.compile(r"\W*(?:is|are|was|were)\b", re.I)


@dataclass(frozen=True, slots=True)
class _Found:
    classification: Classification
    evidence: Span | None
    begins_with_title: bool
    """A title may be no more than the first heading that the parser met; then it does not name the document."""


@dataclass
class _Known:
    """The classifier of one process and what it has found, by document."""

    classifier: TypeClassifier
    found: dict[tuple[str, str], _Found] = field(default_factory=dict)
    """By first chunk and file name."""


@lru_cache(maxsize=1)
def _known(stores: Stores) -> _Known:
    return _Known(TypeClassifier(load_types(stores.domain.file("document_types.yaml")), stores.embedder))


def run(services: Services, state: QuestionState) -> Finding:
    """One statement a document, with its evidence; empty when no document is meant or none has text."""
    question = state["rewritten_question"]
    if _CONTENT.search(question) and not state.get("forced_routes"):
        return Finding("classification", "empty", why="The question does not ask what kind of document something is.")
    types = _known(services.stores).classifier.types
    asked, rest = asked_type(question, types)
    listing = _LISTING.search(rest) is not None and not _ASKS_KIND.search(rest)
    if listing and (asked is not None or _PLURAL.search(question)):
        return _list(services, state, asked)
    target = find_target(services, state, rest)
    if not target.documents or (target.ambiguous and len(target.documents) > _MOST_NAMED):
        return Finding("classification", "empty", why=target.reason)
    if not target.named and state.get("document_ids") is None:
        return Finding("classification", "empty", why="The question names no document whose kind could be told.")
    statements = [s for d in target.documents[:_MOST_NAMED] if (s := _statement(services, d, asked))]
    if not statements:
        names = ", ".join(document.file_name for document in target.documents[:_MOST_NAMED])
        return Finding("classification", "empty", why=f"{names}: there is no text to tell the kind from.")
    return Finding("classification", "done", statements=statements, listed=len(statements) > 1, note=target.reason)


def asked_type(question: str, types: tuple[DocumentType, ...]) -> tuple[DocumentType | None, str]:
    """The type that `is … a TYPE?` or `which … are TYPEs?` asks for, and the question without it."""
    pattern, by_word = _type_words(types)
    found = list(pattern.finditer(question))
    if not found:
        return None, question
    last = found[-1]
    kind = by_word[last["word"].casefold()]
    at_end = not question[last.end() :].strip(" ?!.")
    # `what kind of document is the guide?` calls a document; `is it a guide?` asks for a type
    is_it = _IS_IT.match(question) and at_end and (last["article"] or not kind.label.startswith(("a ", "an ")))
    rest = question[: last.start()] + question[last.end() :]
    if is_it or (_LISTING.search(rest) and not _ASKS_KIND.search(rest)):
        return kind, rest
    return None, question


@lru_cache(maxsize=4)
def _type_words(types: tuple[DocumentType, ...]) -> tuple[re.Pattern[str], dict[str, DocumentType]]:
    by_word: dict[str, DocumentType] = {}
    for kind in types:
        for word in (kind.name.replace("_", " "), *kind.aliases):
            plural = f"{word[:-1]}ies" if word.endswith("y") else f"{word}{'es' if word[-1] in 'sx' else 's'}"
            for form in (word, plural):
                by_word.setdefault(form.casefold(), kind)
    longest_first = sorted(by_word, key=len, reverse=True)
    words = "|".join(re.escape(word) for word in longest_first)
    return re.compile(rf"(?P<article>\ban?\s+)?\b(?P<word>{words})\b", re.I), by_word


def _list(services: Services, state: QuestionState, asked: DocumentType | None) -> Finding:
    stores = services.stores
    with transaction(stores.engine) as connection:
        openings = visible_openings(
            connection,
            state["principal"],
            within=state.get("document_ids"),
            document_type=state.get("document_type"),
        )
    stop = min(state.get("deadline", float("inf")) - _MARGIN_S, time.monotonic() + _BUDGET_S)
    statements: list[Statement] = []
    looked = matching = 0
    for opening in openings:
        if looked and time.monotonic() > stop:
            break
        looked += 1
        if asked is not None and _type_of(services, opening) != asked.name:
            continue
        statement = _statement(services, opening, None) if len(statements) < _MOST_LISTED else None
        matching += 1
        statements += [statement] if statement else []
    warnings = []
    if looked < len(openings):
        message = f"{looked} of {len(openings)} documents were looked at in the time; ask again to go on."
        warnings.append(AnswerWarning(code="classified_in_part", message=message))
    if not statements:
        why = (
            f"None of the {looked} documents that you can see is {asked.label}."
            if asked
            else "There is no document that you can see."
        )
        return Finding("classification", "empty", why=why, warnings=warnings)
    shown = f", the first {len(statements)} of them" if matching > len(statements) else ""
    if asked is None:
        intro = f"{matching} documents that you can see{shown}:"
    else:
        of_kind = f"is {asked.label}" if matching == 1 else f"are of the kind “{asked.name.replace('_', ' ')}”"
        intro = f"Of the {looked} documents that you can see, {matching} {of_kind}{shown}:"
    return Finding("classification", "done", statements=statements, intro=intro, listed=True, warnings=warnings)


def _type_of(services: Services, document: Opening) -> str | None:
    recorded = _recorded(document, _known(services.stores).classifier.types)
    if recorded is not None:
        return recorded.name
    found = _classified(services.stores, document)
    return found.classification.best.name if found and found.classification.sure else None


def _statement(services: Services, document: Opening, asked: DocumentType | None) -> Statement | None:
    found = _classified(services.stores, document)
    if found is None:
        return None
    recorded = _recorded(document, _known(services.stores).classifier.types)
    spans = (found.evidence,) if found.evidence is not None else ()
    title = document.title if found.begins_with_title else None
    return Statement(describe(document.file_name, title, found.classification, recorded, asked), spans)


def describe(
    name: str,
    title: str | None,
    found: Classification,
    recorded: DocumentType | None = None,
    asked: DocumentType | None = None,
) -> str:
    """One plain sentence. What was recorded at the upload goes before what the text looks like."""
    title = f" ({title})" if title and title != name else ""
    kind = recorded or (found.best if found.sure else None)
    if kind is None:
        first, second = found.ranked[0].type.label, found.ranked[1].type.label
        return f"It is not clear what kind of document {name}{title} is; it is nearest to {first}, then to {second}."
    as_recorded = ", as its record says" if recorded else ""
    if recorded and found.sure and found.best.name != recorded.name:
        as_recorded += f"; its text reads more like {found.best.label}"
    if asked is None:
        return f"{name} is {kind.label}{title}{as_recorded}."
    if kind.name == asked.name:
        return f"Yes, {name} is {kind.label}{title}{as_recorded}."
    return f"No, {name} is {kind.label}{title}, not {asked.label}{as_recorded}."


def _recorded(document: Opening, types: Sequence[DocumentType]) -> DocumentType | None:
    """The type that the document's record has, if the domain knows it."""
    said = (document.document_type or "").replace("_", " ").strip().casefold()
    return next((t for t in types if said and said in (t.name.replace("_", " "), *t.aliases)), None)


def _classified(stores: Stores, document: Opening) -> _Found | None:
    """By the first chunks, remembered; None for a document without text, or erased a moment ago."""
    if document.first_chunk is None:
        return None
    known = _known(stores)
    key = (document.first_chunk, document.file_name)
    if key in known.found:
        return known.found[key]
    version = document.version_id
    with transaction(stores.engine) as connection:
        parser = parser_of(connection, version)
        chunks = chunks_of(connection, version)[:READ_PASSAGES]
    if parser is None or not chunks:
        return None
    try:
        text = stores.artefacts.text(version, parser)
    except NotFound:
        return None
    passages = [Passage(c["start_char"], text[c["start_char"] : c["end_char"]]) for c in chunks]
    found = known.classifier.classify(passages, title=document.title, file_name=document.file_name)
    span = None
    if found.evidence is not None:
        chunk_id = chunk_at(chunks, *found.evidence)
        span = Span(chunk_id, version, *found.evidence) if chunk_id is not None else None
    if len(known.found) >= _MOST_KNOWN:
        known.found.clear()
    title, opening = (" ".join(part.split()).casefold() for part in (document.title or "", text[:1000]))
    known.found[key] = _Found(found, span, bool(title) and opening.startswith(title))
    return known.found[key]
