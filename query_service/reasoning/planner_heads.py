"""What is asked for: a count, an aggregate, a share, a ranking, or rows.

Each form sets the base table and the output, and uses up the tags that say so.
"""

from __future__ import annotations

import re

from query_service.reasoning.joins import name_words
from query_service.reasoning.planner_context import NOUNS, Context, Unanswerable
from query_service.reasoning.planner_groups import age_today, alias_of
from query_service.reasoning.planner_lexicon import NUMERIC, squeeze
from query_service.reasoning.planner_marts import average_from_mart, count_from_mart, of_totals
from query_service.reasoning.planner_ranks import rank
from query_service.reasoning.planner_rows import flagged, moment, rows
from query_service.reasoning.planner_tags import Tag
from query_service.reasoning.planner_words import is_plural
from query_service.reasoning.semantic_query import Computed, Function, Measure

_BETWEEN = ("stop", "distinct", "value", "is", "active", "compare")
_IDENTIFIERS = {"id", "key", "code", "number", "no", "nr", "year"}
YES_NO = re.compile(r"\s*(?:has|have|had|does|did|do|is|was|were|are)\b", re.IGNORECASE)


def head(ctx: Context, groups: list[Tag]) -> None:
    """Find out what is asked for; Unanswerable when no form fits."""
    percent, counts = ctx.open("percent"), ctx.open("count")
    extreme = ctx.open("most", "extreme", "top")
    asked = ctx.open("rows", "what")
    if percent:
        return _share(ctx, percent[0])
    if not (counts or asked or ctx.open("when")) and _whether(ctx):
        return None
    if extreme and rank(ctx, extreme, asked):
        return None
    if counts:
        return _count(ctx, counts, groups)
    if (measures := ctx.open("measure", "extreme")) and _aggregate(ctx, measures, groups):
        return None
    if ctx.open("latest", "when", "youngest"):
        return moment(ctx)
    if ctx.open("distribution"):
        return _distribution(ctx, groups)
    totals = [
        t for t in ctx.open("column") if t.text.casefold().startswith("total") and set(t.columns) & ctx.lexicon.additive
    ]
    if totals and (not asked or ctx.following(asked[-1], {"column"}, ("stop", "is")) is totals[0]):
        return _sum_of(ctx, totals[0])
    if groups and asked and (column := _additive(ctx, asked[-1])) is not None:
        ctx.draft.doubt(0.95, f"“{column.text}” is added up for each group.")
        return _sum_of(ctx, column)
    if not asked and groups and (counted := _grouped_noun(ctx)) is not None:
        ctx.use(counted)
        return _count_of(ctx, counted, groups, distinct=False)
    if not asked and (first := _implied(ctx)) is not None:
        asked = [first]
    if asked:
        return rows(ctx, asked[0])
    raise Unanswerable("The question does not say what to count, add up or show.")


def _implied(ctx: Context) -> Tag | None:
    """“Birth date of …”, “Encounters in 2019”: a noun phrase alone asks to be shown."""
    first = next((t for t in ctx.tags if t.kind != "stop"), None)
    who = first is not None and first.kind in {"with", "is"} and first.text.casefold().startswith("who ")
    patients = next((t for t in ctx.lexicon.entity_of if ctx.is_patient(t)), None) if who else None
    if first is None or (first.kind not in {*NOUNS, "value"} and patients is None):
        return None
    mark = Tag("rows", "list", -1, -1)
    ctx.tags.insert(0, mark)
    if patients is not None:
        # “Who has prediabetes?” asks for patients.
        ctx.tags.insert(1, Tag("table", "patients", -1, -1, ctx.lexicon.entity_of[patients], tables=[patients]))
    return mark


def _additive(ctx: Context, asked: Tag) -> Tag | None:
    """“What is the patient cost per year”: amounts that are grouped are added up."""
    column = ctx.following(asked, {"column"}, ("stop", "is", "what"))
    return column if column is not None and set(column.columns) & ctx.lexicon.additive else None


def _grouped_noun(ctx: Context) -> Tag | None:
    """“Emergency encounters per month”: a noun phrase that is grouped is counted."""
    first = next((t for t in ctx.tags if t.kind != "stop"), None)
    if first is not None and first.kind == "value":
        first = ctx.following(first, {"table"}, ("stop", "value"))
    return first if first is not None and first.kind == "table" and id(first) not in ctx.used else None


