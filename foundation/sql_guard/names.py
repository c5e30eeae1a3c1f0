"""The walk: every node known-good, every name resolved to what this principal may read.

Resolving columns is part of the safety: in Postgres `e.row_to_json` calls a function and `e` alone is the whole row.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from sqlglot import exp

from foundation.sql_guard import athena, nodes
from foundation.sql_guard.functions import MAX_PADDING, PADDING, Dialect
from foundation.sql_guard.text import CALL, call_name, refuse

SCHEMA: dict[Dialect, str] = {"postgres": "data", "duckdb": "main", "athena": "data"}
"""Tables are rendered in this schema, so that neither a CTE nor a search path can stand in for one. Athena has none of
this name: its adapter puts the Glue database there."""

MAX_READS = 500
MAX_EXPRESSION = 20_000
"""Engines put derived tables in place of their names: `SELECT a || a AS a FROM (…)`, 30 deep, is a billion nodes."""

HIDDEN: dict[Dialect, tuple[str, ...]] = {"postgres": (), "duckdb": (), "athena": ("$path",)}
"""Columns that a table has beside its own. Athena's `$path` names the file of a row that one may read anyway."""


@dataclass(slots=True)
class Relation:
    """Column names in order, each with the size of the expression behind it; `reads` counts tables once expanded."""

    columns: list[tuple[str, int]]
    reads: int
    alias: str | None = None
    hidden: tuple[str, ...] = ()


@dataclass(slots=True)
class Scope:
    ctes: Mapping[str, Relation]
    outer: Scope | None
    sources: list[Relation] = field(default_factory=list)
    aliases: dict[str, int] = field(default_factory=dict)
    reads: int = 0


