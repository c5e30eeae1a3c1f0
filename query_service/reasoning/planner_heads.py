"""What is asked for: a count, an aggregate, a share, a ranking, or rows. Each step sets the base table and the output."""

from __future__ import annotations

import re

from query_service.reasoning.planner_context import NOUNS, Context, Unanswerable
from query_service.reasoning.planner_lexicon import NUMERIC, TEMPORAL
from query_service.reasoning.planner_tags import Tag
from query_service.reasoning.semantic_query import Computed, Dimension, Filter, Function, Grain, Measure, Order

_BETWEEN = ("stop", "distinct", "value", "is", "active", "compare")
_MANY = 10
YES_NO = re.compile(r"\s*(?:has|have|had|does|did|do|is|was|were|are)\b", re.IGNORECASE)
_PRICED = re.compile(r"expensive|costliest|cheapest", re.IGNORECASE)


def head(ctx: Context, groups: list[Tag]) -> None:
    """Find out what is asked for; Unanswerable when no form fits."""
    percent, counts = ctx.open("percent"), ctx.open("count")
    extreme = ctx.open("most", "extreme", "top")
    asked = ctx.open("rows", "what")
    if percent:
        return _share(ctx, percent[0])
    if not (counts or asked or ctx.open("when")) and _whether(ctx):
        return None
    if extreme and _rank(ctx, extreme, asked):
        return None
    if counts:
        return _count(ctx, counts, groups)
    if (measures := ctx.open("measure", "extreme")) and _aggregate(ctx, measures, groups):
        return None
    if ctx.open("latest", "when", "youngest"):
        return _moment(ctx)
    if ctx.open("distribution"):
        return _distribution(ctx, groups)
    totals = [
        t for t in ctx.open("column") if t.text.casefold().startswith("total") and set(t.columns) & ctx.lexicon.additive
    ]
    if totals and (not asked or ctx.following(asked[-1], {"column"}, ("stop", "is")) is totals[0]):
        return _sum_of(ctx, totals[0])
    if not asked and (first := _implied(ctx)) is not None:
        asked = [first]
    if asked:
        return _rows(ctx, asked[0])
    raise Unanswerable("The question does not say what to count, add up or show.")


def _implied(ctx: Context) -> Tag | None:
    """“Birth date of …”, “Encounters in 2019”: a noun phrase alone asks to be shown."""
    first = next((t for t in ctx.tags if t.kind != "stop"), None)
    if first is None or first.kind not in {*NOUNS, "value"}:
        return None
    mark = Tag("rows", "list", -1, -1)
    ctx.tags.insert(0, mark)
    return mark


def _whether(ctx: Context) -> bool:
    """“Does … have …”, “Has … been given …”: the number of patients of whom it is true."""
    first = ctx.tags[0] if ctx.tags else None
    if first is None or not YES_NO.match(first.text) or first.kind not in {"stop", "is", "with"}:
        return False
    patients = next((t for t in ctx.lexicon.entity_of if ctx.is_patient(t)), None)
    if patients is None:
        raise Unanswerable("No table here holds patients.")
    noun = next((t for t in ctx.open("table") if ctx.is_patient(t.tables[0])), None)
    ctx.use(first, *([noun] if noun else []))
    ctx.draft.base = patients
    ctx.draft.measures.append(Measure(function="count", alias="number_of_patients"))
    return True


# -- counts -----------------------------------------------------------------------------------------------------


def _count(ctx: Context, counts: list[Tag], groups: list[Tag]) -> None:
    count = counts[0]
    # “How many patients have …, and how often …”: the second count is of the events, see Constraints.
    ctx.use(*[c for c in counts if c is count or c.text.casefold() != "how often"], *ctx.open("rows", "what"))
    average = [t for t in ctx.open("measure") if t.payload == "avg"]
    ctx.use(*[t for t in ctx.open("measure") if t.payload == "sum"], *average)
    target = ctx.following(count, NOUNS, (*_BETWEEN, "measure", "count"))
    distinct = ctx.open("distinct")
    ctx.use(*distinct)
    if target is None:
        target = _counted_by_value(ctx, count)
    else:
        ctx.use(target)
    if average:
        return _per_distinct(ctx, target, groups)
    _count_of(ctx, target, groups, bool(distinct))


