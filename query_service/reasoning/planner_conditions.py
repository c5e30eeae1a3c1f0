"""Where a condition goes: to the base's own rows, or to a related table of which some row must satisfy it."""

from __future__ import annotations

from dataclasses import dataclass, field

from query_service.reasoning.joins import shared_key
from query_service.reasoning.planner_context import Context, Unanswerable
from query_service.reasoning.planner_tags import Tag
from query_service.reasoning.semantic_query import Computed, CountCondition, Filter, Operator

LINKING = ("stop", "is", "with", "verb", "and")
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


class Conditions:
    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx
        self.groups: list[Group] = []
        self.part: list[Filter] = []
        """Filters of the counted part of a share."""
        self.shared = bool(ctx.draft.measures) and ctx.draft.measures[0].function == "share"
        self.pivot = self._pivot()

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
        found = self.ctx.before(tag, skip=(*LINKING, "column", "missing"))
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


def _negate(item: Filter) -> Filter:
    if item.operator not in _INVERSE:
        raise Unanswerable(f"“not” cannot be said of {item.column} {item.operator}.")
    return item.model_copy(update={"operator": _INVERSE[item.operator]})
