"""A value of the question → the column that it is of, and the table whose rows it says something about."""

from __future__ import annotations

from dataclasses import dataclass, replace

from query_service.reasoning.planner_context import Ambiguous, Context, Unanswerable
from query_service.reasoning.planner_lexicon import ValueHit
from query_service.reasoning.planner_tags import Tag
from query_service.reasoning.semantic_query import Filter

_MANY = 20


@dataclass(frozen=True, slots=True)
class Reading:
    """`fact` is the table whose rows the value describes; `column` may be of a code table that it points at."""

    fact: str
    column: str
    values: tuple[str, ...]
    contains: str | None
    numeric: bool

    def joined(self, other: Reading) -> Reading:
        if self.contains or other.contains:
            raise Unanswerable("“or” joins two values of which only a part is known.")
        return replace(self, values=tuple(dict.fromkeys((*self.values, *other.values))))


def filter_of(reading: Reading) -> Filter:
    if reading.contains is not None:
        return Filter(column=reading.column, operator="contains", values=(reading.contains,))
    values = tuple(int(v) for v in reading.values) if reading.numeric else reading.values
    return Filter(column=reading.column, operator="=" if len(values) == 1 else "in", values=values)


def read_value(ctx: Context, tag: Tag) -> Reading:
    """The likeliest reading; Unanswerable when two are as likely."""
    scored: list[tuple[float, str, ValueHit]] = []
    for hit in tag.hits:
        for fact in _facts(ctx, hit):
            if (score := _score(ctx, tag, hit, fact)) is not None:
                scored.append((score, fact, hit))
    if not scored:
        raise Unanswerable(f"“{tag.text}” is not a value that these tables hold in a way the question can mean.")
    scored.sort(key=lambda s: -s[0])
    best, fact, hit = scored[0]
    rivals = [s for s in scored[1:] if s[0] == best and (s[1] != fact or s[2].column != hit.column)]
    if rivals:
        if any(r[1] != fact for r in rivals):
            raise Ambiguous(f"“{tag.text}” could be of {fact} or of {rivals[0][1]}: say which.")
        ctx.draft.doubt(0.75, f"“{tag.text}” is read as a value of {hit.reference}.")
    for beside in (ctx.before(tag, skip=("stop", "is")), ctx.after(tag, skip=("stop",))):
        if beside is not None and beside.kind == "column" and hit.reference in beside.columns:
            ctx.use(beside)
    return _reading(ctx, tag, hit, fact)


def _facts(ctx: Context, hit: ValueHit) -> list[str]:
    """The hit's own table, or for a code table the tables whose own role points at it."""
    lexicon = ctx.lexicon
    if hit.table in lexicon.entity_of or hit.table == ctx.draft.base:
        return [hit.table]
    pointing = [
        k.many_table
        for k in lexicon.links
        if k.one_table == hit.table and k.score >= 0.7 and k.many_table in lexicon.entity_of
    ]
    return list(dict.fromkeys(pointing)) or [hit.table]


def _score(ctx: Context, tag: Tag, hit: ValueHit, fact: str) -> float | None:
    base = ctx.draft.base
    labelled = hit.reference in ctx.lexicon.label(fact)
    if not hit.exact and not labelled:
        # A part of a value counts only where the column says what the row is.
        return None
    hint, weak = _hint(ctx, tag)
    entity = ctx.lexicon.entity_of.get(fact)
    spoken = bool(weak) and entity is not None and weak in entity.weak_verbs
    if not hit.exact and not (hint == fact or fact == base or spoken):
        # … and where the question speaks of such rows: a stray word is a part of some value in most data.
        return None
    sides = (ctx.before(tag, skip=("stop", "is")), ctx.after(tag, skip=("stop",)))
    beside = any(t is not None and t.kind == "column" and hit.reference in t.columns for t in sides)
    if not labelled and hint != fact and not beside and ctx.reach(base, fact) is None:
        # “Have asthma” is said of conditions, not of encounters whose reason was asthma.
        return None
    score = 0.0
    if beside:
        score += 50
    if hint is not None and hint == fact:
        score += 20
    if fact == base:
        score += 12
    elif (distance := ctx.reach(base, fact)) is not None:
        score += 10 - distance
    if spoken:
        score += 6
    # Of two tables that hold the same kind of thing, the plainly named one.
    if entity is not None and ctx.lexicon.entity_tables(entity.name)[0] == fact:
        score += 1
    score += 4 if labelled else 0
    score += 3 if hit.exact else 0
    return score - (5 if ctx.lexicon.by_name[fact].kind == "mart" else 0)


def _hint(ctx: Context, tag: Tag) -> tuple[str | None, str | None]:
    """The table that a noun or verb beside the value speaks of, and a weak verb (“have”) if that is all there is."""
    after = ctx.after(tag, skip=("stop",))
    if after is not None and after.kind == "table" and not ctx.is_patient(after.tables[0]):
        return ctx.table_of(after), None
    index = ctx.tags.index(tag)
    weak: str | None = None
    for earlier in reversed(ctx.tags[:index]):
        if earlier.kind == "verb" or (earlier.kind == "table" and not all(ctx.is_patient(t) for t in earlier.tables)):
            return (ctx.table_of(earlier), None) if weak is None else (None, weak)
        if earlier.kind in {"with", "negation"} and weak is None:
            weak = "with" if earlier.kind == "negation" else earlier.text.casefold().split()[-1]
    return None, weak


def _reading(ctx: Context, tag: Tag, hit: ValueHit, fact: str) -> Reading:
    entity = ctx.lexicon.entity_of.get(fact)
    widen = (entity is not None and entity.match == "contains") or not hit.exact
    values = (hit.wider or hit.exact) if widen else hit.exact
    contains = hit.contains if widen and hit.wider else None
    if not hit.exact or (widen and len(values) > 1):
        if len(values) > _MANY and contains is None:
            raise Unanswerable(
                f"“{tag.text}” is a part of {len(values)} different values of {hit.reference}: say which."
            )
        if not hit.exact:
            ctx.draft.doubt(0.9, f"“{tag.text}” stands for {', '.join(values[:5])}{' …' if len(values) > 5 else ''}.")
    elif not widen and (narrower := [v for v in hit.wider if v not in hit.exact]):
        ctx.draft.notes.append(f"“{tag.text}” is taken as it stands; not counted: {', '.join(narrower[:3])}.")
    numeric = ctx.lexicon.column(hit.reference).type == "bigint"
    return Reading(fact, hit.reference, values, contains, numeric)
