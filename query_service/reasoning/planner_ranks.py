"""Rankings: “the five most common …”, “which … had the highest …”, “top 10 … by …”."""

from __future__ import annotations

import re

from query_service.reasoning.planner_context import NOUNS, Context, Unanswerable
from query_service.reasoning.planner_groups import MANY, alias_of, dimension
from query_service.reasoning.planner_lexicon import NUMERIC
from query_service.reasoning.planner_tags import Tag
from query_service.reasoning.planner_words import is_plural
from query_service.reasoning.semantic_query import Filter, Function, Measure, Order

_PRICED = re.compile(r"expensive|costliest|cheapest", re.IGNORECASE)


def rank(ctx: Context, extreme: list[Tag], asked: list[Tag]) -> bool:
    mark = next((t for t in extreme if t.kind != "top"), extreme[0])
    descending = mark.payload != "min"
    follows = ctx.following(mark, {*NOUNS, "grain", "verb"}, ("stop", "measure", "value", "number", "distinct"))
    if mark.kind == "extreme" and follows is not None and _PRICED.search(mark.text):
        named = [c.partition(".")[0] for c in follows.columns if c in ctx.lexicon.label(c.partition(".")[0])]
        if follows.kind == "table" or named:
            return _dearest(ctx, mark, follows, asked, ctx.pick(follows.tables or named, follows.text))
    lead = _lead(ctx, mark, asked)
    if mark.kind == "extreme" and not (lead and (asked or ctx.open("with"))) and mark.text.casefold() != "top":
        return False
    number = next((t for t in ctx.open("number") if float(t.payload).is_integer()), None)
    subject = lead or follows
    if subject is None or subject.kind == "verb":
        raise Unanswerable("The question does not say what is ranked.")
    ctx.use(*extreme, *asked, subject, *([number] if number else []))
    plural = is_plural(subject.text)
    ctx.draft.limit = int(number.payload) if number else (MANY if plural else 1)
    averaged = next((t for t in ctx.open("measure")), None)
    what = follows if lead is not None else _ranked_by(ctx)
    if (
        what is not None
        and what.kind == "column"
        and any(ctx.lexicon.column(c).type in NUMERIC for c in what.columns)
        and not _is_thing(ctx, what)
    ):
        _rank_by_column(ctx, subject, what, averaged, descending)
    elif mark.kind == "extreme" and mark.text.casefold() != "top":
        raise Unanswerable(f"“{mark.text}” by which number?")
    else:
        _rank_by_count(ctx, subject, what, descending)
    return True


def _lead(ctx: Context, mark: Tag, asked: list[Tag]) -> Tag | None:
    """What is ranked, where it stands before the mark: “which payer had the highest …”, “patients with the most …”."""
    wanted = {*NOUNS, "grain"}
    if asked and asked[-1].at < mark.at:
        found = ctx.following(asked[-1], wanted, ("stop", "distinct", "is", "what", "rows"))
        if found is not None and found.at < mark.at:
            return found
    near = ctx.before(mark, skip=("stop", "is"))
    if near is not None and near.kind == "with":
        near = ctx.before(near, skip=("stop",))
    return near if near is not None and near.kind in wanted and id(near) not in ctx.used else None


def _dearest(ctx: Context, mark: Tag, target: Tag, asked: list[Tag], table: str) -> bool:
    """“The most expensive procedure”: single rows in the order of their cost."""
    costs = [c for c in ctx.lexicon.phrases.get(("cost",), []) if c.startswith(f"{table}.")]
    if not costs:
        raise Unanswerable(f"{table} has no cost.")
    number = next((t for t in ctx.open("number") if float(t.payload).is_integer() and t.at < target.at), None)
    ctx.use(mark, target, *ctx.open("top"), *asked, *([number] if number else []))
    draft, plural = ctx.draft, is_plural(target.text)
    draft.base, draft.limit = table, int(number.payload) if number else (MANY if plural else 1)
    draft.select.extend([*ctx.labels(table, table), costs[0]])
    draft.order.append(Order(by=costs[0], descending=mark.payload == "max"))
    return True


