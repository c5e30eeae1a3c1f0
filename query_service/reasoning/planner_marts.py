"""Marts of totals: what may be worked out from their rows, and what would be an average of averages."""

from __future__ import annotations

from query_service.reasoning.planner_context import Context, Unanswerable
from query_service.reasoning.planner_groups import alias_of
from query_service.reasoning.planner_tags import Tag
from query_service.reasoning.semantic_query import Measure


def of_totals(ctx: Context, table: str) -> bool:
    """Whether the table is a mart whose rows stand for groups, not for single things such as dim_patients' rows."""
    return ctx.lexicon.by_name[table].kind == "mart" and table not in ctx.lexicon.entity_of


def count_from_mart(ctx: Context, target: Tag) -> bool:
    """“How many occurrences …” where a mart has counted them: its numbers are added up."""
    counts = [c for c in target.columns if c in ctx.lexicon.counts]
    if not counts:
        return False
    ctx.draft.base = counts[0].partition(".")[0]
    alias = alias_of("number_of", target.text)
    ctx.draft.measures.append(Measure(function="sum", column=counts[0], alias=alias))
    return True


def average_from_mart(ctx: Context, reference: str, name: str) -> bool:
    """“The average cost of an encounter” over a mart with total costs and numbers of encounters: one by the other."""
    base = reference.partition(".")[0]
    unit = next(
        ((t, c) for t in ctx.open("column") for c in t.columns
         if c in ctx.lexicon.counts & ctx.lexicon.additive and c.startswith(f"{base}.")), None
    )  # fmt: skip
    if unit is None or reference not in ctx.lexicon.additive:
        return False
    tag, per = unit
    ctx.use(tag)
    ctx.draft.measures.append(Measure(function="ratio", column=reference, per=per, alias=alias_of("avg", name)))
    return True


def check_totals(ctx: Context) -> None:
    """Unanswerable where the measures make no sense over rows that are totals."""
    draft, lexicon = ctx.draft, ctx.lexicon
    if not of_totals(ctx, draft.base):
        return
    rows = lexicon.by_name[draft.base].row_count
    single = any(f.operator == "=" and lexicon.column(f.column).distinct == rows for f in draft.filters)
    for measure in draft.measures:
        if measure.function in {"count_distinct", "ratio"}:
            continue
        if measure.function != "sum" or measure.column is None:
            raise Unanswerable(f"The rows of {draft.base} are totals; a {measure.function} over them says nothing.")
        if not single and measure.column not in lexicon.additive:
            raise Unanswerable(f"{measure.column} cannot be added up over the rows of {draft.base}.")
        if written := lexicon.column(measure.column).description:
            draft.notes.append(f"{measure.column}: {written}.")