def _whether(ctx: Context) -> bool:
    """“Does … have …”, “Has … been given …”: the number of patients of whom it is true."""
    first = ctx.tags[0] if ctx.tags else None
    if first is None or not YES_NO.match(first.text) or first.kind not in {"stop", "is", "with"}:
        return False
    if flagged(ctx, first):
        return True
    patients = next((t for t in ctx.lexicon.entity_of if ctx.is_patient(t)), None)
    if patients is None:
        raise Unanswerable("No table here holds patients.")
    noun = next((t for t in ctx.open("table") if ctx.is_patient(t.tables[0])), None)
    ctx.use(first, *([noun] if noun else []))
    ctx.draft.base = patients
    ctx.draft.measures.append(Measure(function="count", alias="number_of_patients"))
    return True


def _count(ctx: Context, counts: list[Tag], groups: list[Tag]) -> None:
    count = counts[0]
    ctx.use(count, *ctx.open("rows", "what"))
    average = [t for t in ctx.open("measure") if t.payload == "avg"]
    ctx.use(*[t for t in ctx.open("measure") if t.payload == "sum"], *average)
    target = ctx.following(count, NOUNS, (*_BETWEEN, "measure", "count"))
    distinct = ctx.open("distinct")
    ctx.use(*distinct)
    if target is None:
        target = _counted_by_value(ctx, count)
    else:
        # “The count of the number of …”; a count further on asks something else.
        ctx.use(target, *[c for c in counts if c.at < target.at])
        both = ctx.following(target, {"and"}, ("stop",))
        if both is not None and ctx.following(both, {"table"}, ("stop",)) is not None:
            raise Unanswerable("Ask for one number at a time.")
    if average:
        return _per_distinct(ctx, target, groups)
    _count_of(ctx, target, groups, bool(distinct))


def _counted_by_value(ctx: Context, count: Tag) -> Tag:
    """“How many females …”: the value's own table is what is counted."""
    times = count.text.casefold() in {"how many times", "how often"}
    value = ctx.following(count, {"value"}, ("stop", "distinct", *(["is", "verb"] if times else [])))
    if value is None:
        # “Among women with …, how many are …”: what stands before is counted.
        value = next((t for t in ctx.tags if t.at < count.at and t.kind in {"table", "value"}), None)
        if value is not None and value.kind == "table" and ctx.is_patient(value.tables[0]):
            ctx.use(value)
            return value
    # Of a word that is only a part of some value the tables do not say what it counts.
    hits = [h for h in value.hits if h.exact and h.table in ctx.lexicon.entity_of] if value else []
    tables = list(dict.fromkeys(h.table for h in hits))
    patient = [t for t in tables if ctx.is_patient(t)]
    if value is None or not (patient or len(tables) == 1):
        raise Unanswerable("The question does not say what is counted.")
    table = (patient or tables)[0]
    return Tag("table", value.text, value.at, value.until, ctx.lexicon.entity_of.get(table), tables=[table])


def _count_of(ctx: Context, target: Tag, groups: list[Tag], distinct: bool) -> None:
    draft, entity = ctx.draft, ctx.entity(target)
    if count_from_mart(ctx, target):
        return
    if target.kind == "table":
        table = ctx.pick(target.tables, target.text)
        if ctx.is_patient(table) and (event := _event_for_groups(ctx, table, groups)):
            return _distinct_patients(ctx, event)
        draft.base = table
        if distinct and not ctx.is_patient(table):
            labels = ctx.labels(table, table)
            draft.measures.append(Measure(function="count_distinct", column=labels[0], alias="number"))
        else:
            draft.measures.append(Measure(function="count", alias=alias_of("number_of", target.text)))
        return
    if entity is not None and entity.name == "patient":
        events = [t for t in ctx.mentioned() if ctx.lexicon.key_of(t, entity)]
        if not events:
            raise Unanswerable("No table here says which patients it is about.")
        return _distinct_patients(ctx, events[0])
    reference = ctx.column(target)
    draft.base = reference.partition(".")[0]
    if ctx.lexicon.column(reference).type not in NUMERIC or _identifies(ctx, reference):
        draft.measures.append(
            Measure(function="count_distinct", column=reference, alias=alias_of("number_of", target.text))
        )
        return
    if distinct or not (reference in ctx.lexicon.additive or _holds_amounts(ctx, reference)):
        raise Unanswerable(f"Are the values of {reference} added up, or counted? Ask for their total, or list them.")
    if reference not in ctx.lexicon.additive:
        draft.doubt(0.9, f"{reference} is added up over rows.")
    draft.measures.append(Measure(function="sum", column=reference, alias=alias_of("total", target.text)))


