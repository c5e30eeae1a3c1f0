"""Numbers, ages, states and dates that rows are held against."""

from __future__ import annotations

from query_service.reasoning.planner_conditions import Conditions, Group
from query_service.reasoning.planner_context import Unanswerable
from query_service.reasoning.planner_dates import Period
from query_service.reasoning.planner_groups import age_today
from query_service.reasoning.planner_lexicon import NUMERIC, TEMPORAL
from query_service.reasoning.planner_numbers import Comparison
from query_service.reasoning.planner_tags import Tag
from query_service.reasoning.semantic_query import Computed, Filter, Operator


class Moments(Conditions):
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
        if not ctx.is_patient(base) and (ctx.lexicon.dates(base, "start") or ctx.year(base)):
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
