"""Large CSV files by Arrow's reader: it takes a tenth of the CPU time, and only files in which every record fits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv

from pipelines.parsing.csv_dialect import CsvDialect
from pipelines.parsing.csv_encoding import CsvEncoding

LARGE = 1 << 20
"""Bytes from which it pays; below, the reader that explains every line is quick enough."""
_BLOCK = 4 << 20


class NotRegular(Exception):
    """Some record is ragged, broken or longer than a block: the file needs the reader that tells which."""


def can_read(path: Path, encoding: CsvEncoding, dialect: CsvDialect, width: int) -> bool:
    """Whether Arrow's rules for this file are those of the other reader."""
    plain = encoding.name in ("utf-8", "utf-8-sig") and not (encoding.replace or encoding.has_nul)
    # In a file of one column a blank line could be a row, and nothing is ragged.
    return plain and width > 1 and not (dialect.backslash or dialect.spaced) and path.stat().st_size >= LARGE


def arrow_columns(path: Path, dialect: CsvDialect, width: int, skip_lines: int) -> Iterator[list[pa.Array]]:
    """The columns of the rows behind the first `skip_lines` lines, as strings, batch by batch. NotRegular."""
    names = [f"c{i}" for i in range(width)]
    try:
        with pacsv.open_csv(
            path,
            # The worker's memory is limited, and the time that counts is the processor's.
            read_options=pacsv.ReadOptions(
                use_threads=False, block_size=_BLOCK, skip_rows=skip_lines, column_names=names
            ),
            parse_options=pacsv.ParseOptions(delimiter=dialect.delimiter, newlines_in_values=True),
            convert_options=pacsv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False, null_values=[]
            ),
        ) as reader:
            for batch in reader:
                yield batch.columns
    except pa.ArrowInvalid as error:
        raise NotRegular(str(error)) from error
