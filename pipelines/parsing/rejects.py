"""The table of a file's irregular records: whatever did not fit the table as it stands, with its line and its text."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from foundation.types import ParsedTable
from pipelines.parsing.csv_records import Record
from pipelines.parsing.tables import TableBuilder

LABELS = ("Line", "Reason", "In table", "Text")
LABEL = "Irregular rows"


class Rejects:
    """Collects records; writes a table only when there is one."""

    def __init__(self, folder: Path, ordinal: int) -> None:
        self._folder, self._ordinal = folder, ordinal
        self._table: TableBuilder | None = None

    def add(self, record: Record, reason: str, *, kept: bool) -> None:
        """`kept`: the record is in the main table too, as far as it could be read."""
        if self._table is None:
            self._table = TableBuilder(LABELS, self._folder, self._ordinal, LABEL)
        self._table.add([str(record.line), reason, "true" if kept else "false", _as_text(record.fields)])

    def finish(self) -> list[ParsedTable]:
        return [] if self._table is None else [self._table.finish(sheet=None, label=LABEL, rejects=True)]


def _as_text(fields: list[str]) -> str:
    """The record as one line of CSV with commas, whatever the file's delimiter."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(fields)
    return line.getvalue()
