"""Which rows: values, comparisons, dates and negations of the question → filters on the base and on related tables."""

from __future__ import annotations

from dataclasses import dataclass, field

from query_service.reasoning.joins import shared_key
from query_service.reasoning.planner_context import NOUNS, Context, Unanswerable
from query_service.reasoning.planner_dates import Period
from query_service.reasoning.planner_heads import age_today
from query_service.reasoning.planner_lexicon import NUMERIC, TEMPORAL
from query_service.reasoning.planner_tags import Tag
from query_service.reasoning.planner_values import Reading, filter_of, read_value
from query_service.reasoning.planner_words import Comparison
from query_service.reasoning.semantic_query import Computed, CountCondition, Filter, Measure, Operator, Related

_LINKING = ("stop", "is", "with", "verb", "and")
_INVERSE: dict[str, Operator] = {"=": "!=", "in": "not_in"}


@dataclass(slots=True)
class Group:
    """Conditions on one related table that one of its rows must satisfy together."""

    table: str
    filters: list[Filter] = field(default_factory=list)
    computed: list[Computed] = field(default_factory=list)
    negated: bool = False
    rows: CountCondition | None = None
    part: bool = False
    at: int = 0


class Constraints:
    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx
        self.groups: list[Group] = []
        self.part: list[Filter] = []
        """Filters of the counted part of a share."""
        self.shared = bool(ctx.draft.measures) and ctx.draft.measures[0].function == "share"
        self.pivot = self._pivot()

    def apply(self) -> None:
        ctx = self.ctx
        self._values()
        for tag in ctx.open("identifier"):
            self._identifier(tag)
        for tag in ctx.open("number"):
            self._number(tag)
        self._events()
        for tag in ctx.open("compare"):
            self._compare(tag, tag.payload)
        for tag in ctx.open("died", "alive", "active", "missing"):
            self._state(tag)
        for tag in ctx.open("period"):
            self._period(tag, tag.payload)
        self._finish()

    # -- where a condition goes ---------------------------------------------------------------------------------

    def _pivot(self) -> int | None:
        """In a share, where the part begins: after the last “are”, else after the first “with” or verb."""
        if not self.shared:
            return None
        marks = [
            t
            for t in self.ctx.tags
            if t.kind in {"is", "with", "verb"} and any(u.at < t.at for u in self.ctx.tags if u.kind == "table")
        ]
        copulas = [t for t in marks if t.kind == "is"]
        chosen = copulas[-1] if copulas else marks[0] if marks else None
        return chosen.at if chosen else -1

    def _is_part(self, tag: Tag) -> bool:
        return self.pivot is not None and tag.at > self.pivot

    def _negated(self, tag: Tag) -> bool:
        found = self.ctx.before(tag, skip=(*_LINKING, "column", "missing"))
        if found is None or found.kind != "negation":
            return False
        self.ctx.use(found)
        return True

    def _place(self, table: str, item: Filter, tag: Tag, negated: bool) -> None:
        ctx, base = self.ctx, self.ctx.draft.base
        if ctx.reach(base, table) is not None:
            if negated:
                item = _negate(item)
            (self.part if self._is_part(tag) else ctx.draft.filters).append(item)
            return
        self._tie(table)
        joined = next(
            (g for g in self.groups if g.table == table and g.negated == negated and g.part == self._is_part(tag)
             and all(f.column != item.column for f in g.filters)), None
        )  # fmt: skip
        if joined is not None:
            joined.filters.append(item)
        else:
            self.groups.append(Group(table, [item], negated=negated, part=self._is_part(tag), at=tag.at))

    def _tie(self, table: str) -> tuple[str, str] | None:
        """The key columns of a related table when derivation finds none; Unanswerable when there are none at all."""
        ctx, base = self.ctx, self.ctx.draft.base
        if shared_key(base, table, ctx.lexicon.links) is not None:
            return None
        patient = ctx.patient
        outer = ctx.lexicon.key_of(base, patient) if patient else None
        inner = ctx.lexicon.key_of(table, patient) if patient else None
        if outer is None or inner is None:
            raise Unanswerable(f"Nothing ties a row of {base} to rows of {table}.")
        return outer, inner

    # -- values -------------------------------------------------------------------------------------------------

    def _values(self) -> None:
        ctx = self.ctx
        readings: list[tuple[Tag, Reading, bool]] = []
        for tag in ctx.open("value"):
            reading = read_value(ctx, tag)
            negated = self._negated(tag)
            ctx.use(tag)
            joiner = ctx.before(tag, skip=("stop", "verb", "with"))
            previous = (
                ctx.before(joiner, skip=("stop",)) if joiner is not None and joiner.kind in {"or", "and"} else None
            )
            same = readings and readings[-1][1].fact == reading.fact and readings[-1][1].column == reading.column
            single_row = ctx.reach(ctx.draft.base, reading.fact) is not None
            if (
                joiner is not None
                and previous is not None
                and previous.kind == "value"
                and same
                and not negated
                and not readings[-1][2]
            ):
                if joiner.kind == "or" or single_row:
                    ctx.use(joiner)
                    readings[-1] = (readings[-1][0], readings[-1][1].joined(reading), False)
                    continue
            elif joiner is not None and joiner.kind == "or":
                raise Unanswerable(f"“or” before “{tag.text}” joins conditions of different kinds.")
            readings.append((tag, reading, negated))
        for tag, reading, negated in readings:
            clash = [r for _, r, n in readings if r.column == reading.column and n == negated and r is not reading]
            if clash and ctx.reach(ctx.draft.base, reading.fact) is not None and not negated:
                raise Unanswerable(f"A row has one {reading.column}, not two.")
            self._place(reading.fact, filter_of(reading), tag, negated)

    def _identifier(self, tag: Tag) -> None:
        """A UUID, or a number after the noun, is the key of the thing that the noun names."""
        ctx = self.ctx
        noun = ctx.before(tag, skip=("stop",))
        entity = ctx.entity(noun) if noun is not None and noun.kind in NOUNS else ctx.patient
        base = ctx.draft.base
        reference = ctx.lexicon.key_of(base, entity) if entity else None
        if reference is None:
            raise Unanswerable(f"It is not clear what {tag.text} identifies.")
        ctx.use(tag, *([noun] if noun is not None and noun.kind in NOUNS else []))
        value = tag.payload if ctx.lexicon.column(reference).type == "text" else int(tag.payload)
        self._place(base, Filter(column=reference, operator="=", values=(value,)), tag, self._negated(tag))

    def _number(self, tag: Tag) -> None:
        """“patient 10018081” is a key, “code 0206” a value of that column."""
        ctx = self.ctx
        noun = ctx.before(tag, skip=())
        if noun is not None and noun.kind == "column" and ctx.entity(noun) is None:
            reference = ctx.column(noun, base=ctx.draft.base)
            value = tag.text if ctx.lexicon.column(reference).type == "text" else tag.payload
            ctx.use(tag, noun)
            self._place(
                reference.partition(".")[0], Filter(column=reference, operator="=", values=(value,)), tag, False
            )
            return
        if noun is None or noun.kind not in NOUNS or not float(tag.payload).is_integer() or ctx.entity(noun) is None:
            raise Unanswerable(f"It is not clear what the number {tag.text} says.")
        tag.payload = str(int(tag.payload))
        self._identifier(tag)

    # -- events without a value ---------------------------------------------------------------------------------

    def _events(self) -> None:
        """Nouns and verbs that are left: they choose a table, and stand for “has any” where nothing else uses them."""
        ctx, base = self.ctx, self.ctx.draft.base
        for tag in ctx.open("table", "verb"):
            table = ctx.table_of(tag)
            if table is None:
                raise Unanswerable(f"No table here holds “{tag.text}”.")
            if base in tag.tables or any(c.startswith(f"{base}.") for c in tag.columns):
                ctx.use(tag)
                continue
            counted = ctx.before(tag, skip=("stop", "value", "distinct"))
            rows = tag.kind == "table" and counted is not None and counted.kind == "compare"
            condition = counted if rows and id(counted) not in ctx.used and not counted.payload.age else None
            if ctx.reach(base, table) is not None and condition is None:
                if (
                    (mark := ctx.before(tag, skip=_LINKING)) is not None
                    and mark.kind == "negation"
                    and id(mark) not in ctx.used
                ):
                    raise Unanswerable(f"“{mark.text} {tag.text}” says nothing about rows of {base}.")
                ctx.use(tag)
                continue
            negated = self._negated(tag)
            ctx.use(tag)
            if condition is None and any(g.table == table for g in self.groups) and not negated:
                continue
            self._tie(table)
            group = Group(table, negated=negated, part=self._is_part(tag), at=tag.at)
            if condition is not None:
                ctx.use(condition)
                group = self._counted(group, condition)
            self.groups.append(group)

    def _counted(self, group: Group, condition: Tag) -> Group:
        """“At least 3 emergency encounters”: the number of rows, over the values that stand between, if any."""
        compared: Comparison = condition.payload
        whole = all(isinstance(v, int) for v in compared.values)
        if compared.operator not in {"=", "<", "<=", ">", ">="} or not whole:
            raise Unanswerable(f"“{condition.text}” is not a number of rows.")
        own = next((g for g in self.groups if g.table == group.table and g.at > condition.at and g.at < group.at), None)
        if own is not None:
            self.groups.remove(own)
            group.filters.extend(own.filters)
        operator = compared.operator
        if operator in {"<", "<="}:
            # Fewer than n includes none, which no row of the table can show: say "not n or more".
            group.negated, operator = not group.negated, ">=" if operator == "<" else ">"
        group.rows = CountCondition.model_validate({"operator": operator, "value": compared.values[0]})
        return group

    # -- comparisons --------------------------------------------------------------------------------------------

    def _compare(self, tag: Tag, item: Comparison) -> None:
        ctx = self.ctx
        before = ctx.before(tag, skip=("stop", "is", "with"))
        after = ctx.after(tag, skip=("stop",))
        if before is not None and before.kind == "or":
            earlier = ctx.before(before, skip=("stop",))
            raise Unanswerable(
                f"“or {tag.text}” after “{earlier.text if earlier else ''}” is a condition the rules do not join."
            )
        column = next((t for t in (before, after) if t is not None and t.kind == "column" and self._numeric(t)), None)
        ages = [t for t in (before, after) if t is not None and t.kind == "age"]
        person = before is not None and (
            (before.kind == "table" and before.tables and ctx.is_patient(before.tables[0]))
            or (before.kind == "value" and any(ctx.is_patient(h.table) for h in before.hits))
        )
        person = (
            person and (after is None or after.kind not in {"value", "table", "number"}) and max(item.values) <= 130
        )
        if column is None and (item.age or ages or person):
            ctx.use(tag, *ages)
            return self._age(tag, item)
        if column is None:
            raise Unanswerable(f"It is not clear what “{tag.text}” compares.")
        ctx.use(tag, column)
        reference = ctx.column(column, NUMERIC, base=ctx.draft.base)
        self._place(reference.partition(".")[0], _number_filter(reference, item), tag, self._negated(tag))

    def _numeric(self, tag: Tag) -> bool:
        return any(self.ctx.lexicon.column(c).type in NUMERIC for c in tag.columns)

    def _age(self, tag: Tag, item: Comparison) -> None:
        """Age at the event where the question names one, else today's age of those alive."""
        ctx, draft = self.ctx, self.ctx.draft
        if self._is_part(tag) and self.groups:
            raise Unanswerable("It is not clear at which moment the age counts.")
        patients = next((t for t in ctx.lexicon.entity_of if ctx.is_patient(t)), None)
        births = ctx.lexicon.dates(patients, "birth") if patients else []
        if patients is None or not births:
            raise Unanswerable("No table here has a date of birth.")
        condition = _number_filter("age", item)
        positive = [
            g
            for g in self.groups
            if not g.negated and ctx.lexicon.dates(g.table, "start") and ctx.reach(g.table, patients) is not None
        ]
        if not ctx.is_patient(draft.base):
            if ctx.reach(draft.base, patients) is None:
                raise Unanswerable(f"A row of {draft.base} does not point at a patient.")
            draft.computed.append(
                Computed(name="age", function="years_between", start=births[0], end=ctx.event_date(draft.base))
            )
            draft.notes.append(f"Age is taken at {ctx.event_date(draft.base)}.")
            draft.filters.append(condition)
        elif positive:
            for group in positive:
                moment = ctx.event_date(group.table)
                if not group.computed:
                    group.computed.append(Computed(name="age", function="years_between", start=births[0], end=moment))
                group.filters.append(condition)
                draft.notes.append(f"Age is taken at {moment}.")
        else:
            draft.computed.append(age_today(ctx, births[0]))
            (self.part if self._is_part(tag) else draft.filters).append(condition)
            if deaths := ctx.lexicon.dates(patients, "death"):
                draft.filters.append(Filter(column=deaths[0], operator="is_null"))
                draft.notes.append("Only patients without a date of death have an age today.")

    # -- states and dates ---------------------------------------------------------------------------------------

    def _state(self, tag: Tag) -> None:
        ctx, base = self.ctx, self.ctx.draft.base
        ctx.use(tag)
        if tag.kind == "missing":
            column = ctx.before(tag, skip=("stop", "is", "negation"))
            if column is None or column.kind != "column":
                raise Unanswerable(f"It is not clear what is “{tag.text}”.")
            ctx.use(column)
            reference = ctx.column(column, base=base)
            operator: Operator = "not_null" if self._negated(tag) else "is_null"
            return self._place(reference.partition(".")[0], Filter(column=reference, operator=operator), tag, False)
        if tag.kind == "active":
            return self._active(tag)
        patients = next((t for t in ctx.lexicon.entity_of if ctx.is_patient(t)), None)
        deaths = ctx.lexicon.dates(patients, "death") if patients else []
        negated = self._negated(tag)
        if patients is None or not deaths:
            if (death := next((t for t, e in ctx.lexicon.entity_of.items() if e.name == "death"), None)) is None:
                raise Unanswerable("No table here says who died.")
            self._tie(death)
            self.groups.append(
                Group(death, negated=(tag.kind == "alive") != negated, part=self._is_part(tag), at=tag.at)
            )
            return None
        dead = (tag.kind == "died") != negated
        self._place(patients, Filter(column=deaths[0], operator="not_null" if dead else "is_null"), tag, False)

    def _active(self, tag: Tag) -> None:
        """Still running: the row has no end."""
        ctx = self.ctx
        tables = [ctx.draft.base, *(g.table for g in self.groups if not g.negated)]
        ending = [t for t in dict.fromkeys(tables) if not ctx.is_patient(t) and ctx.lexicon.dates(t, "stop")]
        if len(ending) != 1:
            raise Unanswerable(f"It is not clear what is “{tag.text}”.")
        stop = Filter(column=ctx.lexicon.dates(ending[0], "stop")[0], operator="is_null")
        self._to_event(ending[0], [stop])

    def _to_event(self, table: str, filters: list[Filter]) -> None:
        if table == self.ctx.draft.base:
            self.ctx.draft.filters.extend(filters)
            return
        for group in self.groups:
            if group.table == table:
                group.filters.extend(filters)

    def _period(self, tag: Tag, period: Period) -> None:
        ctx, draft = self.ctx, self.ctx.draft
        if len([t for t in ctx.tags if t.kind == "period"]) > 1:
            raise Unanswerable("Ask about one period of time at a time.")
        ctx.use(tag)
        life = ctx.before(tag, skip=("stop", "is"))
        if life is not None and life.kind in {"born", "died"}:
            ctx.use(life)
            patients = next((t for t in ctx.lexicon.entity_of if ctx.is_patient(t)), None)
            columns = ctx.lexicon.dates(patients, "birth" if life.kind == "born" else "death") if patients else []
            if patients is None or not columns:
                raise Unanswerable(f"No table here says when patients {life.text}.")
            for item in _period_filters(columns[0], period, ctx.lexicon.column(columns[0]).type):
                self._place(patients, item, tag, False)
            return
        if (
            life is not None
            and life.kind == "column"
            and any(ctx.lexicon.column(c).type in TEMPORAL for c in life.columns)
        ):
            ctx.use(life)
            reference = ctx.column(life, TEMPORAL, base=draft.base)
            for item in _period_filters(reference, period, ctx.lexicon.column(reference).type):
                self._place(reference.partition(".")[0], item, tag, False)
            return
        self._event_period(period)

    def _event_period(self, period: Period) -> None:
        ctx, base = self.ctx, self.ctx.draft.base
        if not ctx.is_patient(base) and ctx.lexicon.dates(base, "start"):
            table = base
            if self.groups:
                raise Unanswerable(f"It is not clear whether the time speaks of {base} or of {self.groups[0].table}.")
        else:
            tables = list(dict.fromkeys(g.table for g in self.groups))
            if len(self.groups) != 1:
                raise Unanswerable(
                    f"It is not clear what happened “{period.text}”."
                    if tables
                    else f"Nothing here has a date to set “{period.text}” against."
                )
            table = tables[0]
        moment = ctx.event_date(table)
        self._to_event(table, _period_filters(moment, period, ctx.lexicon.column(moment).type))

    # -- the end ------------------------------------------------------------------------------------------------

    def _finish(self) -> None:
        ctx, draft = self.ctx, self.ctx.draft
        for tag in ctx.open("column"):
            if self._negated(tag):
                reference = ctx.column(tag, base=draft.base)
                self._place(reference.partition(".")[0], Filter(column=reference, operator="is_null"), tag, False)
                ctx.use(tag)
            elif self._explains(tag):
                ctx.use(tag)
        for often in ctx.open("count"):
            self._how_often(often)
        self._whole_row()
        self._one_row()
        related = [
            (
                g,
                Related(
                    table=g.table,
                    filters=tuple(g.filters),
                    computed=tuple(g.computed),
                    negated=g.negated,
                    rows=g.rows,
                    on=self._tie(g.table),
                ),
            )
            for g in self.groups
        ]
        draft.related.extend(r for g, r in related if not g.part)
        part = [r for g, r in related if g.part]
        if self.shared:
            if not self.part and not part:
                raise Unanswerable("The question does not say which part is counted.")
            draft.measures[0] = Measure(
                function="share", alias="percent", where=tuple(self.part), where_related=tuple(part)
            )

    def _how_often(self, tag: Tag) -> None:
        """“How many patients have X, and how often did it occur”: both are counted over the events."""
        ctx, draft = self.ctx, self.ctx.draft
        key = ctx.lexicon.key_of(self.groups[0].table, ctx.patient) if len(self.groups) == 1 and ctx.patient else None
        plain = key is not None and not self.groups[0].negated and self.groups[0].rows is None
        if not plain or not ctx.is_patient(draft.base) or len(draft.measures) != 1:
            raise Unanswerable(f"It is not clear what “{tag.text}” counts.")
        ctx.use(tag)
        group = self.groups.pop()
        draft.base = group.table
        draft.filters.extend(group.filters)
        draft.computed.extend(group.computed)
        draft.measures[:] = [
            Measure(function="count_distinct", column=key, alias="number_of_patients"),
            Measure(function="count", alias=f"number_of_{group.table}".lower()),
        ]

    def _whole_row(self) -> None:
        """“What is the surcharge for a holiday visit”, where holiday visit is a surcharge: its row is the answer."""
        draft = self.ctx.draft
        fixed = {f.column for f in draft.filters if f.operator == "="}
        if draft.select and set(draft.select) <= fixed:
            draft.select[:] = [f"{draft.base}.{c.name}" for c in self.ctx.lexicon.by_name[draft.base].columns]

    def _one_row(self) -> None:
        """An amount of many rows, without “total” or “average”, is a question that has no one answer."""
        draft, lexicon = self.ctx.draft, self.ctx.lexicon
        if draft.order and draft.limit or not draft.distinct or self.ctx.is_patient(draft.base):
            return
        amounts = (
            [c for c in draft.select if lexicon.column(c).type in {"decimal", "double"}] if not draft.computed else []
        )
        rows = lexicon.by_name[draft.base].row_count
        unique = any(f.operator == "=" and lexicon.column(f.column).distinct == rows for f in draft.filters)
        if len(amounts) == len(draft.select) and amounts and not unique:
            raise Unanswerable(f"Which {amounts[0].rpartition('.')[2]}: the total, the average, or that of one row?")

    def _explains(self, tag: Tag) -> bool:
        """A column word beside a condition on that column: “city Boston”, “payer is Medicare”."""
        filters = [*self.ctx.draft.filters, *self.part, *(f for g in self.groups for f in g.filters)]
        return any(f.column in tag.columns for f in filters)


def _negate(item: Filter) -> Filter:
    if item.operator not in _INVERSE:
        raise Unanswerable(f"“not” cannot be said of {item.column} {item.operator}.")
    return item.model_copy(update={"operator": _INVERSE[item.operator]})


def _number_filter(column: str, item: Comparison) -> Filter:
    return Filter.model_validate({"column": column, "operator": item.operator, "values": item.values})


def _period_filters(column: str, period: Period, kind: str) -> list[Filter]:
    """start <= column < end; a column of whole years takes periods of whole years only."""
    if kind == "bigint":
        bounds = [d for d in (period.start, period.end) if d is not None]
        if any((d.month, d.day) != (1, 1) for d in bounds):
            raise Unanswerable(f"{column} holds years, not days.")
        found = [(">=", period.start.year if period.start else None), ("<", period.end.year if period.end else None)]
        return [
            Filter.model_validate({"column": column, "operator": o, "values": [v]}) for o, v in found if v is not None
        ]
    result = []
    if period.start is not None:
        result.append(Filter(column=column, operator=">=", values=(period.start.isoformat(),)))
    if period.end is not None:
        result.append(Filter(column=column, operator="<", values=(period.end.isoformat(),)))
    return result
