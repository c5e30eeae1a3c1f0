"""Values of text columns that hold a word of a question: one statement for all columns, not one for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from sqlglot import exp

from foundation.types import QueryResult, TableInfo
from query_service.reasoning import expressions
from query_service.reasoning.planner_lexicon import searchable
from query_service.reasoning.semantic_query import Filter

MOST = 50
"""Values of one column that are looked up; that many mean to the planner that there may be more."""

Run = Callable[[exp.Query, bool], QueryResult]
"""Guards and runs a query on Postgres (True) or on the warehouse."""


class StoredValues:
    """The planner's `find_values` for one question: all its `words` are asked for at once, in all open columns.

    Open are columns whose profile does not show every value. `row_limit` is the guard's; a statement asks for no more
    columns than it lets through.
    """

    def __init__(self, tables: Sequence[TableInfo], run: Run, row_limit: int, words: Sequence[str]) -> None:
        self._run, self._batch, self._words = run, max(1, row_limit // MOST), tuple(dict.fromkeys(words))
        self._postgres = {t.name: t.postgres for t in tables}
        self._open = [(t.name, c.name) for t in tables for c in t.columns if searchable(c)]
        self._found: dict[tuple[bool, tuple[str, ...]], dict[tuple[str, str], list[str]]] = {}

    def __call__(self, table: str, column: str, text: str) -> list[str]:
        """Up to 50 values of the column that contain the text, in any case."""
        postgres, text = self._postgres[table], text.casefold()
        if any(word in text for word in self._words):
            held = self._look_up(postgres, self._words).get((table, column), [])
            if len(held) < MOST:
                # No value with one of the words is missing, so none with all of the text is.
                return [value for value in held if text in value.casefold()]
        return self._look_up(postgres, (text,)).get((table, column), [])

    def _look_up(self, postgres: bool, texts: tuple[str, ...]) -> dict[tuple[str, str], list[str]]:
        if (postgres, texts) not in self._found:
            self._found[postgres, texts] = self._ask(postgres, texts)
        return self._found[postgres, texts]

    def _ask(self, postgres: bool, texts: tuple[str, ...]) -> dict[tuple[str, str], list[str]]:
        columns = [place for place in self._open if self._postgres[place[0]] == postgres]
        found: dict[tuple[str, str], list[str]] = {}
        for first in range(0, len(columns), self._batch):
            batch = columns[first : first + self._batch]
            parts: list[exp.Query] = [_values(number, *place, texts) for number, place in enumerate(batch)]
            whole = reduce(lambda left, right: exp.union(left, right, distinct=False), parts)
            for number, value in self._run(whole, postgres).rows:
                found.setdefault(batch[int(number)], []).append(str(value))
        return found


def _values(number: int, table: str, column: str, texts: Sequence[str]) -> exp.Select:
    field = exp.column(column, quoted=True)
    holds = exp.or_(
        *(
            expressions.condition(
                expressions.Value(field.copy(), "text"), Filter(column=column, operator="contains", values=(text,))
            )
            for text in texts
        )
    )
    values = exp.select(exp.alias_(field.copy(), "held", quoted=True)).distinct().from_(exp.table_(table, quoted=True))
    inner = values.where(holds).limit(MOST).subquery(f"in_{number}")
    place = exp.alias_(exp.Literal.number(number), "place", quoted=True)
    return exp.select(place, exp.column("held", quoted=True)).from_(inner)