class Walk:
    """One statement's check. `used` fills with the tables that it reads, by their real names."""

    def __init__(self, dialect: Dialect, tables: Mapping[str, Sequence[str]]) -> None:
        self.dialect = dialect
        self.tables = {self.key(name): (name, columns) for name, columns in tables.items()}
        self.used: dict[str, None] = {}

    def key(self, name: str) -> str:
        return name if self.dialect == "postgres" else name.lower()

    # Queries

    def query(self, node: Any, ctes: Mapping[str, Relation], outer: Scope | None) -> Relation:
        self.parts(node)
        ctes = self.with_clause(node, ctes, outer)
        if isinstance(node, exp.Select):
            return self.select(node, ctes, outer)
        if isinstance(node, exp.SetOperation):
            left = self.query(self.is_query(node.this), ctes, outer)
            right = self.query(self.is_query(node.expression), ctes, outer)
            columns = [
                (name, size + other) for (name, size), (_, other) in zip(left.columns, right.columns, strict=False)
            ]
            result = Relation(columns, left.reads + right.reads)
        else:
            result = self.query(self.is_query(node.this), ctes, outer)
        scope = Scope(ctes, outer, [Relation(result.columns, 0)], reads=result.reads)
        self.expressions((node.args.get(part) for part in ("order", "limit", "offset")), scope)
        return self.bounded(Relation(result.columns, scope.reads))

    def with_clause(self, node: Any, ctes: Mapping[str, Relation], outer: Scope | None) -> Mapping[str, Relation]:
        clause = node.args.get("with_")
        if clause is None:
            return ctes
        if clause.args.get("recursive"):
            refuse("recursive", "WITH RECURSIVE is not taken: nothing bounds how often it repeats.")
        self.parts(clause)
        known = dict(ctes)
        for cte in clause.expressions:
            if type(cte) is not exp.CTE:
                refuse("clause", "WITH takes only SELECTs.")
            self.parts(cte)
            relation = self.renamed(self.query(self.is_query(cte.this), known, outer), cte.args.get("alias"))
            known[self.key(relation.alias or "")] = relation
        return known

    def is_query(self, node: Any) -> Any:
        if type(node) not in nodes.ROOTS:
            refuse("select_only", "Only SELECT may stand here; no other statement, no VALUES, no PIVOT.")
        return node

    def select(self, node: Any, ctes: Mapping[str, Relation], outer: Scope | None) -> Relation:
        scope = Scope(ctes, outer)
        clause = node.args.get("from_")
        conditions: list[Any] = []
        if not node.expressions:
            refuse("syntax", "SELECT names no column.")
        if clause is not None:
            self.source(clause.this, scope, conditions)
        elif node.args.get("joins"):
            refuse("clause", "JOIN needs a FROM before it.")  # sqlglot would write the table among the columns
        if self.dialect == "athena":
            athena.check_select(node)
        self.joins(node, scope, conditions)
        self.expressions(conditions, scope)
        before_aliases = ("where", "group", "having") if self.dialect == "athena" else ()
        self.clauses(node, before_aliases, scope)
        columns: list[tuple[str, int]] = []
        for projection in node.expressions:
            columns += self.projection(projection, scope)
        rest = ("distinct", "where", "group", "having", "qualify", "windows", "order", "limit", "offset")
        self.clauses(node, [name for name in rest if name not in before_aliases], scope)
        return self.bounded(Relation(columns, scope.reads))

    def clauses(self, node: Any, names: Iterable[str], scope: Scope) -> None:
        self.expressions((part for name in names for part in _listed(node.args.get(name))), scope)

    def bounded(self, relation: Relation) -> Relation:
        if relation.reads > MAX_READS or any(size > MAX_EXPRESSION for _, size in relation.columns):
            refuse("size", "Written out in full, the statement is too large; build on fewer derived tables.")
        return relation

    # FROM

    def joins(self, node: Any, scope: Scope, conditions: list[Any]) -> None:
        for join in node.args.get("joins") or ():
            if type(join) is not exp.Join:
                refuse("clause", "This kind of join is not taken.")
            self.parts(join)
            if (join.args.get("method") or "NATURAL").upper() != "NATURAL":
                refuse("clause", f"{join.args['method']} JOIN is not taken; use a join with ON or USING.")
            self.source(join.this, scope, conditions)
            for name in join.args.get("using") or ():
                self.resolve(name.name, None, scope)
            conditions.append(join.args.get("on"))

    def source(self, node: Any, scope: Scope, conditions: list[Any]) -> None:
        kind = type(node)
        if kind is exp.Table:
            scope.sources.append(self.table(node, scope))
        elif kind is exp.Subquery and type(node.this) is exp.Table:
            self.parts(node)
            first = len(scope.sources)
            inner_conditions: list[Any] = []
            self.source(node.this, scope, inner_conditions)
            self.expressions(inner_conditions, scope)
            if node.args.get("alias") is not None:
                inner = scope.sources[first:]
                del scope.sources[first:]
                merged = Relation([column for relation in inner for column in relation.columns], 0)
                scope.sources.append(self.renamed(merged, node.args["alias"]))
        elif kind is exp.Subquery:
            # DuckDB lets any derived table see those before it; elsewhere that takes LATERAL.
            relation = self.query(node, scope.ctes, scope if self.dialect == "duckdb" else scope.outer)
            self.add(self.renamed(relation, node.args.get("alias")), scope)
        elif kind is exp.Lateral and type(node.this) is exp.Subquery:
            self.parts(node)
            self.add(self.renamed(self.query(node.this, scope.ctes, scope), node.args.get("alias")), scope)
        else:
            refuse("table", "FROM takes tables and SELECTs in parentheses; no functions, VALUES, UNNEST or PIVOT.")
        self.joins(node, scope, conditions)

    def add(self, relation: Relation, scope: Scope) -> None:
        scope.reads += relation.reads
        scope.sources.append(relation)

    def table(self, node: Any, scope: Scope) -> Relation:
        if not isinstance(node.this, exp.Identifier):
            refuse("function", "A function cannot stand in FROM; name a table.")
        name, schema = node.name, node.args.get("db")
        if node.args.get("catalog") is not None:
            self.no_table(f"{node.catalog}.{node.db}.{name}")
        self.parts(node)
        self.version(node.args.get("version"))
        if schema is None and self.key(name) in scope.ctes:
            found = scope.ctes[self.key(name)]
            scope.reads += found.reads
            return self.renamed(Relation(found.columns, found.reads, name), node.args.get("alias"))
        real = self.tables.get(self.key(name))
        if real is None or (schema is not None and schema.name != SCHEMA[self.dialect]):
            self.no_table(f"{schema.name}.{name}" if schema is not None else name)
        self.used[real[0]] = None
        scope.reads += 1
        node.this.set("this", real[0])
        node.set("db", exp.to_identifier(SCHEMA[self.dialect], quoted=True))
        if node.args.get("alias") is None:
            node.set("alias", exp.TableAlias(this=exp.to_identifier(real[0], quoted=True)))
        columns = [(column, 1) for column in real[1]]
        return self.renamed(Relation(columns, 1, real[0], HIDDEN[self.dialect]), node.args["alias"])

    def no_table(self, name: str) -> NoReturn:
        readable = sorted(real for real, _ in self.tables.values())
        near = difflib.get_close_matches(name, readable, 1)
        listed = ", ".join(readable[:10]) + (" …" if len(readable) > 10 else "")
        refuse(
            "table",
            f"There is no table {name[:80]!r} that you may read.",
            fix=f"Did you mean {near[0]}?" if near else f"Use one of: {listed or 'none yet; upload a table first'}.",
        )

    def version(self, node: Any) -> None:
        if node is None:
            return
        if self.dialect != "athena" or type(node) is not exp.Version:
            refuse("clause", "FOR … AS OF is not taken here.")
        self.parts(node)
        self.expressions([node.expression], Scope({}, None))

    def renamed(self, relation: Relation, alias: Any) -> Relation:
        if alias is None:
            return relation
        if type(alias) is not exp.TableAlias:
            refuse("expression", "This alias is not taken; write AS name.")
        self.parts(alias)
        names = [column.name for column in alias.args.get("columns") or ()]
        columns = [(names[i] if i < len(names) else n, size) for i, (n, size) in enumerate(relation.columns)]
        return Relation(columns, relation.reads, alias.name or relation.alias, relation.hidden)

    # Expressions

    def projection(self, node: Any, scope: Scope) -> list[tuple[str, int]]:
        star = node.this if type(node) is exp.Column else node
        if type(star) is exp.Star:
            return self.star(star, node.args.get("table") if star is not node else None, scope)
        size = self.expressions([node], scope)
        name = node.alias if type(node) is exp.Alias else self.implied_name(node)
        if type(node) is exp.Alias:
            scope.aliases[self.key(name)] = size
        return [(name, size)]

    def star(self, star: Any, table: Any, scope: Scope) -> list[tuple[str, int]]:
        self.parts(star)
        if self.dialect == "athena":
            athena.check_star(star)
        sources = scope.sources if table is None else [self.named(table.name, scope)]
        dropped: set[str] = set()
        for column in star.args.get("except_") or ():
            self.resolve(column.name, None, scope)
            dropped.add(self.key(column.name))
        sizes = {}
        for replacement in star.args.get("replace") or ():
            sizes[self.key(replacement.alias)] = self.expressions([replacement], scope)
        columns = [column for source in sources for column in source.columns if self.key(column[0]) not in dropped]
        return [(name, sizes.get(self.key(name), size)) for name, size in columns]

    def implied_name(self, node: Any) -> str:
        """The name that the engine gives to a column without alias; empty where it is not a name one would write."""
        while type(node) in (exp.Window, exp.Filter, exp.WithinGroup, exp.Paren, exp.Cast, exp.TryCast):
            node = node.this
        if type(node) is exp.Column:
            return str(node.name)
        if self.dialect != "postgres":
            return ""
        if type(node) is exp.Anonymous:
            return str(node.name).lower()
        return node.key if type(node) in (exp.Case, exp.Extract, exp.Exists) else ""

    def expressions(self, roots: Iterable[Any], scope: Scope) -> int:
        """Check every node below; returns the size once names are replaced by what stands behind them."""
        size = 0
        stack = [root for root in roots if root is not None]
        while stack:
            node = stack.pop()
            if type(node) in nodes.ROOTS:
                relation = self.query(node, scope.ctes, scope)
                scope.reads += relation.reads
                size += sum(s for _, s in relation.columns)
                continue
            self.known(node, scope)
            size += self.column(node, scope) if type(node) is exp.Column else 1
            if type(node) is not exp.Column:
                stack.extend(node.iter_expressions())
        return size

    def known(self, node: Any, scope: Scope) -> None:
        kind = type(node)
        if kind not in nodes.EXPRESSIONS or (kind in nodes.DUCKDB_ONLY and self.dialect != "duckdb"):
            if isinstance(node, exp.Func):
                refuse("function", f"The function {node.sql_name()} is not among those that may be called.")
            refuse("expression", f"{kind.__name__} is not a construct that may be used.")
        self.parts(node)
        if self.dialect == "athena":
            athena.check_function(node)
        if kind is exp.Anonymous:
            self.call(node)
        elif kind is exp.Star and not (type(node.parent) is exp.Anonymous and node.parent.name == "COUNT"):
            refuse("expression", "* stands only alone in SELECT or in count(*).")
        elif kind is exp.DataType:
            self.type(node)
        elif kind is exp.Var and node.name.upper() not in nodes.UNITS | {"ALL", "TIES", "GROUP"}:
            refuse("expression", f"{node.name[:40]!r} is not a unit of time.")

    def call(self, node: Any) -> None:
        raw = node.this if isinstance(node.this, str) else node.name
        name = call_name(node)
        if name is None:
            refuse("function", f"The function {raw.removeprefix(CALL)[:60]} is not among those that may be called.")
        if name in PADDING:
            length = node.expressions[1] if len(node.expressions) > 1 else None
            if not (isinstance(length, exp.Literal) and length.is_int and int(length.name) <= MAX_PADDING):
                refuse("function", f"{name} takes a length that is written as a number, at most {MAX_PADDING}.")

    def type(self, node: Any) -> None:
        more = [value for part, value in node.args.items() if part not in ("this", "expressions") and value]
        if node.this not in nodes.TYPES or more:
            refuse("type", "Casts go to numbers, text, boolean, date, time, timestamp or interval only.")
        for length in node.expressions:
            if type(length) is not exp.DataTypeParam or not (
                isinstance(length.this, exp.Literal)
                and length.this.is_int
                and int(length.this.name) <= nodes.MAX_TYPE_LENGTH
            ):
                refuse("type", f"A type's length is a number up to {nodes.MAX_TYPE_LENGTH}.")

    # Names

    def column(self, node: Any, scope: Scope) -> int:
        self.parts(node)
        table, schema = node.args.get("table"), node.args.get("db")
        if schema is not None:
            if schema.name != SCHEMA[self.dialect]:
                refuse("column", "A column is named as column or table.column.")
            node.set("db", None)
        if type(node.this) is exp.Star:
            if not (type(node.parent) is exp.Anonymous and node.parent.name == "COUNT" and table is not None):
                refuse("expression", "table.* stands only alone in SELECT or in count(table.*).")
            self.named(table.name, scope)
            return 1
        if type(node.this) is not exp.Identifier or (table is not None and type(table) is not exp.Identifier):
            refuse("column", "A column is named as column or table.column.")
        return self.resolve(node.name, table.name if table is not None else None, scope)

    def named(self, alias: str, scope: Scope) -> Relation:
        level: Scope | None = scope
        while level is not None:
            for source in level.sources:
                if source.alias is not None and self.key(source.alias) == self.key(alias):
                    return source
            level = level.outer
        refuse("column", f"{alias[:80]!r} is not a table or alias of this query.")

    def resolve(self, name: str, table: str | None, scope: Scope) -> int:
        """The size behind a name; refused where no table in scope has such a column."""
        key = self.key(name)
        if table is not None:
            source = self.named(table, scope)
            sizes = [size for column, size in source.columns if column and self.key(column) == key]
            if sizes or name in source.hidden:
                return max(sizes, default=1)
            self.no_column(name, [source])
        if key in scope.aliases:
            return scope.aliases[key]
        level: Scope | None = scope
        while level is not None:
            for source in level.sources:
                sizes = [size for column, size in source.columns if column and self.key(column) == key]
                if sizes or name in source.hidden:
                    return max(sizes, default=1)
            level = level.outer
        self.no_column(name, scope.sources)

    def no_column(self, name: str, sources: Sequence[Relation]) -> NoReturn:
        columns = list(dict.fromkeys(column for source in sources for column, _ in source.columns if column))
        near = difflib.get_close_matches(name, columns, 1)
        listed = ", ".join(columns[:20]) + (" …" if len(columns) > 20 else "")
        refuse(
            "column",
            f"There is no column {name[:80]!r} in the tables of this query.",
            fix=f"Did you mean {near[0]}?" if near else f"The columns are: {listed or 'none'}.",
        )

    def parts(self, node: Any) -> None:
        allowed = nodes.PARTS.get(type(node))
        if allowed is None:
            return
        for part, value in node.args.items():
            if value is None or value is False or value == [] or part in allowed:
                continue
            word = {"into": "INTO", "locks": "FOR UPDATE", "sample": "TABLESAMPLE"}.get(part, part.strip("_").upper())
            refuse("clause", f"{word} may not be used in {type(node).__name__.upper()}.")


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
