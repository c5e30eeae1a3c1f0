"""What the steps of the planner share: the tags and who has used them, the lexicon, and the query that grows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date

from query_service.reasoning.joins import name_words, path
from query_service.reasoning.planner_evidence import Flag, root_of
from query_service.reasoning.planner_lexicon import Lexicon, squeeze
from query_service.reasoning.planner_tags import Tag
from query_service.reasoning.planner_terms import Entity
from query_service.reasoning.planner_words import phrase, tokens
from query_service.reasoning.semantic_query import Computed, Dimension, Filter, Measure, Order, Related, SemanticQuery

NOUNS = {"table", "column"}


class Unanswerable(Exception):
    """Why the rules cannot answer, in words for the user."""


class Ambiguous(Unanswerable):
    """The words are all known, and can be read in several ways."""


@dataclass(slots=True)
class Draft:
    """What grows into a SemanticQuery."""

    base: str = ""
    select: list[str] = field(default_factory=list)
    measures: list[Measure] = field(default_factory=list)
    dimensions: list[Dimension] = field(default_factory=list)
    computed: list[Computed] = field(default_factory=list)
    filters: list[Filter] = field(default_factory=list)
    related: list[Related] = field(default_factory=list)
    order: list[Order] = field(default_factory=list)
    limit: int | None = None
    distinct: bool = False
    confidence: float = 0.95
    notes: list[str] = field(default_factory=list)

    def query(self) -> SemanticQuery:
        return SemanticQuery(
            tables=(self.base,),
            select=tuple(dict.fromkeys(self.select)),
            measures=tuple(self.measures),
            dimensions=tuple(self.dimensions),
            computed=tuple(dict.fromkeys(self.computed)),
            filters=tuple(self.filters),
            related=tuple(self.related),
            order_by=tuple(self.order),
            limit=self.limit,
            distinct=self.distinct,
        )

    def doubt(self, factor: float, note: str) -> None:
        self.confidence *= factor
        if note not in self.notes:
            self.notes.append(note)


@dataclass(slots=True)
class Context:
    tags: list[Tag]
    lexicon: Lexicon
    today: date
    draft: Draft = field(default_factory=Draft)
    used: set[int] = field(default_factory=set)

    def use(self, *tags: Tag) -> None:
        self.used.update(id(t) for t in tags)

    def open(self, *kinds: str) -> list[Tag]:
        return [t for t in self.tags if t.kind in kinds and id(t) not in self.used]

    def before(self, tag: Tag, skip: Iterable[str] = ()) -> Tag | None:
        index = self.tags.index(tag)
        return next((t for t in reversed(self.tags[:index]) if t.kind not in skip), None)

    def after(self, tag: Tag, skip: Iterable[str] = ()) -> Tag | None:
        index = self.tags.index(tag)
        return next((t for t in self.tags[index + 1 :] if t.kind not in skip), None)

    def following(self, tag: Tag, wanted: Iterable[str], skip: Iterable[str]) -> Tag | None:
        """The next tag of a wanted kind, with nothing but skipped kinds between."""
        found = self.after(tag, skip=skip)
        return found if found is not None and found.kind in wanted else None

    # -- tables -------------------------------------------------------------------------------------------------

    def entity(self, tag: Tag) -> Entity | None:
        if tag.kind == "verb":
            return next((e for e in self.lexicon.terms.entities if e.name == tag.payload), None)
        if isinstance(tag.payload, Entity):
            return tag.payload
        return self.lexicon.entity_of.get(tag.tables[0]) if tag.tables else None

    def pick(self, names: Sequence[str], what: str) -> str:
        """The table that a word means; uploads before marts, plain names before longer ones."""
        lexicon = self.lexicon
        order = list(lexicon.entity_of)
        ranked = sorted(dict.fromkeys(names), key=lambda n: order.index(n) if n in order else len(order))
        uploads = [n for n in ranked if lexicon.by_name[n].kind == "upload"] or ranked
        named = {t for tag in self.tags if tag.kind == "file" for t in tag.tables}
        uploads = [n for n in uploads if n in named] or uploads
        if not uploads:
            raise Unanswerable(f"No table here holds {what}.")
        first = lexicon.by_name[uploads[0]]
        for name in uploads[1:]:
            if {c.name for c in lexicon.by_name[name].columns} == {c.name for c in first.columns}:
                raise Ambiguous(f"{first.name} and {name} both hold {what}: name the one that you mean.")
        return uploads[0]

    def table_of(self, tag: Tag) -> str | None:
        """The table that a table tag or a verb speaks of; None where no table holds such things."""
        names = tag.tables or [t for e in [self.entity(tag)] if e for t in self.lexicon.entity_tables(e.name)]
        return self.pick(names, tag.text) if names else None

    def mentioned(self) -> list[str]:
        """Tables that the question names, by noun, verb or a value's only home, in its order."""
        found: list[str] = []
        for tag in self.tags:
            if tag.kind in {"table", "verb"} and (table := self.table_of(tag)) is not None:
                found.append(table)
            elif tag.kind == "value" and len({h.table for h in tag.hits}) == 1:
                found.append(tag.hits[0].table)
            elif tag.kind == "column" and len(owners := {c.partition(".")[0] for c in tag.columns}) == 1:
                found.append(next(iter(owners)))
        return list(dict.fromkeys(found))

    def is_patient(self, table: str) -> bool:
        entity = self.lexicon.entity_of.get(table)
        return entity is not None and entity.name == "patient"

    @property
    def patient(self) -> Entity | None:
        return next((e for e in self.lexicon.terms.entities if e.name == "patient"), None)

    def reach(self, base: str, table: str) -> int | None:
        """Joins from a row of base to one row of table; None where there is no such way."""
        way = path(base, table, self.lexicon.links)
        return None if way is None else len(way)

    # -- columns ------------------------------------------------------------------------------------------------

    def column(self, tag: Tag, types: Iterable[str] | None = None, base: str | None = None) -> str:
        """The one column that the tag means, seen from the base or from the tables that the question names."""
        wanted = set(types) if types else None
        lexicon = self.lexicon
        candidates = [c for c in tag.columns if wanted is None or lexicon.column(c).type in wanted]
        if not candidates:
            raise Unanswerable(f"No column of these tables is {'a number' if types else ''} called “{tag.text}”.")
        if base is not None:
            near = [(d, c) for c in candidates if (d := self.reach(base, c.partition(".")[0])) is not None]
            if near:
                return min(near, key=lambda pair: pair[0])[1]
        for table in self.mentioned():
            own = [c for c in candidates if c.partition(".")[0] == table]
            if own:
                return own[0]
        # “Total cost” may be a column's name, or the total of any cost: no reason to prefer the one called so.
        words = tokens(tag.text)
        measured = len(words) == 2 and phrase((words[0].text,)) in {("measure", "sum"), ("measure", "avg")}
        plain = [c for c in candidates if squeeze(c.rpartition(".")[2]) == squeeze(tag.text) and not measured]
        candidates = plain or candidates
        tables = list(dict.fromkeys(c.partition(".")[0] for c in candidates))
        uploads = [t for t in tables if lexicon.by_name[t].kind == "upload"] or tables
        if len(uploads) > 1:
            raise Ambiguous(f"“{tag.text}” could be of {', '.join(uploads)}: say which.")
        return next(c for c in candidates if c.startswith(f"{uploads[0]}."))

    def flag(self, tag: Tag) -> tuple[Tag, Flag] | None:
        """The column beside a word such as “requires” that says of each row whether it is so."""
        root = tag.payload if tag.kind == "flag" else root_of(tag.text.casefold(), self.lexicon.flags)
        for beside in (self.after(tag, skip=("stop",)), self.before(tag, skip=("stop", "is", "negation"))):
            if root is None or beside is None or beside.kind != "column":
                continue
            if stored := next((f for f in self.lexicon.flags.get(root, ()) if f.column in beside.columns), None):
                return beside, stored
        return None

    def event_date(self, table: str) -> str:
        found = self.lexicon.dates(table, "start") or self.year(table)
        if not found:
            raise Unanswerable(f"{table} has no date to go by.")
        return found[0]

    def year(self, table: str) -> list[str]:
        """The column of whole years of a table without dates."""
        columns = self.lexicon.by_name[table].columns
        return [f"{table}.{c.name}" for c in columns if name_words(c.name) == ("year",) and c.type == "bigint"]

    def labels(self, table: str, base: str) -> list[str]:
        """Columns that show a row of `table` to a reader, with its key where names may repeat."""
        columns = list(self.lexicon.label(table))
        if self.is_patient(table) or not columns:
            entity = self.lexicon.entity_of.get(table)
            key = self.lexicon.key_of(table, entity) if entity else None
            # Names come before a key that only machines read.
            last = key is not None and self.lexicon.unreadable(key)
            columns = [*([key] if key and not last else []), *columns, *([key] if key and last else [])]
        if not columns or any(self.reach(base, c.partition(".")[0]) is None for c in columns):
            raise Unanswerable(f"{table} has no column that names its rows.")
        return columns
