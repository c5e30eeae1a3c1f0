"""A question about tables → a semantic query, by rules. What the rules do not wholly understand they decline.

Steps, for each set of tables that are tied to each other (planner_scopes): words → tags (planner_tags), groups and what
is asked for (planner_heads), which rows (planner_constraints). Of several readings planner_readings chooses.
Every word has to find its use on the way; one that does not (an unknown measure, value or condition) ends the attempt,
because a query that ignores a part of the question gives a wrong answer that looks right.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from itertools import pairwise

from foundation.errors import InvalidInput
from foundation.types import TableInfo
from query_service.reasoning.compiler import compile
from query_service.reasoning.planner_constraints import Constraints
from query_service.reasoning.planner_context import NOUNS, Ambiguous, Context, Unanswerable
from query_service.reasoning.planner_groups import dimension
from query_service.reasoning.planner_heads import head
from query_service.reasoning.planner_lexicon import FindValues, Lexicon
from query_service.reasoning.planner_marts import check_totals
from query_service.reasoning.planner_readings import Declined, Engine, Plan, Reading, choose
from query_service.reasoning.planner_scopes import scopes
from query_service.reasoning.planner_tags import Tag, tag
from query_service.reasoning.planner_terms import Terms
from query_service.reasoning.planner_words import ASKS, FRESH, PRONOUNS
from query_service.reasoning.semantic_query import Order, SemanticQuery
from query_service.reasoning.table_answer import in_words

__all__ = ["MINIMUM", "Declined", "Engine", "Plan", "plan", "understand"]

MINIMUM = 0.6
"""Below this confidence a plan is no answer; bench/text_to_sql.py measures it."""
_ROUTES: dict[Engine, str] = {"postgres": "sql", "warehouse": "s3"}
_SILENT = {"stop", "is", "with", "and", "rows", "what", "distinct"}


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
    readings: list[Reading] = []
    for lexicon in scopes(tuple(tables), terms):
        mart = all(t.kind == "mart" for t in lexicon.tables)
        if mart and any(isinstance(r.result, Plan) for r in readings):
            # An upload answers. A mart is preferred only for a column's name, which needs no look-up of values.
            readings.append(_read(question, lexicon, engine_hint, today, None))
        else:
            readings.append(_read(question, lexicon, engine_hint, today, find_values))
    return choose(readings) if readings else Declined("There are no tables to ask.")


def _read(
    question: str, lexicon: Lexicon, engine_hint: Engine | None, today: date, find_values: FindValues | None
) -> Reading:
    """The plan over tables that are tied to each other, or why there is none."""
    tags = tag(question, lexicon, today, find_values)
    ctx = Context(tags, lexicon, today)
    unknown = tuple(t.text for t in tags if t.kind == "unknown")
    if unknown:
        return Reading(
            lexicon, Declined(f"No table, column or value here is called {_quoted(unknown)}.", unknown), tags
        )
    try:
        _one_question(question, tags)
        query = _compose(ctx)
        compile(query, lexicon.tables, "duckdb")
    except Ambiguous as reason:
        return Reading(lexicon, Declined(str(reason)), tags, ambiguous=True)
    except Unanswerable as reason:
        return Reading(lexicon, Declined(str(reason)), tags)
    except InvalidInput as error:
        return Reading(lexicon, Declined(error.message), tags)
    if ctx.draft.confidence < MINIMUM:
        several = "The question can be read in several ways. " + " ".join(ctx.draft.notes)
        return Reading(lexicon, Declined(several), tags, ambiguous=True)
    engine, why = _engine(question, query, lexicon, engine_hint)
    explanation = " ".join([in_words(query), *dict.fromkeys(ctx.draft.notes), why])
    return Reading(lexicon, Plan(query, engine, _ROUTES[engine], round(ctx.draft.confidence, 3), explanation), tags)


def _one_question(question: str, tags: Sequence[Tag]) -> None:
    """A second question would be lost in the answer to the first, and a pronoun without its noun asks about nothing.

    “And how often did it occur” is the exception that Constraints knows.
    """
    for before, found in pairwise(tags):
        asks = found.kind in {"count", "rows", "what", "when"} and ASKS.match(found.text) is not None
        apart = before.kind == "and" or re.search(r"[,;.?]", question[before.until : found.at]) is not None
        if asks and apart and found.text.casefold() != "how often" and any(_asks(t) for t in tags if t.at < found.at):
            raise Unanswerable(f"Ask one question at a time: “{question[found.at :].strip()}” is a second one.")
    for found in tags:
        loose = found.kind == "stop" and found.text.casefold() in PRONOUNS
        if loose and not any(t.kind == "value" and t.at < found.at for t in tags):
            raise Unanswerable(f"It is not clear what “{found.text}” stands for.")


def _asks(found: Tag) -> bool:
    """“Tell me” only leads in to a question."""
    return found.kind in {"count", "measure"} or (
        found.kind in {"rows", "what", "when"} and ASKS.match(found.text) is not None
    )


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
    check_totals(ctx)
    return ctx.draft.query()


def _groups(ctx: Context) -> list[Tag]:
    """What follows “by”, “per”, “for each”, and grains such as “monthly”."""
    found: list[Tag] = []
    ranked = bool(ctx.open("top", "most")) or any(t.payload in {"max", "min"} for t in ctx.open("extreme"))
    for mark in ctx.open("group"):
        item = ctx.following(mark, {*NOUNS, "grain"}, ("stop",))
        source = ctx.following(mark, {"file", "table"}, ("stop",)) if mark.text.casefold() == "according to" else None
        if source is not None and not any(t in ctx.lexicon.entity_of for t in source.tables):
            # “According to the price list” says where to look, not how to group.
            ctx.use(mark, *([source] if source.kind == "table" else []))
            continue
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
