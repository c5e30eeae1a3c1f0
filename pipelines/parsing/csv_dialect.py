"""Delimiter and quoting of a CSV file, from its first characters."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

DELIMITERS = ",;\t|"
SAMPLE = 256 * 1024
"""Characters that are looked at."""
_ROWS = 1_000
_SEP_LINE = re.compile(r"sep=([,;\t|])\r?\n?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class CsvDialect:
    delimiter: str
    backslash: bool = False
    """A quote inside quotes is written as \\" (MySQL, Spark) and not as two quotes."""
    spaced: bool = False
    """A space follows each delimiter, also before an opening quote."""
    sep_line: bool = False
    """The first line is Excel's `sep=;` and no data."""

    @property
    def reader_options(self) -> dict[str, Any]:
        escape = {"doublequote": False, "escapechar": "\\"} if self.backslash else {}
        # strict: a quote that is never closed is an error, and not one long cell that eats the rest of the file.
        return {"delimiter": self.delimiter, "skipinitialspace": self.spaced, "strict": True, **escape}


def detect_dialect(sample: str, *, whole: bool) -> CsvDialect:
    """The delimiter that splits the most rows alike, by parsing the sample with each; `,` when none splits any.

    `whole` says that the sample is the whole file, so that its last row counts.
    """
    if declared := _SEP_LINE.match(sample):
        return _quoting(declared[1], sample[declared.end() :], sep_line=True)
    scored = [(_score(sample, delimiter, whole=whole), -place) for place, delimiter in enumerate(DELIMITERS)]
    (share, _, _), place = max(scored)
    return _quoting(DELIMITERS[-place] if share else ",", sample)


def _score(sample: str, delimiter: str, *, whole: bool) -> tuple[float, int, int]:
    """(share of rows with the usual number of fields, halved when the first row has another; that number; rows)."""
    widths = _widths(sample, CsvDialect(delimiter, spaced=_spaced(sample, delimiter)))
    if not whole and len(widths) > 1:
        widths.pop()
    counts = Counter(width for width in widths if width > 1)
    if not counts:
        return 0.0, 0, 0
    width, rows = max(counts.items(), key=lambda item: (item[1], item[0]))
    share = rows / len(widths)
    return share if widths[0] == width else share / 2, width, len(widths)


def _widths(sample: str, dialect: CsvDialect) -> list[int]:
    widths: list[int] = []
    try:
        for row in csv.reader(io.StringIO(sample, newline=""), **dialect.reader_options):
            if row:
                widths.append(len(row))
            if len(widths) == _ROWS:
                break
    except csv.Error:  # the sample ends inside quotes, or this is the wrong reading: what came before still counts
        return widths
    return widths


def _quoting(delimiter: str, sample: str, *, sep_line: bool = False) -> CsvDialect:
    spaced = _spaced(sample, delimiter)
    plain, escaped = (CsvDialect(delimiter, backslash, spaced, sep_line) for backslash in (False, True))
    # C:\dir\" is a plain cell too: only rows that parse no other way are read with the backslash.
    return escaped if '\\"' in sample and len(_widths(sample, escaped)) > len(_widths(sample, plain)) else plain


def _spaced(sample: str, delimiter: str) -> bool:
    """Whether a space follows each delimiter: before a quote it would hide that, elsewhere it would begin each cell."""
    if f'{delimiter} "' in sample:
        return f'{delimiter}"' not in sample
    # A word and a comma inside a text look the same, so every single one must have it.
    return len(re.findall(rf"{re.escape(delimiter)} \S", sample)) > 1 and not re.search(
        rf"{re.escape(delimiter)}[^\s{re.escape(delimiter)}]", sample
    )
