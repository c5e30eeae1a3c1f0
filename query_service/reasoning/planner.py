"""A question about tables → a semantic query, by rules. What the rules do not wholly understand they decline.

Steps: words → tags (planner_tags), groups and what is asked for (planner_heads), which rows (planner_constraints).
Every word has to find its use on the way; one that does not (an unknown measure, value or condition) ends the attempt,
because a query that ignores a part of the question gives a wrong answer that looks right.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Literal

from foundation.errors import InvalidInput
from foundation.types import TableInfo
from query_service.reasoning.compiler import compile
from query_service.reasoning.planner_constraints import Constraints
from query_service.reasoning.planner_context import NOUNS, Context, Unanswerable
from query_service.reasoning.planner_groups import dimension
from query_service.reasoning.planner_heads import head
from query_service.reasoning.planner_lexicon import FindValues, Lexicon
from query_service.reasoning.planner_tags import Tag, tag
from query_service.reasoning.planner_terms import Terms
from query_service.reasoning.planner_words import FRESH
from query_service.reasoning.semantic_query import Order, SemanticQuery
from query_service.reasoning.table_answer import in_words

Engine = Literal["postgres", "warehouse"]
MINIMUM = 0.6
"""Below this confidence a plan is no answer; bench/text_to_sql.py measures it."""
_ROUTES: dict[Engine, str] = {"postgres": "sql", "warehouse": "s3"}
_SILENT = {"stop", "is", "with", "and", "rows", "what", "distinct"}


@dataclass(frozen=True, slots=True)
class Plan:
    query: SemanticQuery
    engine: Engine
    route: str
    confidence: float
    explanation: str


@dataclass(frozen=True, slots=True)
class Declined:
    """Why there is no plan, and the words that no table explains."""

    reason: str
    unknown: tuple[str, ...] = ()


def plan(
    question: str,
    tables: Sequence[TableInfo],
    *,
    engine_hint: Engine | None = None,
    today: date,
    terms: Terms,
    find_values: FindValues | None = None,
) -> Plan | None:
    """The plan, or None when these tables cannot answer the question for certain; `understand` says why not."""
    result = understand(question, tables, engine_hint=engine_hint, today=today, terms=terms, find_values=find_values)
    return result if isinstance(result, Plan) else None


def understand(
    question: str,
    tables: Sequence[TableInfo],
    *,
    engine_hint: Engine | None = None,
    today: date,
    terms: Terms,
    find_values: FindValues | None = None,
) -> Plan | Declined:
    """As `plan`. `find_values(table, column, text)` returns up to 50 stored values that contain the text, in any case;
    without it only values in the column profiles are known."""
    if not tables:
        return Declined("There are no tables to ask.")
    lexicon = _lexicon(tuple(tables), terms)
    ctx = Context(tag(question, lexicon, today, find_values), lexicon, today)
    unknown = tuple(t.text for t in ctx.tags if t.kind == "unknown")
    if unknown:
        return Declined(f"No table, column or value here is called {_quoted(unknown)}.", unknown)
    try:
        query = _compose(ctx)
        compile(query, tables, "duckdb")
    except Unanswerable as reason:
        return Declined(str(reason))
    except InvalidInput as error:
        return Declined(error.message)
    if ctx.draft.confidence < MINIMUM:
        return Declined("The question can be read in several ways. " + " ".join(ctx.draft.notes))
    engine, why = _engine(question, query, lexicon, engine_hint)
    explanation = " ".join([in_words(query), *dict.fromkeys(ctx.draft.notes), why])
    return Plan(query, engine, _ROUTES[engine], round(ctx.draft.confidence, 3), explanation)


@lru_cache(maxsize=32)
def _lexicon(tables: tuple[TableInfo, ...], terms: Terms) -> Lexicon:
    return Lexicon(tables, terms)


def _compose(ctx: Context) -> SemanticQuery:
    groups = _groups(ctx)
    head(ctx, groups)
    Constraints(ctx).apply()
    for item in groups:
        for found in dimension(ctx, item):
            if all(d.column != found.column or d.grain != found.grain for d in ctx.draft.dimensions):
                ctx.draft.dimensions.append(found)
    if ctx.draft.dimensions and not ctx.draft.order:
        _order_groups(ctx)
    for named in ctx.open("file"):
        if ctx.draft.base in named.tables:
            ctx.use(named)
    left = [t for t in ctx.tags if id(t) not in ctx.used and t.kind not in _SILENT]
    if left:
        raise Unanswerable(f"The rules do not know what {_quoted([t.text for t in left])} asks for here.")
    if ctx.draft.select and ctx.draft.dimensions:
        raise Unanswerable("Rows cannot be both listed and grouped.")
    return ctx.draft.query()


def _groups(ctx: Context) -> list[Tag]:
    """What follows “by”, “per”, “for each”, and grains such as “monthly”."""
    found: list[Tag] = []
    ranked = bool(ctx.open("top", "most")) or any(t.payload in {"max", "min"} for t in ctx.open("extreme"))
    for mark in ctx.open("group"):
        item = ctx.following(mark, {*NOUNS, "grain"}, ("stop",))
        if item is None:
            continue
        if ranked and item.kind == "column" and ctx.open("top"):
            continue
        ctx.use(mark)
        while item is not None:
            ctx.use(item)
            found.append(item)
            both = ctx.following(item, {"and"}, ("stop",))
            nearest = ctx.after(item, skip=("stop",))
            item = (
                ctx.following(both, {*NOUNS, "grain"}, ("stop",))
                if both is not None
                else nearest
                if nearest is not None and nearest.kind in {"grain"}
                else None
            )
            if both is not None and item is not None:
                ctx.use(both)
    for item in ctx.open("grain"):
        if re.fullmatch(
            r"(?:each|every) \w+|yearly|annual|annually|monthly|quarterly|daily|over time|over the years|\w+ by \w+",
            item.text.casefold(),
        ):
            ctx.use(item)
            found.append(item)
    return found


def _order_groups(ctx: Context) -> None:
    """Times in their order, other groups by their first measure, largest first."""
    draft = ctx.draft
    timed = next((d for d in draft.dimensions if d.grain), None)
    if timed is not None:
        draft.order.append(Order(by=timed.alias or str(timed.grain)))
    elif draft.measures:
        draft.order.append(Order(by=draft.measures[0].alias, descending=True))


def _engine(question: str, query: SemanticQuery, lexicon: Lexicon, hint: Engine | None) -> tuple[Engine, str]:
    names = [*query.tables, *(r.table for r in query.related)]
    names += [
        c.partition(".")[0]
        for c in (*query.select, *(d.column for d in query.dimensions), *(f.column for f in query.filters))
        if "." in c
    ]
    warehouse_only = [n for n in names if not lexicon.by_name[n].postgres]
    if warehouse_only:
        return "warehouse", f"Asked of the warehouse, because {warehouse_only[0]} has no Postgres copy."
    if hint is not None:
        return hint, f"Asked of {'Postgres' if hint == 'postgres' else 'the warehouse'}, as the question was routed."
    if query.select:
        return "postgres", "Asked of Postgres, because it shows single rows."
    if FRESH.search(question):
        return "postgres", "Asked of Postgres, because the question is about now."
    return "warehouse", "Asked of the warehouse, because it goes over the whole history."


def _quoted(words: Sequence[str]) -> str:
    return ", ".join(f"“{w}”" for w in words)