def _is_thing(ctx: Context, tag: Tag) -> bool:
    return ctx.entity(tag) is not None


def _ranked_by(ctx: Context) -> Tag | None:
    """“Top 5 payers by total cost”."""
    for group in ctx.open("group"):
        what = ctx.following(group, NOUNS, ("stop", "measure", "count"))
        if what is not None:
            ctx.use(group, what, *ctx.open("count"))
            return what
    return None


def _rank_by_count(ctx: Context, subject: Tag, what: Tag | None, descending: bool) -> None:
    draft = ctx.draft
    if what is not None:
        ctx.use(what)
        table = ctx.table_of(what)
        if table is None:
            raise Unanswerable(f"No table here holds “{what.text}”.")
        draft.base = table
        key = (
            ctx.lexicon.key_of(own, ctx.patient)
            if (own := ctx.table_of(subject) if subject.kind == "table" else None) and ctx.patient
            else None
        )
        if own and key and ctx.is_patient(table) and own != table:
            # “Which condition affects the most patients”: patients are counted once each.
            draft.base = own
            draft.dimensions.extend(dimension(ctx, subject))
            draft.measures.append(Measure(function="count_distinct", column=key, alias="number_of_patients"))
            draft.order.append(Order(by="number_of_patients", descending=descending))
            return
    elif subject.kind == "table":
        draft.base = ctx.pick(subject.tables, subject.text)
    else:
        events = [t for t in ctx.mentioned() if subject.kind == "grain" or _holds(ctx, t, subject)]
        draft.base = events[0] if events else ctx.column(subject).partition(".")[0]
    draft.dimensions.extend(dimension(ctx, subject))
    for ranked in draft.dimensions:
        if ctx.lexicon.column(ranked.column).nulls and not ctx.is_patient(ranked.column.partition(".")[0]):
            # Rows that do not say what is ranked are no rank of their own.
            draft.filters.append(Filter(column=ranked.column, operator="not_null"))
    draft.measures.append(Measure(function="count", alias=f"number_of_{alias_of('', draft.base)}"))
    draft.order.append(Order(by=draft.measures[-1].alias, descending=descending))


def _holds(ctx: Context, table: str, subject: Tag) -> bool:
    return any(ctx.reach(table, c.partition(".")[0]) is not None for c in subject.columns)


def _rank_by_column(ctx: Context, subject: Tag, what: Tag, averaged: Tag | None, descending: bool) -> None:
    draft = ctx.draft
    ctx.use(what, *([averaged] if averaged else []))
    own = ctx.pick(subject.tables, subject.text) if subject.kind == "table" else None
    reference = ctx.column(what, NUMERIC, base=own)
    draft.base = reference.partition(".")[0]
    own_key = ctx.lexicon.key_of(own, entity) if own is not None and (entity := ctx.entity(subject)) else None
    if own == draft.base and averaged is None and (own_key or not what.text.casefold().startswith("total")):
        # A row with a key of its own is one thing; “the medication with the highest total” is a kind of row, below.
        draft.select.extend([*ctx.labels(own, own), reference])
        draft.order.append(Order(by=reference, descending=descending))
        return
    function: Function = averaged.payload if averaged else "sum"
    if averaged is None:
        if reference not in ctx.lexicon.additive:
            raise Unanswerable(f"The {'highest' if descending else 'lowest'} {what.text}: by total or by average?")
        draft.doubt(0.9, f"Ranked by the total of {reference}.")
    draft.dimensions.extend(dimension(ctx, subject))
    draft.measures.append(Measure(function=function, column=reference, alias=alias_of(function, what.text)))
    draft.order.append(Order(by=draft.measures[-1].alias, descending=descending))
