"""Semantic query → SQL of one dialect, built as a sqlglot tree and never as pasted text.

Values become literals that sqlglot escapes, not bound parameters: the statement that a reader sees, edits and runs
again is then the whole of what ran. It still goes through foundation.sql_guard before any engine sees it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlglot import exp

from foundation.errors import InvalidInput
from foundation.types import Column, TableInfo
from query_service.reasoning import expressions
from query_service.reasoning.expressions import Value
from query_service.reasoning.joins import Link, links, path, shared_key
from query_service.reasoning.semantic_query import Computed, Filter, Measure, Related, SemanticQuery

Dialect = Literal["postgres", "duckdb", "athena"]
_NUMERIC = {"bigint", "decimal", "double"}


@dataclass(frozen=True, slots=True)
class CompiledQuery:
    statement: str
    parameters: tuple[Any, ...]
    """Always empty: see the module's first lines. Handed to the guard as it is."""
    columns: tuple[str, ...]
    tables: tuple[str, ...]


def compile(query: SemanticQuery, tables: Sequence[TableInfo], dialect: Dialect) -> CompiledQuery:
    """SQL for the query over these tables. InvalidInput names the table, column, operator or value that is wrong."""
    return _Compiler(query, tables, dialect).statement()


class _Compiler:
    def __init__(self, query: SemanticQuery, tables: Sequence[TableInfo], dialect: Dialect) -> None:
        self.query = query
        self.dialect = dialect
        self.tables = {t.name: t for t in tables}
        self.used: dict[str, None] = {}
        for name in (*query.tables, *(r.table for r in _all_related(query))):
            if name not in self.tables:
                raise InvalidInput(
                    f"tables: there is no table {name!r} here; there are: {', '.join(sorted(self.tables)) or 'none'}."
                )
        self.links = links(tables)

    # -- columns and values -------------------------------------------------------------------------------------

    def column(self, reference: str) -> tuple[exp.Expression, Column]:
        table, _, name = reference.partition(".")
        info = self.tables.get(table)
        found = next((c for c in info.columns if c.name == name), None) if info else None
        if found is None:
            known = ", ".join(c.name for c in info.columns) if info else ", ".join(sorted(self.tables))
            raise InvalidInput(f"column: there is no {reference!r}; write table.column, one of: {known}.")
        self.used[table] = None
        return exp.column(name, table=table, quoted=True), found

    def value(self, reference: str, computed: Sequence[Computed]) -> Value:
        """The expression and type of a reference, which may be a computed column."""
        for item in computed:
            if item.name == reference:
                start = self._moment(item.start)
                return Value(expressions.between(item.function, start, self._moment(item.end), self.dialect), "bigint")
        node, column = self.column(reference)
        return Value(node, column.type)

    def _moment(self, reference: str) -> Value:
        if "." in reference:
            node, column = self.column(reference)
            if column.type not in {"date", "timestamp", "bigint"}:
                raise InvalidInput(f"computed: {reference} is {column.type}; a date, a timestamp or a year is needed.")
            return Value(node, column.type)
        return Value(expressions.literal(reference, "date", "computed"), "date")

    # -- clauses ------------------------------------------------------------------------------------------------

    def condition(self, item: Filter, computed: Sequence[Computed]) -> exp.Expression:
        return expressions.condition(self.value(item.column, computed), item)

    def related(self, item: Related, base: str) -> exp.Expression:
        """`key [NOT] IN (SELECT key FROM related … [GROUP BY key HAVING COUNT(*) …])`."""
        left, right, outer, inner = self._related_key(item, base)
        conditions = [self.condition(f, item.computed) for f in item.filters]
        references = [f.column for f in item.filters] + [r for c in item.computed for r in (c.start, c.end)]
        source = self._from(item.table, _tables_of(references), extra=right)
        key, _ = self.column(inner)
        inside = exp.select(key).from_(exp.table_(item.table, quoted=True))
        for join in source:
            inside = inside.join(join[0], on=join[1], join_type="inner")
        self.used[item.table] = None
        inside = inside.where(*conditions, expressions.not_null(key))
        if item.rows is not None:
            counted = expressions.compare(
                item.rows.operator, exp.Count(this=exp.Star()), exp.Literal.number(item.rows.value)
            )
            inside = inside.group_by(key.copy()).having(counted)
        self.extra_outer.extend(left)
        outer_key, _ = self.column(outer)
        membership: exp.Expression = exp.In(this=outer_key, query=exp.Subquery(this=inside))
        return exp.Not(this=membership) if item.negated else membership

    def _related_key(self, item: Related, base: str) -> tuple[list[Link], list[Link], str, str]:
        if item.on is not None:
            outer, inner = item.on
            return [], [], outer, inner if "." in inner else f"{item.table}.{inner}"
        ways = shared_key(base, item.table, self.links)
        if ways is None:
            raise InvalidInput(
                f"related: no key column ties {item.table} to {base}.",
                fix="Name the two columns in `on`, or leave it out.",
            )
        left, right = ways
        # The last hop of a way ends at the shared key; its many-side holds the same values, so that hop needs no join.
        shared = left[-1] if left else None
        if left and right:
            assert shared is not None
            if (shared.one_table, shared.one_column) == (right[-1].one_table, right[-1].one_column):
                outer = f"{shared.many_table}.{shared.many_column}"
                return left[:-1], right[:-1], outer, f"{right[-1].many_table}.{right[-1].many_column}"
            raise InvalidInput(f"related: {item.table} and {base} meet in {shared.one_table} by different keys.")
        if right:
            last = right[-1]
            return [], right[:-1], f"{last.one_table}.{last.one_column}", f"{last.many_table}.{last.many_column}"
        if left:
            last = left[-1]
            return left[:-1], [], f"{last.many_table}.{last.many_column}", f"{last.one_table}.{last.one_column}"
        raise InvalidInput(f"related: {item.table} is the query's own table; put the conditions into `filters`.")

    def _from(
        self, base: str, others: Sequence[str], extra: Sequence[Link] = ()
    ) -> list[tuple[exp.Expression, exp.Expression]]:
        """Joins that bring every other table in, many-to-one only, so that no row of `base` is ever multiplied."""
        steps: dict[Link, None] = dict.fromkeys(extra)
        for other in others:
            if other == base:
                continue
            way = path(base, other, self.links)
            if way is None:
                raise InvalidInput(
                    f"tables: a row of {base} does not point at one row of {other}.",
                    fix=f"Put the conditions on {other} into `related`, or make {other} the first table.",
                )
            steps.update(dict.fromkeys(way))
        joined: list[tuple[exp.Expression, exp.Expression, str]] = []
        for step in steps:
            if step.one_table in (base, *(j[2] for j in joined)):
                continue
            left, _ = self.column(f"{step.many_table}.{step.many_column}")
            right, _ = self.column(f"{step.one_table}.{step.one_column}")
            joined.append(
                (exp.table_(step.one_table, quoted=True), exp.EQ(this=left, expression=right), step.one_table)
            )
        return [(table, on) for table, on, _ in joined]

    def measure(self, item: Measure, base: str) -> exp.Expression:
        if item.function == "count" and item.column is None:
            return exp.Count(this=exp.Star())
        if item.function == "share":
            holds = [self.condition(f, self.query.computed) for f in item.where]
            holds += [self.related(r, base) for r in item.where_related]
            if not holds:
                raise InvalidInput("share: `where` or `where_related` must say which part is counted.")
            what = self.column(item.column)[0] if item.column else None
            return expressions.share(_all(holds), what)
        if item.column is None:
            raise InvalidInput(f"{item.function}: a column is needed.")
        value = self.value(item.column, self.query.computed)
        if item.function in {"sum", "avg", "median", "ratio"} and value.type not in _NUMERIC:
            raise InvalidInput(f"{item.function}: {item.column} is {value.type}; a number is needed.")
        if item.function == "ratio":
            if item.per is None:
                raise InvalidInput("ratio: `per` must name the column to divide by.")
            return expressions.ratio(value.node, self.value(item.per, self.query.computed).node)
        return expressions.aggregate(item.function, value.node, self.dialect)

    def statement(self) -> CompiledQuery:
        query, base = self.query, self.query.tables[0]
        self.extra_outer: list[Link] = []
        if bool(query.select) == bool(query.measures or query.dimensions):
            raise InvalidInput("select: give either columns to show, or measures and dimensions.")
        named: dict[str, exp.Expression] = {}
        groups: list[exp.Expression] = []
        for reference in query.select:
            named[_alias(reference, named)] = self.value(reference, query.computed).node
        for dimension in query.dimensions:
            value = self.value(dimension.column, query.computed)
            node = expressions.truncate(value, dimension.grain, dimension.column) if dimension.grain else value.node
            default = dimension.grain or dimension.column
            named[dimension.alias or _alias(default, named)] = node
            groups.append(node)
        for measure in query.measures:
            if measure.alias in named:
                raise InvalidInput(f"measures: two columns are called {measure.alias!r}; give each its own alias.")
            named[measure.alias] = self.measure(measure, base)
        conditions = [self.condition(f, query.computed) for f in query.filters]
        conditions += [self.related(r, base) for r in query.related]
        select = exp.select(*(exp.alias_(node.copy(), alias, quoted=True) for alias, node in named.items()))
        select = select.from_(exp.table_(base, quoted=True))
        for table, on, kind in self._joins(base):
            select = select.join(table, on=on, join_type=kind)
        if conditions:
            select = select.where(*conditions)
        if groups and query.measures:
            select = select.group_by(*(g.copy() for g in groups))
        for having in query.having:
            select = select.having(
                expressions.compare(
                    having.operator, _named(named, having.measure).copy(), exp.Literal.number(having.value)
                )
            )
        if query.distinct or (groups and not query.measures):
            select = select.distinct()
        if query.order_by:
            select = select.order_by(*self._ordering(named))
        if query.limit:
            select = select.limit(query.limit)
        return CompiledQuery(select.sql(self.dialect), (), tuple(named), tuple(self.used))

    def _joins(self, base: str) -> list[tuple[exp.Expression, exp.Expression, str]]:
        if self.query.joins:
            explicit: list[tuple[exp.Expression, exp.Expression, str]] = []
            for join in self.query.joins:
                (left, _), (right, _) = self.column(join.left), self.column(join.right)
                table = exp.table_(join.right.partition(".")[0], quoted=True)
                explicit.append((table, exp.EQ(this=left, expression=right), "inner"))
            return explicit
        measures = [c for m in self.query.measures for c in (m.column, m.per) if c]
        references = [*self.query.select, *measures, *(d.column for d in self.query.dimensions)]
        references += [f.column for f in self.query.filters] + [f.column for m in self.query.measures for f in m.where]
        references += [o.by for o in self.query.order_by]
        references += [r for c in self.query.computed for r in (c.start, c.end)]
        found = self._from(base, [*self.query.tables, *_tables_of(references)], extra=self.extra_outer)
        # LEFT: a row whose key is empty still counts; a filter on the joined table drops it where it must.
        return [(table, on, "left") for table, on in found]

    def _ordering(self, named: dict[str, exp.Expression]) -> list[exp.Expression]:
        result: list[exp.Expression] = []
        for order in self.query.order_by:
            node = named[order.by] if order.by in named else self.value(order.by, self.query.computed).node
            result.append(exp.Ordered(this=node.copy(), desc=order.descending, nulls_first=False))
        asked = {o.by for o in self.query.order_by}
        if self.query.measures:
            # Rows that tie come in the same order on every engine and every run.
            for dimension, alias in zip(self.query.dimensions, named, strict=False):
                if alias not in asked and dimension.column not in asked:
                    result.append(exp.Ordered(this=named[alias].copy(), desc=False, nulls_first=False))
        return result


def _all(conditions: Sequence[exp.Expression]) -> exp.Expression:
    whole, *others = conditions
    for other in others:
        whole = exp.And(this=whole, expression=other)
    return whole


def _all_related(query: SemanticQuery) -> list[Related]:
    return [*query.related, *(r for m in query.measures for r in m.where_related)]


def _tables_of(references: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(r.partition(".")[0] for r in references if "." in r))


def _alias(reference: str, taken: dict[str, exp.Expression]) -> str:
    table, _, column = reference.rpartition(".")
    return column if column not in taken else f"{table}_{column}"


def _named(named: dict[str, exp.Expression], alias: str) -> exp.Expression:
    if alias not in named:
        raise InvalidInput(f"having: there is no measure {alias!r}; there are: {', '.join(named)}.")
    return named[alias]