def _identifies(ctx: Context, reference: str) -> bool:
    """Whether the column's numbers are names of things, or of years, so that adding them up says nothing."""
    table, _, name = reference.partition(".")
    words = name_words(name)
    keys = {squeeze(key) for entity in ctx.lexicon.terms.entities for key in entity.keys}
    linked = {end for k in ctx.lexicon.links for end in ((k.many_table, k.many_column), (k.one_table, k.one_column))}
    return words[-1] in _IDENTIFIERS or words == name_words(table) or squeeze(name) in keys or (table, name) in linked


def _holds_amounts(ctx: Context, reference: str) -> bool:
    """Whether a numeric column's name says that each row holds how many of something: beds, bed_count."""
    name = ctx.lexicon.column(reference).name
    return is_plural(name.replace("_", " ")) or name_words(name)[-1] == "count"


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
    ctx.draft.measures.append(Measure(function="per_distinct", column=key, alias=f"per_{alias_of('', entity.name)}"))
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


def _aggregate(ctx: Context, measures: list[Tag], groups: list[Tag]) -> bool:
    mark = measures[0]
    column = ctx.following(
        mark, {"column", "age", "duration"}, (*_BETWEEN, "table", "measure", "extreme", "latest", "verb")
    )
    trailing = column is None and mark.text.casefold() in {"in total", "on average"}
    if trailing:
        # “What did procedures cost in total”
        before_it = ctx.before(mark, skip=("stop", "period", "value", "table"))
        column = before_it if before_it is not None and before_it.kind == "column" else None
    if column is None:
        return False
    column = _part_of(ctx, mark, column)
    if _how_much(mark) and column.kind == "column" and not set(column.columns) & ctx.lexicon.additive:
        # What has no sum over rows, a price, is shown.
        ctx.use(mark)
        rows(ctx, Tag("what", mark.text, mark.at, mark.until), column)
        return True
    functions: dict[str, Function] = {"avg": "avg", "sum": "sum", "median": "median", "max": "max", "min": "min"}
    before = [m for m in measures if m.at < column.at or (trailing and m is mark)]
    wanted = list(dict.fromkeys(functions[m.payload] for m in before))
    if len(wanted) < len(before):
        raise Unanswerable(f"“{' '.join(m.text for m in before)}”: say which one is meant.")
    ctx.use(*before, *ctx.open("what", "rows"), column)
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
        if function == "avg" and of_totals(ctx, ctx.draft.base) and average_from_mart(ctx, reference, name):
            continue
        ctx.draft.measures.append(Measure(function=function, column=reference, alias=alias_of(function, name)))
    return True


def _how_much(mark: Tag) -> bool:
    return mark.text.casefold() == "how much"


def _part_of(ctx: Context, mark: Tag, whole: Tag) -> Tag:
    """“How much of the cost was covered by payers”: what was covered is asked for; the cost says of what."""
    verb = next((t for t in ctx.tags if t.at > whole.at and t.kind == "is"), None)
    part = ctx.following(verb, {"column"}, ("stop",)) if verb is not None else None
    if not _how_much(mark) or whole.kind != "column" or part is None or not set(part.columns) & ctx.lexicon.additive:
        return whole
    table = ctx.column(part, NUMERIC).partition(".")[0]
    if not any(c.startswith(f"{table}.") for c in whole.columns):
        raise Unanswerable(f"“{part.text}” is no part of “{whole.text}” in these tables.")
    ctx.use(whole)
    return part


def _sum_of(ctx: Context, column: Tag) -> None:
    reference = ctx.column(column, NUMERIC)
    ctx.use(column, *ctx.open("what", "rows"))
    ctx.draft.base = reference.partition(".")[0]
    ctx.draft.measures.append(
        Measure(function="sum", column=reference, alias=alias_of("sum", reference.rpartition(".")[2]))
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


def _share(ctx: Context, percent: Tag) -> None:
    """“What percentage of X are Y”: Y, whatever follows the verb, is the part; the constraints step moves it there."""
    target = ctx.following(percent, NOUNS, (*_BETWEEN, "percent"))
    if target is None or target.kind != "table":
        raise Unanswerable("The question does not say of what the share is taken.")
    ctx.use(*ctx.open("percent", "rows", "what", "count"), target)
    table = ctx.pick(target.tables, target.text)
    ctx.draft.base = table
    ctx.draft.measures.append(Measure(function="share", alias="percent"))