def _counted_by_value(ctx: Context, count: Tag) -> Tag:
    """“How many females …”: the value's own table is what is counted."""
    value = ctx.following(count, {"value"}, ("stop", "distinct"))
    if value is None:
        # “Among women with …, how many are …”: what stands before is counted.
        value = next((t for t in ctx.tags if t.at < count.at and t.kind in {"table", "value"}), None)
        if value is not None and value.kind == "table" and ctx.is_patient(value.tables[0]):
            ctx.use(value)
            return value
    tables = list(dict.fromkeys(h.table for h in value.hits if h.table in ctx.lexicon.entity_of)) if value else []
    patient = [t for t in tables if ctx.is_patient(t)]
    if value is None or not (patient or len(tables) == 1):
        raise Unanswerable("The question does not say what is counted.")
    table = (patient or tables)[0]
    return Tag("table", value.text, value.at, value.until, ctx.lexicon.entity_of.get(table), tables=[table])


def _count_of(ctx: Context, target: Tag, groups: list[Tag], distinct: bool) -> None:
    draft, entity = ctx.draft, ctx.entity(target)
    if target.kind == "table":
        table = ctx.pick(target.tables, target.text)
        if ctx.is_patient(table) and (event := _event_for_groups(ctx, table, groups)):
            return _distinct_patients(ctx, event)
        draft.base = table
        if distinct and not ctx.is_patient(table):
            labels = ctx.labels(table, table)
            draft.measures.append(Measure(function="count_distinct", column=labels[0], alias="number"))
        else:
            draft.measures.append(Measure(function="count", alias=_alias("number_of", target.text)))
        return
    if entity is not None and entity.name == "patient":
        events = [t for t in ctx.mentioned() if ctx.lexicon.key_of(t, entity)]
        if not events:
            raise Unanswerable("No table here says which patients it is about.")
        return _distinct_patients(ctx, events[0])
    reference = ctx.column(target)
    draft.base = reference.partition(".")[0]
    kind = ctx.lexicon.column(reference).type
    if reference in ctx.lexicon.additive or (kind in {"decimal", "double"}):
        draft.measures.append(Measure(function="sum", column=reference, alias=_alias("total", target.text)))
    else:
        draft.measures.append(
            Measure(function="count_distinct", column=reference, alias=_alias("number_of", target.text))
        )


def _distinct_patients(ctx: Context, event: str) -> None:
    key = ctx.lexicon.key_of(event, ctx.patient) if ctx.patient else None
    if key is None:
        raise Unanswerable(f"{event} does not say which patient a row belongs to.")
    ctx.draft.base = event
    ctx.draft.measures.append(Measure(function="count_distinct", column=key, alias="number_of_patients"))


def _event_for_groups(ctx: Context, patients: str, groups: list[Tag]) -> str | None:
    """The table whose rows the groups describe, where they are not of the patient: “patients per year”."""
    for tag in groups:
        if tag.kind == "column" and not any(ctx.reach(patients, c.partition(".")[0]) is not None for c in tag.columns):
            return ctx.column(tag).partition(".")[0]
        away = tag.kind == "table" and ctx.reach(patients, ctx.pick(tag.tables, tag.text)) is None
        if tag.kind == "grain" or away:
            events = [t for t in ctx.mentioned() if t != patients and ctx.lexicon.dates(t, "start")]
            if tag.kind == "grain" and len(events) != 1:
                raise Unanswerable(f"“{tag.text}” needs one kind of event to go by.")
            owner = (
                events[0]
                if events
                else next(
                    (t for t in ctx.lexicon.by_name if ctx.reach(t, patients) and ctx.reach(t, tag.tables[0])), None
                )
            )
            if owner is None:
                raise Unanswerable(f"No table ties patients to “{tag.text}”.")
            return owner
    return None


def _per_distinct(ctx: Context, target: Tag, groups: list[Tag]) -> None:
    """“Average number of encounters per patient”: over patients who have at least one."""
    per = next((g for g in groups if g.kind in NOUNS), None)
    entity = ctx.entity(per) if per else None
    if target.kind != "table" or per is None or entity is None or len(groups) > 1:
        raise Unanswerable("An average of a count needs “per” something that the rows point at.")
    groups.clear()
    base = ctx.pick(target.tables, target.text)
    key = ctx.lexicon.key_of(base, entity)
    if key is None:
        raise Unanswerable(f"{base} does not point at {entity.name}s.")
    ctx.draft.base = base
    ctx.draft.measures.append(Measure(function="per_distinct", column=key, alias=f"per_{_alias('', entity.name)}"))
    ctx.draft.doubt(0.95, f"The average is over each {entity.name} with at least one row in {base}.")


