"""Rows of text → one typed Parquet file, in two passes and bounded memory.

The first pass spools the text to disk and gathers evidence for each column's type; the second converts and profiles.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from foundation.errors import ResourceLimit
from foundation.types import Column, ParsedTable
from pipelines.parsing.column_profile import ColumnProfile
from pipelines.parsing.column_types import ColumnEvidence, Typed, decide_all
from pipelines.parsing.table_names import column_names

BATCH_ROWS, BATCH_CHARS = 20_000, 16_000_000
_ROWS_PER_WEIGHING = 500
MAX_COLUMNS = 1_500
"""Postgres takes 1,600 columns; its row header and ours need some room."""


class TableBuilder:
    """Takes rows of equal width (`labels`), then writes `folder/table_<ordinal>.parquet`.

    An empty cell, or one of white space only, is null. A column with neither a label nor a value is left out.
    """

    def __init__(self, labels: Sequence[str], folder: Path, ordinal: int, source: str) -> None:
        """`source` names the file (and sheet) in errors. ResourceLimit for more than 1,500 columns."""
        if len(labels) > MAX_COLUMNS:
            raise ResourceLimit(
                f"{source} has {len(labels):,} columns; a table can have {MAX_COLUMNS:,}",
                fix="Turn the columns into rows, or split the table, and upload it again.",
            )
        self._labels = [label.strip() for label in labels]
        self._ordinal = ordinal
        self._target = folder / f"table_{ordinal}.parquet"
        self._spool_path = folder / f"table_{ordinal}.spool"
        self._schema = pa.schema([(f"c{i}", pa.string()) for i in range(len(labels))])
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        self._spool = pa.ipc.new_stream(str(self._spool_path), self._schema, options=options)
        self._evidence = [ColumnEvidence() for _ in labels]
        self._pending: list[Sequence[str]] = []
        self._weight = 0
        self._rows = 0

    def add(self, cells: Sequence[str]) -> None:
        """A row of exactly as many cells as there are labels."""
        self._pending.append(cells)
        if len(self._pending) % _ROWS_PER_WEIGHING == 0:
            self._weight += sum(len(cell) for row in self._pending[-_ROWS_PER_WEIGHING:] for cell in row)
            if len(self._pending) >= BATCH_ROWS or self._weight > BATCH_CHARS:
                self._flush()

    def _flush(self) -> None:
        rows, self._pending, self._weight = self._pending, [], 0
        if not rows:
            return
        self._take([pa.array(cells, pa.string()) for cells in zip(*rows, strict=True)])

    def add_columns(self, columns: Sequence[pa.Array]) -> None:
        """Many rows at once: a string array for each label, all of one length."""
        self._flush()
        self._take(columns)

    def _take(self, columns: Sequence[pa.Array]) -> None:
        columns = [_nulled(values) for values in columns]
        for evidence, values in zip(self._evidence, columns, strict=True):
            evidence.observe(values)
        self._spool.write_batch(pa.record_batch(columns, schema=self._schema))
        self._rows += len(columns[0])

    def finish(self, *, sheet: str | None, label: str, rejects: bool = False) -> ParsedTable:
        self._flush()
        self._spool.close()
        kept = [i for i, text in enumerate(self._labels) if text or self._evidence[i].values]
        all_names = column_names(self._labels)
        names, types = [all_names[i] for i in kept], decide_all([self._evidence[i] for i in kept])
        profiles = self._convert(kept, names, types)
        self._spool_path.unlink()
        columns = tuple(
            _column(name, self._labels[i] or name, typed, profile)
            for i, name, typed, profile in zip(kept, names, types, profiles, strict=True)
        )
        return ParsedTable(self._ordinal, sheet, label, columns, self._rows, str(self._target), rejects)

    def _convert(self, kept: Sequence[int], names: Sequence[str], types: Sequence[Typed]) -> list[ColumnProfile]:
        profiles = [ColumnProfile() for _ in kept]
        schema = pa.schema([(name, typed.arrow) for name, typed in zip(names, types, strict=True)])
        with (
            pa.ipc.open_stream(str(self._spool_path)) as spool,
            pq.ParquetWriter(self._target, schema, compression="zstd") as writer,
        ):
            for batch in spool:
                arrays = [typed.kind.convert(batch.column(i)) for i, typed in zip(kept, types, strict=True)]
                for profile, values in zip(profiles, arrays, strict=True):
                    profile.observe(values)
                writer.write_batch(pa.record_batch(arrays, schema=schema))
        return profiles


def iter_rows(parquet_path: str, columns: Sequence[Column]) -> Iterator[tuple[Any, ...]]:
    """Rows as plain Python values in the order of `columns`: str, int, Decimal, float, bool, date, naive datetime."""
    names = [column.name for column in columns]
    with pq.ParquetFile(parquet_path) as file:
        for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=names):
            yield from zip(*(batch.column(name).to_pylist() for name in names), strict=True)


def _nulled(values: pa.Array) -> pa.Array:
    blank = pc.equal(pc.utf8_trim_whitespace(values), "")
    return pc.if_else(blank, pa.scalar(None, pa.string()), values)


def _column(name: str, label: str, typed: Typed, profile: ColumnProfile) -> Column:
    minimum, maximum = profile.range
    return Column(
        name=name,
        label=label,
        type=typed.type,
        precision=typed.precision,
        scale=typed.scale,
        nulls=profile.nulls,
        distinct=profile.distinct,
        minimum=minimum,
        maximum=maximum,
        samples=profile.samples,
    )
