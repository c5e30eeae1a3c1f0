"""Which rows: what is left of the question after its form is known → filters on the base and on related tables."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from query_service.reasoning.planner_conditions import LINKING, Group
from query_service.reasoning.planner_context import NOUNS, Ambiguous, Unanswerable
from query_service.reasoning.planner_moments import Moments
from query_service.reasoning.planner_numbers import Comparison
from query_service.reasoning.planner_tags import Tag
from query_service.reasoning.planner_values import Reading, filter_of, read_value
from query_service.reasoning.planner_words import STOP, stems
from query_service.reasoning.semantic_query import CountCondition, Filter, Measure, Related


class Constraints(Moments):
    def apply(self) -> None:
        ctx = self.ctx
        self._values()
        for tag in ctx.open("flag"):
            self._flag(tag)
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

    def _values(self) -> None:
        ctx = self.ctx
        readings: list[tuple[Tag, Reading, bool]] = []
        for tag in ctx.open("value"):
            flag = ctx.flag(tag)
            reading = read_value(ctx, tag)
            negated = self._negated(tag)
            if negated and flag is not None and flag[1].no is not None:
                # “Is not required” where a column says so: what is neither, “after 12 visits”, is not meant.
                reading, negated = replace(reading, values=(flag[1].no,)), False
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
        self._no_purpose(readings)
        for tag, reading, negated in readings:
            clash = [r for _, r, n in readings if r.column == reading.column and n == negated and r is not reading]
            if clash and ctx.reach(ctx.draft.base, reading.fact) is not None and not negated:
                raise Unanswerable(f"A row has one {reading.column}, not two.")
            self._place(reading.fact, filter_of(reading), tag, negated)

    def _flag(self, tag: Tag) -> None:
        """“Require prior authorization”, where a column says for each row whether it is required."""
        flag = self.ctx.flag(tag)
        if flag is None:
            raise Unanswerable(f"It is not clear what “{tag.text}” says here.")
        column, stored = flag
        self.ctx.use(tag, column)
        negated = self._negated(tag)
        value = stored.no if negated and stored.no is not None else stored.yes
        item = Filter(column=stored.column, operator="=", values=(value,))
        self._place(stored.column.partition(".")[0], item, tag, negated and stored.no is None)

    def _no_purpose(self, readings: list[tuple[Tag, Reading, bool]]) -> None:
        """“Prescribed X for their Y” ties two events to each other; both being there does not prove it."""
        for (left, one, _), (right, other, _) in pairwise(readings):
            between = [t for t in self.ctx.tags if left.at < t.at < right.at]
            if one.fact != other.fact and any(t.text.casefold() == "for" for t in between):
                raise Unanswerable(f"The tables do not tie “{left.text}” to “{right.text}”.")

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
            condition = counted if tag.kind == "table" and counted is not None and counted.kind == "compare" else None
            if condition is not None and (id(condition) in ctx.used or condition.payload.age):
                condition = None
            if ctx.reach(base, table) is not None and condition is None:
                if (
                    (mark := ctx.before(tag, skip=LINKING)) is not None
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

    def _finish(self) -> None:
        ctx, draft = self.ctx, self.ctx.draft
        for tag in ctx.open("column"):
            if self._negated(tag):
                reference = ctx.column(tag, base=draft.base)
                self._place(reference.partition(".")[0], Filter(column=reference, operator="is_null"), tag, False)
                ctx.use(tag)
            elif self._explains(tag) or self._names_rows(tag):
                ctx.use(tag)
        for often in ctx.open("count"):
            if often.text.casefold() == "how often":
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
            whole = [f"{draft.base}.{c.name}" for c in self.ctx.lexicon.by_name[draft.base].columns]
            draft.select[:] = [*draft.select, *(c for c in whole if c not in draft.select)]

    def _one_row(self) -> None:
        """An amount of many rows, without “total” or “average”, is a question that has no one answer."""
        draft, lexicon = self.ctx.draft, self.ctx.lexicon
        if (draft.order and draft.limit) or not draft.distinct or self.ctx.is_patient(draft.base):
            return
        amounts = (
            [c for c in draft.select if lexicon.column(c).type in {"decimal", "double"}] if not draft.computed else []
        )
        rows = lexicon.by_name[draft.base].row_count
        unique = any(f.operator == "=" and lexicon.column(f.column).distinct == rows for f in draft.filters)
        if len(amounts) == len(draft.select) and amounts and not unique:
            raise Ambiguous(f"Which {amounts[0].rpartition('.')[2]}: the total, the average, or that of one row?")

    def _names_rows(self, tag: Tag) -> bool:
        """A noun for what the rows are: “imaging procedures”, whose column procedure names them; “cost of encounters”,
        which a mart has counted; “after payer coverage”, which the description of the measured column speaks of."""
        ctx, draft, lexicon = self.ctx, self.ctx.draft, self.ctx.lexicon
        before = ctx.before(tag, skip=("stop",))
        own = [c for c in tag.columns if c.startswith(f"{draft.base}.")]
        if not own or before is None or before.kind == "and" or draft.base in lexicon.entity_of:
            return False
        if before.kind == "less":
            described = [lexicon.column(m.column).description or "" for m in draft.measures if m.column]
            if not described or not all(set(stems(d)) & set(stems(tag.text)) - STOP for d in described):
                return False
            ctx.use(before)
            return True
        summed = bool(draft.measures) and all(m.function == "sum" for m in draft.measures)
        return own[0] in lexicon.label(draft.base) or (summed and own[0] in lexicon.counts)

    def _explains(self, tag: Tag) -> bool:
        """A column word beside a condition on that column: “city Boston”, “payer is Medicare”."""
        filters = [*self.ctx.draft.filters, *self.part, *(f for g in self.groups for f in g.filters)]
        return any(f.column in tag.columns for f in filters)