def _distribution(ctx: Context, groups: list[Tag]) -> None:
    """“Distribution of patients by gender”, “gender distribution of patients”."""
    mark = ctx.open("distribution")[0]
    ctx.use(mark, *ctx.open("rows", "what"))
    before = ctx.before(mark, skip=("stop", "and"))
    if before is not None and before.kind == "column" and id(before) not in ctx.used:
        groups.append(before)
        ctx.use(before)
    target = ctx.following(mark, {"table"}, ("stop", "value", "is"))
    if target is None or not groups:
        raise Unanswerable("The question does not say over what something is distributed.")
    ctx.use(target)
    _count_of(ctx, target, groups, distinct=False)


# -- aggregates -------------------------------------------------------------------------------------------------


def _aggregate(ctx: Context, measures: list[Tag], groups: list[Tag]) -> bool:
    mark = measures[0]
    column = ctx.following(
        mark, {"column", "age", "duration"}, (*_BETWEEN, "table", "measure", "extreme", "latest", "verb")
    )
    if column is None:
        return False
    functions: dict[str, Function] = {"avg": "avg", "sum": "sum", "median": "median", "max": "max", "min": "min"}
    wanted = list(dict.fromkeys(functions[m.payload] for m in measures if m.at < column.at))
    ctx.use(*measures, *ctx.open("what", "rows"), column)
    if any(g.kind in NOUNS and (e := ctx.entity(g)) and e.name == "patient" for g in groups) and "avg" in wanted:
        raise Unanswerable(
            "An average per patient can be read in two ways: ask for the total per patient, or for the average."
        )
    if column.kind in {"age", "duration"} and not (column.columns and column.kind == "age"):
        reference, name = _computed(ctx, column)
    else:
        reference = ctx.column(column, NUMERIC)
        ctx.draft.base, name = reference.partition(".")[0], reference.rpartition(".")[2]
        if "sum" in wanted and reference not in ctx.lexicon.additive:
            ctx.draft.doubt(0.9, f"{reference} is added up over rows.")
    for function in wanted:
        ctx.draft.measures.append(Measure(function=function, column=reference, alias=_alias(function, name)))
    return True


def _sum_of(ctx: Context, column: Tag) -> None:
    reference = ctx.column(column, NUMERIC)
    ctx.use(column, *ctx.open("what", "rows"))
    ctx.draft.base = reference.partition(".")[0]
    ctx.draft.measures.append(
        Measure(function="sum", column=reference, alias=_alias("sum", reference.rpartition(".")[2]))
    )


def _computed(ctx: Context, tag: Tag) -> tuple[str, str]:
    if tag.kind == "age":
        patients = next((t for t in ctx.lexicon.entity_of if ctx.is_patient(t)), None)
        births = ctx.lexicon.dates(patients, "birth") if patients else []
        others = [t for t in ctx.mentioned() if not ctx.is_patient(t)]
        if patients is None or not births:
            raise Unanswerable("No table here has a date of birth.")
        if others:
            raise Unanswerable("Age at which moment? Name a date of birth condition, or ask for the age of patients.")
        ctx.draft.base = patients
        ctx.draft.computed.append(age_today(ctx, births[0]))
        return "age", "age"
    tables = [t for t in ctx.mentioned() if ctx.lexicon.dates(t, "start") and ctx.lexicon.dates(t, "stop")]
    if not tables:
        raise Unanswerable("The question does not say whose duration is asked for.")
    unit = next((u for u in ctx.open("unit")), None)
    ctx.use(*([unit] if unit else []))
    name = unit.payload if unit else ("days" if "stay" in tag.text else None)
    start, stop = ctx.lexicon.dates(tables[0], "start")[0], ctx.lexicon.dates(tables[0], "stop")[0]
    if name is None:
        name = "days" if ctx.lexicon.column(start).type == "date" else "minutes"
    ctx.draft.base = tables[0]
    ctx.draft.computed.append(Computed(name=name, function=f"{name}_between", start=start, end=stop))
    return name, name


