"""The text of a table file: what it is about, so that it can be found by words, and its rows while they are few."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from foundation.table_sentence import table_sentence
from foundation.types import Column, Element, ParsedDocument, ParsedTable, ParsedWorkbook

MAX_ROWS = 200
"""A longer table is answered by SQL; its rows as text would only crowd out documents."""

_SAMPLES = 8
Rows = Callable[[ParsedTable], Iterable[Sequence[Any]]]


def table_document(
    workbook: ParsedWorkbook,
    rows: Rows,
    parser: str,
    whole: Callable[[Sequence[Column]], bool] = lambda columns: False,
) -> ParsedDocument:
    """What the content calls it, a description and, up to MAX_ROWS rows, the table itself, for each table of the file.

    A table whose columns are such that it is `whole` comes with all its rows: the graph cites them.

    The file's name is not in it: whoever holds the same bytes under another name shares this text.
    """
    parts: list[tuple[str, str]] = []
    for table in workbook.tables:
        named = [_flat(part) for part in (table.sheet, table.label) if part]
        if named:
            parts.append(("title", ": ".join(dict.fromkeys(named))))
        parts.append(("paragraph", table_sentence(table.row_count, table.columns)))
        for column in table.columns:
            if column.samples and column.type == "text" and column.distinct is not None and column.distinct <= 50:
                shown = ", ".join(_flat(s) for s in column.samples[:_SAMPLES])
                parts.append(("paragraph", f"{column.label}: {shown}{' …' if column.distinct > _SAMPLES else ''}"))
        if 0 < table.row_count <= MAX_ROWS or (table.row_count and whole(table.columns)):
            lines = [" | ".join(column.label for column in table.columns)]
            lines += [" | ".join(_flat(cell) for cell in row) for row in rows(table)]
            parts.append(("table", "\n".join(lines)))
    text, elements = "", []
    for kind, part in parts:
        text += "\n\n" if text else ""
        level = 1 if kind == "title" else None
        elements.append(Element(kind, len(text), len(text) + len(part), level=level))  # type: ignore[arg-type]
        text += part
    title = next((_flat(table.label) for table in workbook.tables if table.label), None)
    return ParsedDocument(text, elements, parser, title=title, warnings=list(workbook.warnings))


def _flat(cell: Any) -> str:
    return "" if cell is None else " ".join(str(cell).split())
