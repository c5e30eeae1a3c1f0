"""Row-level questions: lists, properties of one thing, first and last."""

from __future__ import annotations

from query_service.reasoning.planner_context import NOUNS, Context, Unanswerable
from query_service.reasoning.planner_groups import MANY, age_today
from query_service.reasoning.planner_lexicon import NUMERIC
from query_service.reasoning.planner_tags import Tag
from query_service.reasoning.planner_words import is_plural
from query_service.reasoning.semantic_query import Order


def rows(ctx: Context, asked: Tag, target: Tag | None = None) -> None:
    ctx.use(*ctx.open("rows", "what"), *ctx.open("distinct"))
    target = target or ctx.following(
        asked, {*NOUNS, "age"}, ("stop", "distinct", "value", "is", "active", "rows", "what", "compare", "identifier")
    )
    if target is None:
        raise Unanswerable("The question does not say what to show.")
    ctx.use(target)
    columns = [target]
    while (both := ctx.following(columns[-1], {"and"}, ("stop",))) and (
        more := ctx.following(both, {"column"}, ("stop",))
    ):
        ctx.use(both, more)
        columns.append(more)
    if target.kind == "table":
        _table_rows(
            ctx,
            target,
            columns[1:],
            listed=asked.kind == "rows" and asked.text.casefold().startswith(("list", "show", "display", "give")),
        )
        return
    _column_rows(ctx, [*columns, *_shown(ctx, columns[-1])])


def _table_rows(ctx: Context, target: Tag, more: list[Tag], listed: bool) -> None:
    draft, table = ctx.draft, ctx.pick(target.tables, target.text)
    draft.base = table
    draft.select.extend(ctx.labels(table, table))
    draft.select.extend(ctx.column(t, base=table) for t in [*more, *_shown(ctx, target)])
    starts = ctx.lexicon.dates(table, "start")
    if not ctx.is_patient(table) and starts and listed:
        draft.select.append(starts[0])
        draft.order.append(Order(by=starts[0], descending=True))
    else:
        draft.distinct = True
        draft.order.append(Order(by=draft.select[0]))


def _shown(ctx: Context, target: Tag) -> list[Tag]:
    """“… with its class and total claim cost”: columns after the noun that no condition follows."""
    found: list[Tag] = []
    item = ctx.after(target, skip=("stop",))
    while item is not None and item.kind in {"with", "and", "column", "stop"}:
        after = ctx.after(item, skip=("stop",))
        if item.kind == "column":
            if after is not None and after.kind in {"value", "compare", "is", "missing", "number"}:
                break
            found.append(item)
        item = after
    if found:
        ctx.use(*found)
    return found


def _column_rows(ctx: Context, columns: list[Tag]) -> None:
    draft = ctx.draft
    patients = [t for t in ctx.lexicon.entity_of if ctx.is_patient(t)]
    for tag in columns:
        if tag.kind == "age" and not tag.columns:
            if not patients or not (births := ctx.lexicon.dates(patients[0], "birth")):
                raise Unanswerable("No table here has a date of birth.")
            draft.base = draft.base or patients[0]
            draft.computed.append(age_today(ctx, births[0]))
            draft.select.append("age")
            continue
        reference = ctx.column(tag, base=draft.base or None)
        draft.base = draft.base or reference.partition(".")[0]
        draft.select.append(reference)
    draft.distinct = True
    draft.order.append(Order(by=draft.select[0]))
    numbers = all("." in c and ctx.lexicon.column(c).type in NUMERIC for c in draft.select)
    if ctx.is_patient(draft.base):
        draft.select[:0] = ctx.labels(draft.base, draft.base)
    elif numbers and draft.base not in ctx.lexicon.entity_of:
        # Of which row a price is, where more than one may match.
        draft.select[:0] = ctx.lexicon.label(draft.base)


def flagged(ctx: Context, first: Tag) -> bool:
    """“Is authorization required for …”: the row of what is named, with the column that says so."""
    for found in ctx.open("value", "flag"):
        flag = ctx.flag(found)
        if flag is None or not any(v is not found for v in ctx.open("value")):
            continue
        column, stored = flag
        table = stored.column.partition(".")[0]
        ctx.use(first, found, column)
        ctx.draft.base, ctx.draft.distinct = table, True
        ctx.draft.select.extend([*ctx.lexicon.label(table), stored.column])
        return True
    return False


def moment(ctx: Context) -> None:
    """“When was the last encounter …”, “the 5 most recent medications”, “the oldest patient”."""
    draft = ctx.draft
    latest = [t for t in ctx.open("latest", "youngest") if ctx.following(t, {"table"}, ("stop", "number", "value"))]
    when = ctx.open("when")
    mark = latest[0] if latest else when[0] if when else None
    target = ctx.following(mark, {"table"}, ("stop", "number", "value", "latest", "is", "identifier")) if mark else None
    if mark is None or target is None or len(ctx.open("latest", "youngest")) > 1:
        raise Unanswerable("First or last of what? The question does not say it plainly.")
    number = ctx.following(mark, {"number"}, ("stop",))
    ctx.use(mark, target, *when, *ctx.open("what", "rows"), *([number] if number else []))
    draft.base = table = ctx.pick(target.tables, target.text)
    births = ctx.lexicon.dates(table, "birth") if ctx.is_patient(table) else []
    moment = births[0] if births else ctx.event_date(table)
    youngest = mark.kind == "youngest"
    if births and not youngest and mark.text.casefold() != "oldest":
        raise Unanswerable("Patients have no first and last; ask for the oldest or the youngest.")
    draft.select.extend([moment, *ctx.labels(table, table), *(ctx.column(t, base=table) for t in _shown(ctx, target))])
    draft.order.append(Order(by=moment, descending=youngest or (bool(latest) and mark.payload == "desc")))
    if latest:
        plural = is_plural(target.text)
        draft.limit = int(number.payload) if number else (MANY if plural and not when else 1)