def age_today(ctx: Context, birth: str) -> Computed:
    ctx.draft.doubt(0.95, f"Ages are as of {ctx.today.isoformat()}.")
    return Computed(name="age", function="years_between", start=birth, end=ctx.today.isoformat())


def _share(ctx: Context, percent: Tag) -> None:
    """“What percentage of X are Y”: Y, whatever follows the verb, is the part; the constraints step moves it there."""
    target = ctx.following(percent, NOUNS, (*_BETWEEN, "percent"))
    if target is None or target.kind != "table":
        raise Unanswerable("The question does not say of what the share is taken.")
    ctx.use(*ctx.open("percent", "rows", "what", "count"), target)
    table = ctx.pick(target.tables, target.text)
    ctx.draft.base = table
    ctx.draft.measures.append(Measure(function="share", alias="percent"))


# -- rankings ---------------------------------------------------------------------------------------------------


def _rank(ctx: Context, extreme: list[Tag], asked: list[Tag]) -> bool:
    mark = next((t for t in extreme if t.kind != "top"), extreme[0])
    descending = mark.payload != "min"
    follows = ctx.following(mark, {*NOUNS, "grain", "verb"}, ("stop", "measure", "value", "number", "distinct"))
    if mark.kind == "extreme" and follows is not None and follows.kind == "table" and _PRICED.search(mark.text):
        return _dearest(ctx, mark, follows, asked)
    lead = _lead(ctx, mark, asked)
    if mark.kind == "extreme" and not (lead and (asked or ctx.open("with"))) and mark.text.casefold() != "top":
        return False
    number = next((t for t in ctx.open("number") if float(t.payload).is_integer()), None)
    subject = lead or follows
    if subject is None or subject.kind == "verb":
        raise Unanswerable("The question does not say what is ranked.")
    ctx.use(*extreme, *asked, subject, *([number] if number else []))
    plural = subject.text.casefold().endswith("s")
    ctx.draft.limit = int(number.payload) if number else (_MANY if plural else 1)
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


def _dearest(ctx: Context, mark: Tag, target: Tag, asked: list[Tag]) -> bool:
    """“The most expensive procedure”: single rows in the order of their cost."""
    table = ctx.pick(target.tables, target.text)
    costs = [c for c in ctx.lexicon.phrases.get(("cost",), []) if c.startswith(f"{table}.")]
    if not costs:
        raise Unanswerable(f"{table} has no cost.")
    number = next((t for t in ctx.open("number") if float(t.payload).is_integer() and t.at < target.at), None)
    ctx.use(mark, target, *ctx.open("top"), *asked, *([number] if number else []))
    draft, plural = ctx.draft, target.text.casefold().endswith("s")
    draft.base, draft.limit = table, int(number.payload) if number else (_MANY if plural else 1)
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
    draft.measures.append(Measure(function="count", alias=f"number_of_{_alias('', draft.base)}"))
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
    draft.measures.append(Measure(function=function, column=reference, alias=_alias(function, what.text)))
    draft.order.append(Order(by=draft.measures[-1].alias, descending=descending))


# -- groups -----------------------------------------------------------------------------------------------------


def dimension(ctx: Context, tag: Tag) -> list[Dimension]:
    """The columns that a group word stands for, seen from the base."""
    base = ctx.draft.base
    if tag.kind == "grain":
        grain: Grain = tag.payload
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
    if ctx.lexicon.column(reference).type in TEMPORAL:
        return [Dimension(column=reference, grain="day")]
    return [Dimension(column=reference)]


# -- rows -------------------------------------------------------------------------------------------------------


def _rows(ctx: Context, asked: Tag) -> None:
    ctx.use(*ctx.open("rows", "what"), *ctx.open("distinct"))
    target = ctx.following(
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
    _column_rows(ctx, columns)


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
    if ctx.is_patient(draft.base):
        draft.select[:0] = ctx.labels(draft.base, draft.base)


def _moment(ctx: Context) -> None:
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
        plural = target.text.casefold().endswith("s")
        draft.limit = int(number.payload) if number else (_MANY if plural and not when else 1)


def _alias(prefix: str, text: str) -> str:
    words = re.sub(r"[^a-z0-9]+", "_", text.casefold()).strip("_") or "value"
    name = f"{prefix}_{words}".strip("_")
    return name if name[0].isalpha() else f"n_{name}"
