"""What the stages derive from a version and keep in the derived store, under one prefix a version:

versions/<version>/parsed/<parser>/text.txt       the parsed text; every offset counts its characters
versions/<version>/parsed/<parser>/elements.json  elements, page sizes, title, warnings
versions/<version>/parsed/<parser>/words.parquet  word boxes, where the format has them
versions/<version>/chunks/<chunker>.parquet       chunks with their text
versions/<version>/embeddings/<model>.parquet     a vector a chunk, with model, revision and dimension
versions/<version>/tables/<ordinal>/table.parquet typed tables; each in a folder, which is what Glue points to
versions/<version>/tables.json                    their columns and profiles
versions/<version>/members/<ordinal>              files inside the file, as they came
versions/<version>/members.json                   their places and names
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from foundation.errors import NotFound
from foundation.ports.objects import ObjectStore
from foundation.text_cache import TextCache
from foundation.types import (
    Chunk,
    Column,
    Element,
    FileWarning,
    KeptMember,
    PageOcr,
    ParsedDocument,
    ParsedTable,
    ParsedWorkbook,
    Vector,
    WordBox,
)

TABLES = "tables/"


def prefix(version_id: str) -> str:
    return f"versions/{version_id}/"


def table_key(version_id: str, ordinal: int) -> str:
    return f"{prefix(version_id)}{TABLES}{ordinal}/table.parquet"


def _part(name: str) -> str:
    """A code version such as `pdf/1` as one part of a key."""
    return name.replace("/", "-")


def _by_name(pieces: Sequence[Element | FileWarning | PageOcr]) -> list[dict[str, Any]]:
    """As asdict of each, without its deep copies."""
    names = [field.name for field in fields(pieces[0])] if pieces else []
    return [{name: getattr(piece, name) for name in names} for piece in pieces]


class Artefacts:
    """Reads and writes the artefacts above. NotFound for what has not been derived."""

    def __init__(self, store: ObjectStore) -> None:
        self.store = store
        self.texts = TextCache(self._read_text, lambda version, parser: store.exists(self._text_key(version, parser)))

    def save_parsed(self, version_id: str, parsed: ParsedDocument) -> None:
        base = self._parsed(version_id, parsed.parser)
        if parsed.word_boxes:
            words = parsed.word_boxes
            columns = {
                "start": pa.array([w.start for w in words], pa.int32()),
                "end": pa.array([w.end for w in words], pa.int32()),
                "page": pa.array([w.page for w in words], pa.int32()),
                **{
                    name: pa.array([w.box[i] for w in words], pa.float32())
                    for i, name in enumerate(("x0", "y0", "x1", "y1"))
                },
            }
            self._put_table(f"{base}/words.parquet", pa.table(columns))
        self.store.put(f"{base}/text.txt", parsed.text.encode())
        about = {
            "parser": parsed.parser,
            "title": parsed.title,
            "page_count": parsed.page_count,
            "page_sizes": parsed.page_sizes,
            "elements": _by_name(parsed.elements),
            "warnings": _by_name(parsed.warnings),
            "ocr": _by_name(parsed.ocr),
        }
        self.store.put(f"{base}/elements.json", json.dumps(about, ensure_ascii=False).encode())

    def load_parsed(self, version_id: str, parser: str) -> ParsedDocument:
        """Without the word boxes, which only the page image needs."""
        about = json.loads(self.store.read(f"{self._parsed(version_id, parser)}/elements.json"))
        return ParsedDocument(
            text=self.text(version_id, parser),
            elements=[Element(**e) for e in about["elements"]],
            parser=about["parser"],
            page_count=about["page_count"],
            page_sizes=[(w, h) for w, h in about["page_sizes"]],
            title=about["title"],
            warnings=[FileWarning(**w) for w in about["warnings"]],
            ocr=[PageOcr(**page) for page in about.get("ocr", [])],
        )

    def text(self, version_id: str, parser: str) -> str:
        return self.texts.get(version_id, parser)

    def word_boxes(self, version_id: str, parser: str, start: int, end: int) -> list[WordBox]:
        """The boxes of the words that overlap text[start:end]; empty where the format has none."""
        try:
            data = self.store.read(f"{self._parsed(version_id, parser)}/words.parquet")
        except NotFound:
            return []
        table = pq.read_table(io.BytesIO(data), filters=[("end", ">", start), ("start", "<", end)])
        return [
            WordBox(r["start"], r["end"], r["page"], (r["x0"], r["y0"], r["x1"], r["y1"])) for r in table.to_pylist()
        ]

    def save_chunks(self, version_id: str, chunker: str, chunks: Sequence[Chunk]) -> None:
        kinds = {
            "chunk_id": pa.string(),
            "version_id": pa.string(),
            "ordinal": pa.int32(),
            "start": pa.int32(),
            "end": pa.int32(),
            "text": pa.string(),
            "tokens": pa.int32(),
            "page": pa.int32(),
            "section": pa.string(),
        }
        columns = {name: pa.array([getattr(c, name) for c in chunks], kind) for name, kind in kinds.items()}
        self._put_table(self._chunks(version_id, chunker), pa.table(columns))

    def load_chunks(self, version_id: str, chunker: str) -> list[Chunk]:
        table = self._table(self._chunks(version_id, chunker))
        return [Chunk(**row) for row in table.to_pylist()]

    def save_embeddings(
        self, version_id: str, name: str, chunk_ids: Sequence[str], vectors: Vector, *, model: str, revision: str
    ) -> None:
        """`name` stands for model and chunker; `vectors` is float32 (chunks, dimension)."""
        dimension = vectors.shape[1] if vectors.size else 0
        flat = pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1), pa.float32()), max(dimension, 1))
        count = len(chunk_ids)
        columns = {
            "chunk_id": pa.array(chunk_ids, pa.string()),
            "model": pa.array([model] * count, pa.string()),
            "revision": pa.array([revision] * count, pa.string()),
            "dimension": pa.array([dimension] * count, pa.int32()),
            "vector": flat,
        }
        self._put_table(self._embeddings(version_id, name), pa.table(columns))

    def load_embeddings(self, version_id: str, name: str) -> tuple[list[str], Vector]:
        table = self._table(self._embeddings(version_id, name))
        ids = table.column("chunk_id").to_pylist()
        values = table.column("vector").combine_chunks()
        flat = np.asarray(values.flatten(), dtype=np.float32)
        return ids, flat.reshape(len(ids), -1) if ids else flat.reshape(0, 0)

    def purge_embeddings(self, version_id: str, name: str) -> int:
        return self.store.purge(self._embeddings(version_id, name))

    def save_workbook(self, version_id: str, workbook: ParsedWorkbook) -> ParsedWorkbook:
        """Move the tables from where the parser wrote them; returns the workbook with their keys as paths."""
        tables = []
        for table in workbook.tables:
            key = table_key(version_id, table.ordinal)
            with Path(table.parquet_path).open("rb") as file:
                self.store.put(key, file)
            tables.append(replace(table, parquet_path=key))
        about = {
            "parser": workbook.parser,
            "tables": [asdict(t) for t in tables],
            "warnings": [asdict(w) for w in workbook.warnings],
        }
        self.store.put(f"{prefix(version_id)}tables.json", json.dumps(about, ensure_ascii=False).encode())
        return ParsedWorkbook(tables, workbook.parser, workbook.warnings)

    def load_workbook(self, version_id: str) -> ParsedWorkbook:
        about = json.loads(self.store.read(f"{prefix(version_id)}tables.json"))
        tables = [
            ParsedTable(
                **{
                    **t,
                    "columns": tuple(Column(**{**c, "samples": tuple(c["samples"])}) for c in t["columns"]),
                }
            )
            for t in about["tables"]
        ]
        return ParsedWorkbook(tables, about["parser"], [FileWarning(**w) for w in about["warnings"]])

    def save_members(self, version_id: str, members: Sequence[tuple[KeptMember, Path]]) -> None:
        """The list goes last: it makes the files count."""
        for ordinal, (_, content) in enumerate(members):
            with content.open("rb") as file:
                self.store.put(f"{prefix(version_id)}members/{ordinal}", file)
        about = json.dumps([asdict(member) for member, _ in members], ensure_ascii=False)
        self.store.put(f"{prefix(version_id)}members.json", about.encode())

    def load_members(self, version_id: str) -> list[tuple[int, KeptMember]]:
        """(ordinal, member) of each; empty for a version that holds no files."""
        try:
            about = json.loads(self.store.read(f"{prefix(version_id)}members.json"))
        except NotFound:
            return []
        return [(ordinal, KeptMember(**member)) for ordinal, member in enumerate(about)]

    def open_member(self, version_id: str, ordinal: int) -> BinaryIO:
        return self.store.open(f"{prefix(version_id)}members/{ordinal}")

    def purge(self, version_id: str, part: str = "") -> int:
        """`part`: only what lies under this prefix of the version's, such as TABLES."""
        self.texts.forget(version_id)
        return self.store.purge_prefix(prefix(version_id) + part)

    def count(self, version_id: str, part: str = "") -> int:
        return sum(1 for _ in self.store.current(prefix(version_id) + part))

    def _read_text(self, version_id: str, parser: str) -> str:
        return self.store.read(self._text_key(version_id, parser)).decode()

    def _text_key(self, version_id: str, parser: str) -> str:
        return f"{self._parsed(version_id, parser)}/text.txt"

    def _parsed(self, version_id: str, parser: str) -> str:
        return f"{prefix(version_id)}parsed/{_part(parser)}"

    def _chunks(self, version_id: str, chunker: str) -> str:
        return f"{prefix(version_id)}chunks/{_part(chunker)}.parquet"

    def _embeddings(self, version_id: str, name: str) -> str:
        return f"{prefix(version_id)}embeddings/{_part(name)}.parquet"

    def _put_table(self, key: str, table: pa.Table) -> None:
        # Most tables have a few rows, and no two vectors or offsets are the same: dictionaries and statistics cost half
        # of the time of writing and make the files larger.
        sink = io.BytesIO()
        pq.write_table(table, sink, compression="zstd", use_dictionary=False, write_statistics=False)
        self.store.put(key, sink.getvalue())

    def _table(self, key: str) -> pa.Table:
        """read_table would make a data set of the one small file, at more than twice the cost."""
        return pq.ParquetFile(pa.BufferReader(self.store.read(key))).read(use_threads=False)
