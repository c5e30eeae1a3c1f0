"""What groups and computed columns stand for, seen from the base table."""

from __future__ import annotations

import re

from query_service.reasoning.planner_context import Context, Unanswerable
from query_service.reasoning.planner_lexicon import TEMPORAL
from query_service.reasoning.planner_tags import Tag
from query_service.reasoning.semantic_query import Computed, Dimension, Grain

MANY = 10
"""How many rows “the most common conditions” shows."""


def dimension(ctx: Context, tag: Tag) -> list[Dimension]:
    """The columns that a group word stands for, seen from the base."""
    base = ctx.draft.base
    if tag.kind == "grain":
        grain: Grain = tag.payload
        if not ctx.lexicon.dates(base, "start") and grain == "year" and (years := ctx.year(base)):
            return [Dimension(column=years[0])]
        return [Dimension(column=ctx.event_date(base), grain=grain)]
    if tag.kind == "table":
        table = ctx.pick(tag.tables, tag.text)
        if ctx.reach(base, table) is not None:
            return [Dimension(column=c) for c in ctx.labels(table, base)]
        key = ctx.lexicon.key_of(base, entity) if (entity := ctx.entity(tag)) else None
        if key is None:
            raise Unanswerable(f"A row of {base} does not belong to one row of {table}.")
        return [Dimension(column=key)]
    reference = ctx.column(tag, base=base)
    if ctx.reach(base, reference.partition(".")[0]) is None:
        raise Unanswerable(f"“{tag.text}” is not a property of {base}.")
    if ctx.lexicon.column(reference).type in {"decimal", "double"}:
        raise Unanswerable(f"{reference} is an amount, which does not group rows.")
    if ctx.lexicon.column(reference).type in TEMPORAL:
        return [Dimension(column=reference, grain="day")]
    return [Dimension(column=reference)]


def age_today(ctx: Context, birth: str) -> Computed:
    ctx.draft.doubt(0.95, f"Ages are as of {ctx.today.isoformat()}.")
    return Computed(name="age", function="years_between", start=birth, end=ctx.today.isoformat())


def alias_of(prefix: str, text: str) -> str:
    words = re.sub(r"[^a-z0-9]+", "_", text.casefold()).strip("_") or "value"
    name = f"{prefix}_{words}".strip("_")
    return name if name[0].isalpha() else f"n_{name}"
