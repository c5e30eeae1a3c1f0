"""How an index and a chunk are laid out in OpenSearch. The mapping is strict: nothing is ever guessed from a document.

The vector is kept out of the stored source, where it would be text of 20 characters a number; `packed` has the very
numbers in a quarter of the space, for whoever reads a vector back.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from foundation.errors import ConfigurationError, InvalidInput
from foundation.settings import OpenSearchSettings
from foundation.types import Chunk, IndexedChunk, Vector

LAYOUT = "1"
"""Raise it when the mapping or the analyzer changes: an index of another layout is then not opened, but built anew."""
MANIFEST_ID = "manifest"
_SPLITS_AT = ["whitespace", "punctuation", "symbol"]


def physical_name(prefix: str, index_name: str) -> str:
    """OpenSearch's names are in lower case; what the index was named is in its mapping's _meta."""
    name = f"{prefix}{index_name.lower()}-{LAYOUT}"
    if not index_name or len(name.encode()) > 255 or not all(c.isalnum() or c in "._-" for c in name):
        raise ConfigurationError(
            f"index name {index_name!r} cannot name an OpenSearch index",
            fix="Use letters, digits, dot, dash, underscore, and a short ASKLINE_OPENSEARCH__INDEX_PREFIX.",
        )
    return name


def index_body(index_name: str, dimension: int, chosen: OpenSearchSettings) -> dict[str, Any]:
    """What an index is created with."""
    keyword, stored = {"type": "keyword"}, {"type": "keyword", "index": False, "doc_values": False}
    whole = {"type": "integer", "index": False, "doc_values": False}
    return {
        "settings": {
            "index": {
                "knn": True,
                "number_of_shards": chosen.shards,
                "number_of_replicas": chosen.replicas,
                # Copies of segments would come later than the manifest that shows them.
                "replication.type": "DOCUMENT",
                # Each write refreshes when it is complete; in between there is nothing to see.
                "refresh_interval": "-1",
                # So that `optimize` leaves nothing of a deleted chunk on the disk.
                "merge.policy.expunge_deletes_allowed": 0,
            },
            "analysis": {
                "tokenizer": {"pieces": {"type": "char_group", "tokenize_on_chars": _SPLITS_AT}},
                "filter": {"stems": {"type": "stemmer", "language": "porter2"}},
                # No stop words: BM25 weighs them.
                "analyzer": {
                    "askline_english": {
                        "type": "custom",
                        "tokenizer": "pieces",
                        "filter": ["lowercase", "asciifolding", "stems"],
                    }
                },
            },
        },
        "mappings": {
            "dynamic": "strict",
            "_meta": {"index_name": index_name, "dimension": dimension},
            "_source": {"excludes": ["vector"]},
            "properties": {
                "chunk_id": keyword,
                "version_id": keyword,
                "write": {"type": "long"},
                "acl": keyword,
                "document_ids": keyword,
                "document_type": keyword,
                "words": {"type": "text", "analyzer": "askline_english"},
                "section": {**stored, "copy_to": "words"},
                "text": {"type": "text", "index": False, "copy_to": "words"},
                **dict.fromkeys(("ordinal", "start", "end", "tokens", "page"), whole),
                "packed": {"type": "binary"},
                "vector": {
                    "type": "knn_vector",
                    "dimension": dimension,
                    "method": {"name": "hnsw", "engine": chosen.engine, "space_type": "cosinesimil"},
                },
                MANIFEST_ID: {"type": "object", "enabled": False},
            },
        },
    }


def require_own(physical: str, mapping: Mapping[str, Any], index_name: str, dimension: int) -> None:
    """ConfigurationError unless the mapping is that of this very index."""
    meta = mapping.get("_meta", {})
    if meta.get("index_name") != index_name:
        raise ConfigurationError(
            f"OpenSearch's index {physical} is not Askline's {index_name}: it names {meta.get('index_name')}.",
            fix="Delete it if nobody needs it, or set another ASKLINE_OPENSEARCH__INDEX_PREFIX.",
        )
    if meta.get("dimension") != dimension:
        raise ConfigurationError(
            f"OpenSearch's index {physical}: its vectors have {meta.get('dimension')} dimensions, not {dimension}",
            fix="Name another index for another embedding model.",
        )


def to_lines(physical: str, indexed: IndexedChunk, write: int) -> bytes:
    """Two lines of a bulk request. The id is the write's and the chunk's: sent twice, it is stored once.

    InvalidInput when its text cannot be encoded as UTF-8 (a lone surrogate).
    """
    chunk = indexed.chunk
    vector = np.ascontiguousarray(indexed.vector, dtype="<f4")
    action = {"index": {"_index": physical, "_id": f"{write}.{chunk.chunk_id}"}}
    document = {
        "chunk_id": chunk.chunk_id,
        "version_id": chunk.version_id,
        "write": write,
        "acl": indexed.acl,
        "document_ids": indexed.document_ids,
        "document_type": indexed.document_type,
        "section": chunk.section,
        "text": chunk.text,
        "ordinal": chunk.ordinal,
        "start": chunk.start,
        "end": chunk.end,
        "tokens": chunk.tokens,
        "page": chunk.page,
        "packed": base64.b64encode(vector.tobytes()).decode(),
        "vector": vector.tolist(),
    }
    try:
        return f"{json.dumps(action)}\n{json.dumps(document, ensure_ascii=False)}\n".encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"chunk {chunk.chunk_id}: its text holds a lone surrogate",
            fix="Replace it in the parser, for example by U+FFFD.",
        ) from error


def from_source(source: Mapping[str, Any]) -> IndexedChunk:
    return IndexedChunk(
        chunk=Chunk(
            chunk_id=source["chunk_id"],
            version_id=source["version_id"],
            ordinal=source["ordinal"],
            start=source["start"],
            end=source["end"],
            text=source["text"],
            tokens=source["tokens"],
            page=source["page"],
            section=source["section"],
        ),
        vector=vector_of(source),
        acl=tuple(source["acl"]),
        document_ids=tuple(source["document_ids"]),
        document_type=source["document_type"],
    )


def vector_of(source: Mapping[str, Any]) -> Vector:
    return np.frombuffer(base64.b64decode(source["packed"]), dtype="<f4")
