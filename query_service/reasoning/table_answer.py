"""Result rows → a short answer in Markdown, and a semantic query → plain words."""

from __future__ import annotations

import re
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from foundation.types import QueryResult
from query_service.reasoning.semantic_query import Filter, Measure, Related, SemanticQuery

MAX_ROWS = 10
_MONEY = re.compile(r"cost|charge|price|amount|paid|payment|coverage|expense|income|revenue|spend|billed", re.I)
_YES_NO = re.compile(r"\s*(?:has|have|had|does|did|do|is|was|were|are)\b", re.I)
_NOT_MONEY = re.compile(r"number_of|count|percent", re.I)
_OPERATORS = {
    "=": "is",
    "!=": "is not",
    "<": "is below",
    "<=": "is at most",
    ">": "is over",
    ">=": "is at least",
    "in": "is one of",
    "not_in": "is none of",
    "contains": "contains",
    "starts_with": "starts with",
    "is_null": "is empty",
    "not_null": "is not empty",
    "between": "is between",
}
_TIMES = {"<": "before", "<=": "on or before", ">": "after", ">=": "on or after"}
_FUNCTIONS = {
    "count": "number of rows",
    "count_distinct": "number of different values",
    "sum": "total",
    "avg": "average",
    "min": "lowest",
    "max": "highest",
    "median": "median",
}


def describe(question: str, query: SemanticQuery, result: QueryResult) -> str:
    """One value → a sentence; more → a count and a table of at most 10 rows; nothing → what was looked for."""
    empty = not result.rows or (len(result.rows) == 1 and all(v is None for v in result.rows[0]))
    if empty:
        return f"No rows match{_where(query)}."
    if len(result.rows) == 1 and len(result.columns) == 1:
        if _YES_NO.match(question) and query.measures and query.measures[0].function == "count":
            return ("Yes: " if result.rows[0][0] else "No: ") + _sentence(query, result.columns[0], result.rows[0][0])
        return _sentence(query, result.columns[0], result.rows[0][0])
    return _table(query, result)


def in_words(query: SemanticQuery) -> str:
    """What the query does, for a reader who does not read SQL."""
    if query.measures:
        what = " and ".join(_measure_words(m, query.tables[0]) for m in query.measures)
    else:
        what = "the " + ", ".join(_column_words(c) for c in (query.select or [d.column for d in query.dimensions]))
        what += f" of {_table_words(query.tables[0])}"
    if query.measures and query.dimensions:
        what += " by " + ", ".join(
            f"{d.grain} of {_column_words(d.column)}" if d.grain else _column_words(d.column) for d in query.dimensions
        )
    ordered = ""
    if query.limit and query.order_by:
        direction = "highest" if query.order_by[0].descending else "lowest"
        ordered = f", the {query.limit} with the {direction} {_column_words(query.order_by[0].by)}"
    return f"This is {what}{_where(query)}{ordered}."


def _measure_words(measure: Measure, base: str) -> str:
    table = _table_words(base)
    if measure.function == "share":
        part = " and ".join([*map(_filter_words, measure.where), *map(_related_words, measure.where_related)])
        return f"the percentage of {table} where {part}"
    if measure.function == "per_distinct":
        return f"the average number of {table} for each {_column_words(measure.column or '')}"
    if measure.function == "ratio":
        part, whole = _column_words(measure.column or ""), _column_words(measure.per or "")
        return f"the total of {part} divided by the total of {whole} in {table}"
    if measure.column is None:
        return f"the number of {table}"
    return f"the {_FUNCTIONS[measure.function]} of {_column_words(measure.column)} in {table}"


def _where(query: SemanticQuery) -> str:
    parts = [*map(_filter_words, query.filters), *map(_related_words, query.related)]
    return (
        f" where {' and '.join(parts)}"
        if parts
        else f" in {_table_words(query.tables[0])}"
        if not query.measures
        else ""
    )


def _filter_words(item: Filter) -> str:
    values = [str(v) for v in item.values]
    if item.operator in _TIMES and values and re.fullmatch(r"\d{4}-\d{2}-\d{2}.*", values[0]):
        return f"{_column_words(item.column)} is {_TIMES[item.operator]} {values[0]}"
    if item.operator == "between":
        text = " or ".join(f"{a} and {b}" for a, b in zip(values[::2], values[1::2], strict=True))
    else:
        text = ", ".join(values)
    return f"{_column_words(item.column)} {_OPERATORS[item.operator]} {text}".strip()


def _related_words(item: Related) -> str:
    count = f"{_OPERATORS[item.rows.operator].removeprefix('is ')} {item.rows.value} " if item.rows else ""
    inner = f" whose {' and '.join(map(_filter_words, item.filters))}" if item.filters else ""
    return f"there {'are no' if item.negated else 'are'} {count}{_table_words(item.table)}{inner}"


def _column_words(reference: str) -> str:
    return reference.rpartition(".")[2].replace("_", " ")


def _table_words(name: str) -> str:
    return name.replace("_", " ")


def _sentence(query: SemanticQuery, column: str, value: Any) -> str:
    shown = f"**{format_value(value, column)}**"
    if not query.measures:
        return f"The {_column_words(column)}{_where(query)} is {shown}."
    words = _measure_words(query.measures[0], query.tables[0])
    return f"{words[0].upper()}{words[1:]}{_where(query)} is {shown}."


def _table(query: SemanticQuery, result: QueryResult) -> str:
    total = len(result.rows)
    many = f"more than {total:,}" if result.truncated else f"{total:,}"
    noun = "row" if total == 1 and not result.truncated else "rows"
    first = f"{many[0].upper()}{many[1:]} {noun}{_where(query)}"
    first += f"; the first {MAX_ROWS}:" if total > MAX_ROWS else ":"
    lines = [
        "| " + " | ".join(_cell(_column_words(c)) for c in result.columns) + " |",
        "|" + "---|" * len(result.columns),
    ]
    for row in result.rows[:MAX_ROWS]:
        lines.append(
            "| " + " | ".join(_cell(format_value(v, c)) for v, c in zip(row, result.columns, strict=True)) + " |"
        )
    return f"{first}\n\n" + "\n".join(lines)


def _cell(text: str) -> str:
    """Text that cannot leave its cell or turn into markup."""
    return re.sub(r"([\\|*_`<>\[\]])", r"\\\1", " ".join(text.split()))


def format_value(value: Any, column: str) -> str:
    """Thousands separated; two decimals for money, up to two otherwise; a year or key stays as it is."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d" if value.time() == datetime.min.time() else "%Y-%m-%d %H:%M")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, int | float | Decimal):
        return _number(value, column)
    return str(value)


def _number(value: int | float | Decimal, column: str) -> str:
    if re.fullmatch(r"(.*_)?(year|id|key|code|year_of_birth)", column):
        return f"{int(value)}" if value == int(value) else str(value)
    if "percent" in column:
        return f"{float(value):.1f} %"
    if _MONEY.search(column) and not _NOT_MONEY.search(column):
        # No currency sign: the tables do not say which one it is.
        return f"{value:,.2f}"
    whole = isinstance(value, int) or value == int(value)
    return f"{int(value):,}" if whole else f"{float(value):,.2f}".rstrip("0").rstrip(".")
