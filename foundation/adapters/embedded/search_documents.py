"""How an indexed chunk is laid out as a tantivy document, and how words and filters become tantivy queries.

User text never reaches a query parser: it goes through the analyzer, and only its tokens become query terms.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import astuple
from pathlib import Path

import numpy as np
import tantivy
from tantivy import Filter, Occur, Query

from foundation.errors import ConfigurationError, InvalidInput
from foundation.types import Chunk, IndexedChunk, SearchFilter, Vector

LAYOUT = "tantivy-1"
"""Raise it when the schema or the analyzer changes: an index of another layout is then not opened, but built anew."""
ROW_BITS = 20
"""A row number is write << ROW_BITS | position within the write; so a version holds at most 2**20 chunks."""
MAX_QUERY_TERMS = 512
"""Distinct words of a question that are looked up; time grows with them, and no question needs more."""
MAX_PHRASES = 32

_ANALYZER = "askline_english"


def analyzer() -> tantivy.TextAnalyzer:
    """Splits at what is not alphanumeric, folds case and accents, stems English. No stop words: BM25 weighs them."""
    return (
        tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
        .filter(Filter.remove_long(200))
        .filter(Filter.lowercase())
        .filter(Filter.ascii_fold())
        .filter(Filter.stemmer("english"))
        .build()
    )


def schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("words", tokenizer_name=_ANALYZER, index_option="position")
    for name in ("chunk_id", "version_id", "acl", "document_id", "document_type", "write"):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    builder.add_unsigned_field("row", indexed=True, fast=True)
    builder.add_bytes_field("payload", stored=True)
    builder.add_bytes_field("vector", stored=True)
    return builder.build()


SCHEMA = schema()
ANALYZER = analyzer()


def register(index: tantivy.Index) -> tantivy.Index:
    index.register_tokenizer(_ANALYZER, ANALYZER)
    return index


def write_term(write: int) -> str:
    return f"{write:011x}"


def to_document(indexed: IndexedChunk, row: int) -> tantivy.Document:
    """InvalidInput when its text cannot be encoded as UTF-8 (a lone surrogate)."""
    chunk = indexed.chunk
    payload = {
        "chunk": astuple(chunk),
        "acl": indexed.acl,
        "document_ids": indexed.document_ids,
        "document_type": indexed.document_type,
    }
    document = tantivy.Document()
    try:
        document.add_text("words", f"{chunk.section}\n{chunk.text}" if chunk.section else chunk.text)
        document.add_bytes("payload", json.dumps(payload, ensure_ascii=False).encode())
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"chunk {chunk.chunk_id}: character {error.start} of its text is a lone surrogate",
            fix="Replace it in the parser, for example by U+FFFD.",
        ) from error
    document.add_text("chunk_id", chunk.chunk_id)
    document.add_text("version_id", chunk.version_id)
    document.add_text("write", write_term(row >> ROW_BITS))
    for entry in indexed.acl:
        document.add_text("acl", entry)
    for document_id in indexed.document_ids:
        document.add_text("document_id", document_id)
    if indexed.document_type is not None:
        document.add_text("document_type", indexed.document_type)
    document.add_unsigned("row", row)
    document.add_bytes("vector", np.ascontiguousarray(indexed.vector, dtype="<f4").tobytes())
    return document


def from_document(document: tantivy.Document) -> IndexedChunk:
    payload = json.loads(document["payload"][0])
    return IndexedChunk(
        chunk=Chunk(*payload["chunk"]),
        vector=vector_of(document),
        acl=tuple(payload["acl"]),
        document_ids=tuple(payload["document_ids"]),
        document_type=payload["document_type"],
    )


def vector_of(document: tantivy.Document) -> Vector:
    return np.frombuffer(document["vector"][0], dtype="<f4")


def require_dimension(vector: Vector, dimension: int, folder: Path) -> None:
    if len(vector) != dimension:
        raise ConfigurationError(
            f"{folder}: its vectors have {len(vector)} dimensions, not {dimension}",
            fix="Name another index for another embedding model.",
        )


def rows_of(searcher: tantivy.Searcher, addresses: list[tantivy.DocAddress]) -> list[int]:
    return [int(row) for row in searcher.fast_field_values("row", addresses) if row is not None]


def words_query(text: str) -> Query | None:
    """Any of the words, each BM25-weighted; None when there is none.

    A code such as `RX-1234` is two words to the analyzer; as a phrase on top of them it outranks chunks where both
    merely occur.
    """
    words = [ANALYZER.analyze(word) for word in text.encode("utf-8", "replace").decode().split()]
    terms = list(dict.fromkeys(token for word in words for token in word))[:MAX_QUERY_TERMS]
    if not terms:
        return None
    phrases = list(dict.fromkeys(tuple(word) for word in words if 1 < len(word) <= 8))[:MAX_PHRASES]
    clauses = [Query.term_query(SCHEMA, "words", term) for term in terms]
    clauses += [Query.phrase_query(SCHEMA, "words", list(phrase)) for phrase in phrases]
    return Query.boolean_query([(Occur.Should, clause) for clause in clauses])


def filtered(query: Query, narrow: SearchFilter) -> Query:
    """The query within the filter; what narrows adds nothing to the score."""
    clauses = [any_of("acl", narrow.grants)]
    if narrow.document_ids is not None:
        clauses.append(any_of("document_id", narrow.document_ids))
    if narrow.document_type is not None:
        clauses.append(any_of("document_type", [narrow.document_type]))
    unscored = Query.const_score_query(Query.boolean_query([(Occur.Must, clause) for clause in clauses]), 0.0)
    return Query.boolean_query([(Occur.Must, query), (Occur.Must, unscored)])


def any_of(field: str, values: Sequence[str | int]) -> Query:
    return Query.term_set_query(SCHEMA, field, values)
