"""What the words of a question can mean in these tables: tables, columns, values, keys, dates and labels."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from foundation.types import Column, TableInfo
from query_service.reasoning.joins import Link, links, name_words, path
from query_service.reasoning.planner_evidence import Flag, described, flags_of
from query_service.reasoning.planner_terms import ColumnTerm, Entity, Terms, ValueTerm
from query_service.reasoning.planner_words import STOP, phrase, stems, tokens

FindValues = Callable[[str, str, str], list[str]]
NUMERIC = {"bigint", "decimal", "double"}
TEMPORAL = {"date", "timestamp"}
_UNITS = {"usd", "eur", "gbp", "min", "minute", "hour", "day", "mg", "kg", "cm", "percent", "pct", "amount"}
_CURRENCIES, _PRICES = {"usd", "eur", "gbp"}, ("price", "cost", "fee", "amount")
_UUID = re.compile(r"^[0-9a-f]{8}-[0-9a-f]{4}-", re.I)
_COUNTED = re.compile(r"\s*(?:how many|number of|count of)\b", re.I)
_DISTINCT = re.compile(r"\b(?:different|distinct|unique)\b", re.I)


def squeeze(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "", text.casefold())


@dataclass(frozen=True, slots=True)
class ValueHit:
    """Stored values that a phrase stands for in one column."""

    table: str
    column: str
    exact: tuple[str, ...]
    """Values that the phrase is."""
    wider: tuple[str, ...] = ()
    """Values that have the phrase inside, the exact ones too; empty when not looked for."""
    contains: str | None = None
    """Set when the wider values are too many to list: match by this text instead."""

    @property
    def reference(self) -> str:
        return f"{self.table}.{self.column}"


@dataclass(slots=True)
class Lexicon:
    tables: tuple[TableInfo, ...]
    terms: Terms
    links: list[Link] = field(init=False)
    by_name: dict[str, TableInfo] = field(init=False)
    entity_of: dict[str, Entity] = field(init=False)
    """Table → the kind of thing that it holds; tables whose name says it plainly come first."""
    phrases: dict[tuple[str, ...], list[str]] = field(init=False)
    """Words → columns, the better first."""
    table_phrases: dict[tuple[str, ...], list[str]] = field(init=False)
    file_phrases: dict[tuple[str, ...], list[str]] = field(init=False)
    """Words of file names and sheets → the tables that came from them."""
    sample_values: dict[tuple[str, ...], list[ValueHit]] = field(init=False)
    meanings: dict[tuple[str, ...], list[ValueHit]] = field(init=False)
    verbs: dict[tuple[str, ...], str] = field(init=False)
    additive: set[str] = field(init=False)
    sample_words: dict[str, set[tuple[str, str]]] = field(init=False)
    """Word of a value → (table, column), for text columns whose profile shows every value."""
    entities: dict[tuple[str, ...], Entity] = field(init=False)
    counts: set[str] = field(init=False)
    """Columns of marts that count what their rows stand for; additive too where the counts do not overlap."""
    _stems: dict[str, tuple[str, ...]] = field(init=False)
    flags: dict[str, list[Flag]] = field(init=False)
    """Root of a participle ("requir") → columns that say whether it is so."""

    def __post_init__(self) -> None:
        self.links = links(self.tables)
        self.by_name = {t.name: t for t in self.tables}
        ranked = {t.name: found for t in self.tables if (found := self._entity(t)) is not None}
        # A table that another of its kind points at holds codes, not events: d_icd_procedures beside procedures_icd.
        codes = {
            k.one_table
            for k in self.links
            if k.one_table in ranked and k.many_table in ranked and ranked[k.one_table][1] is ranked[k.many_table][1]
        }
        ranked = {name: found for name, found in ranked.items() if name not in codes}
        self.entity_of = {name: entity for name, (_, entity) in sorted(ranked.items(), key=lambda i: -i[1][0])}
        self.phrases, self.table_phrases, self.sample_values, self.meanings = {}, {}, {}, {}
        self.file_phrases, self.additive, self.counts = {}, set(), set()
        self.verbs = {stems(v): e.name for e in self.terms.entities for v in e.verbs}
        self.sample_words, self.entities, self._stems = {}, {}, {}
        for entity in self.terms.entities:
            for words in entity.words:
                self.entities.setdefault(stems(words), entity)
        vocabulary = self._vocabulary()
        for table in self.tables:
            self._add_table(table)
            for column in table.columns:
                self._add_column(table, column, vocabulary)
                self._add_values(table, column)
        self._add_column_terms()
        self._add_descriptions()
        self.flags = flags_of(self.tables)

    # -- look-ups -----------------------------------------------------------------------------------------------

    def column(self, reference: str) -> Column:
        table, _, name = reference.partition(".")
        return next(c for c in self.by_name[table].columns if c.name == name)

    def unreadable(self, reference: str) -> bool:
        """Whether the column holds UUIDs."""
        return any(_UUID.match(s) for s in self.column(reference).samples[:3])

    def entity_tables(self, entity: str) -> list[str]:
        return [name for name, found in self.entity_of.items() if found.name == entity]

    def bare_stems(self, value: str) -> tuple[str, ...]:
        """Stems of a value without its closing qualifier; worked out once for the values of profiles."""
        return self._stems[value] if value in self._stems else stems(_bare(value))

    def entity_keys(self, entity: Entity) -> list[str]:
        """Columns of other tables that point at a thing of this kind."""
        names = [squeeze(k) for k in entity.keys]
        return [f"{t.name}.{c.name}" for t in self.tables for c in t.columns if squeeze(c.name) in names]

    def key_of(self, table: str, entity: Entity) -> str | None:
        """The table's column that says which thing of this kind a row belongs to."""
        names = [squeeze(k) for k in entity.keys]
        own = self.by_name[table]
        if self.entity_of.get(table) is entity:
            for column in own.columns:
                if squeeze(column.name) == "id" or squeeze(column.name) in names:
                    return f"{table}.{column.name}"
        for name in names:
            for column in own.columns:
                if squeeze(column.name) == name:
                    return f"{table}.{column.name}"
        return None

    def label(self, table: str) -> list[str]:
        """The columns by which people know a row of the table; they may be of a code table that it points at."""
        entity = self.entity_of.get(table)
        own = {squeeze(c.name): f"{table}.{c.name}" for c in self.by_name[table].columns}
        for names in entity.labels if entity else ():
            parts = [squeeze(n) for n in names.split("+")]
            if all(p in own for p in parts):
                return [own[p] for p in parts]
        for name in self.terms.labels:
            if squeeze(name) in own:
                return [own[squeeze(name)]]
        stem = name_words(table)
        for name in (f"{'_'.join(stem)}_name", f"{stem[-1]}_name"):
            if squeeze(name) in own:
                return [own[squeeze(name)]]
        for link in self.links:
            role = link.many_table == table and link.score >= 0.7
            if role and link.one_table not in self.entity_of and (found := self._own_label(link.one_table)):
                return [found]
        return [f"{table}.{c.name}" for c in self.by_name[table].columns if self._names_rows(table, c)][:1]

    def _names_rows(self, table: str, column: Column) -> bool:
        """Text that differs in every row of a table of no known kind, and is no code: what the row is called."""
        if table in self.entity_of or column.type != "text" or column.nulls or not column.samples:
            return False
        coded = {"id", "code", "key", "number"} & set(name_words(column.name))
        worded = all(re.search(r"[a-z]{3}", s) and not _UUID.match(s) for s in column.samples)
        return not coded and worded and column.distinct == self.by_name[table].row_count

    def _own_label(self, table: str) -> str | None:
        own = {squeeze(c.name): f"{table}.{c.name}" for c in self.by_name[table].columns}
        return next((own[squeeze(n)] for n in self.terms.labels if squeeze(n) in own), None)

    def dates(self, table: str, role: str) -> list[str]:
        """Columns of the role start, stop, birth or death; the more likely first."""
        columns = self.by_name[table].columns
        words = self.terms.dates
        if role in {"birth", "death"}:
            names = [squeeze(n) for n in (words.birth if role == "birth" else words.death)]
            # A column without a single value was typed as text: whether it is empty can be asked all the same.
            blank = {"text"} if role == "death" else set()
            found = [
                c
                for c in columns
                if squeeze(c.name) in names and (c.type in {*TEMPORAL, "bigint"} or (c.type in blank and not c.samples))
            ]
            return [f"{table}.{c.name}" for c in sorted(found, key=lambda c: names.index(squeeze(c.name)))]
        person = {squeeze(n) for n in (*words.birth, *words.death)}
        start: list[str] = []
        stop: list[str] = []
        for column in columns:
            parts = set(name_words(column.name))
            if (
                column.type not in TEMPORAL
                or squeeze(column.name) in person
                or parts & {singular_of(w) for w in words.ignored}
            ):
                continue
            low = column.name.casefold()
            ends = parts & {singular_of(w) for w in words.stop} or any(
                low.startswith(w) for w in words.stop if len(w) > 3
            )
            (stop if ends else start).append(f"{table}.{column.name}")
        return start if role == "start" else stop

    def many_to_one(self, base: str, table: str) -> bool:
        return path(base, table, self.links) is not None

    # -- building -----------------------------------------------------------------------------------------------

    def _entity(self, table: TableInfo) -> tuple[int, Entity] | None:
        words = name_words(table.name)
        joined = "".join(words)
        ranked: list[tuple[int, Entity]] = []
        for entity in self.terms.entities:
            for name in entity.tables:
                parts = name_words(name)
                if "".join(parts) == joined:
                    ranked.append((100, entity))
                elif any(words[i : i + len(parts)] == parts for i in range(len(words))):
                    ranked.append((len(parts), entity))
        if not ranked:
            return None
        best = max(score for score, _ in ranked)
        winners = {e.name: e for score, e in ranked if score == best}
        if len(winners) > 1 or (best < 100 and (len(words) > best + 2 or table.kind == "mart")):
            # The rows of encounter_costs are no encounters.
            return None
        return best, next(iter(winners.values()))

    def _vocabulary(self) -> set[str]:
        known = {
            "date",
            "time",
            "id",
            "code",
            "name",
            "number",
            "type",
            "class",
            "description",
            "cost",
            "total",
            "start",
        }
        known |= {"end", "reason", "value", "status", "birth", "death", "base", "coverage", "place", "unit", "count"}
        for entity in self.terms.entities:
            known |= {w for phrase in entity.words for w in stems(phrase)}
        for term in self.terms.columns:
            known |= {w for phrase in term.words for w in stems(phrase)}
        return known | {w for t in self.tables for w in name_words(t.name)}

    def _add_table(self, table: TableInfo) -> None:
        forms = {name_words(table.name)}
        entity = self.entity_of.get(table.name)
        if entity is not None:
            forms |= {stems(w) for w in entity.words}
        for form in forms:
            if form:
                self.table_phrases.setdefault(form, []).append(table.name)
        for name in (table.file_name, table.sheet, table.label):
            form = stems(re.sub(r"\.(csv|xlsx?|tsv)$", "", (name or "").casefold()).replace("_", " "))
            for start in range(len(form)):
                # “the price list” for clinic_price_list.xlsx; one word alone would be too common.
                if (len(form) - start > 1 or start == 0) and form[start:] not in forms:
                    known = self.file_phrases.setdefault(form[start:], [])
                    known.extend([table.name] if table.name not in known else [])

    def _add_column(self, table: TableInfo, column: Column, vocabulary: set[str]) -> None:
        forms = [name_words(column.name), stems(column.label.replace("_", " "))]
        joined = squeeze(column.name)
        if len(forms[0]) == 1 and (parts := _segment(joined, vocabulary)):
            forms.append(parts)
        for form in dict.fromkeys(forms):
            # A column that is only called id or value is not what those words of a question mean.
            if form and form not in {("id",), ("value",)}:
                self._phrase(form, f"{table.name}.{column.name}")
                if len(form) > 1 and form[-1] in _UNITS:
                    self._phrase(form[:-1], f"{table.name}.{column.name}")
                    for word in _PRICES if form[-1] in _CURRENCIES and form[-2] not in _PRICES else ():
                        self._phrase((*form[:-1], word), f"{table.name}.{column.name}")
                if len(form) > 2 and form[-1] in {"date", "name"}:
                    self._phrase(form[-2:], f"{table.name}.{column.name}")

    def _phrase(self, words: tuple[str, ...], reference: str) -> None:
        known = self.phrases.setdefault(words, [])
        if reference not in known:
            known.append(reference)

    def _add_column_terms(self) -> None:
        for term in self.terms.columns:
            for table in self.tables:
                own = {squeeze(_unitless(c.name)): c for c in table.columns} | {
                    squeeze(c.name): c for c in table.columns
                }
                matched = [own[squeeze(n)] for n in term.names if squeeze(n) in own]
                if not matched:
                    continue
                self._mark(term, table, matched)
                for words in term.words:
                    form = stems(words)
                    known = self.phrases.setdefault(form, [])
                    named = [r for r in known if r.startswith(f"{table.name}.")]
                    if not named:
                        known.append(f"{table.name}.{matched[0].name}")

    def _add_descriptions(self) -> None:
        """What is written down about a column: each of its clauses is a phrase for it, and it may be a count."""
        for table in self.tables:
            for column in table.columns:
                reference, text = f"{table.name}.{column.name}", column.description or ""
                for form in described(text):
                    self._phrase(form, reference)
                if table.kind == "mart" and column.type == "bigint" and _COUNTED.match(text):
                    self.counts.add(reference)
                    if not _DISTINCT.search(text):
                        self.additive.add(reference)

    def _mark(self, term: ColumnTerm, table: TableInfo, matched: Sequence[Column]) -> None:
        if term.additive:
            self.additive |= {f"{table.name}.{c.name}" for c in matched}

    def _add_meaning(self, words: tuple[str, ...], hit: ValueHit, term: ValueTerm) -> None:
        """Of two columns of one table that hold the same code, the one that the domain names first."""
        order = [squeeze(c) for c in term.columns]
        known = self.meanings.setdefault(words, [])
        rival = next((h for h in known if h.table == hit.table and squeeze(h.column) in order), None)
        if rival is None:
            known.append(hit)
        elif order.index(squeeze(hit.column)) < order.index(squeeze(rival.column)):
            known[known.index(rival)] = hit

    def _add_values(self, table: TableInfo, column: Column) -> None:
        coded = [v for v in self.terms.values if squeeze(column.name) in {squeeze(c) for c in v.columns}]
        for term in coded:
            for meaning in term.meanings:
                stored = {s.casefold() for s in meaning.stored}
                values = tuple(s for s in column.samples if s.casefold() in stored)
                if values:
                    for words in meaning.words:
                        self._add_meaning(stems(words), ValueHit(table.name, column.name, values), term)
        if column.type != "text":
            return
        complete = not searchable(column)
        for sample in column.samples:
            self._stems[sample] = stems(_bare(sample))
            for word in self._stems[sample] if complete else ():
                self.sample_words.setdefault(word, set()).add((table.name, column.name))
            if _UUID.match(sample) or (len(sample) < 3 and coded) or sample.isdigit():
                continue
            for form in {stems(sample), stems(_bare(sample))}:
                if form and len(form) <= 16:
                    hits = self.sample_values.setdefault(form, [])
                    same = next((h for h in hits if h.reference == f"{table.name}.{column.name}"), None)
                    if same is not None:
                        hits.remove(same)
                    values = tuple(dict.fromkeys((*(same.exact if same else ()), sample)))
                    hits.append(ValueHit(table.name, column.name, values))


def _bare(value: str) -> str:
    """Without a closing qualifier: "Asthma (disorder)" → "Asthma"."""
    return re.sub(r"\s*\([^()]*\)\s*$", "", value)


def _unitless(name: str) -> str:
    words = name.split("_")
    return "_".join(words[:-1]) if len(words) > 1 and words[-1] in _UNITS else name


def singular_of(word: str) -> str:
    return name_words(word)[0] if word else word


def _segment(word: str, vocabulary: set[str]) -> tuple[str, ...] | None:
    """encounterclass → (encounter, class), where both halves are known words."""
    for cut in range(3, len(word) - 2):
        if word[:cut] in vocabulary and word[cut:] in vocabulary:
            return word[:cut], word[cut:]
    return None


def content_words(question: str, terms: Terms) -> list[str]:
    """The words of a question that only a stored value may explain, cut to what their plural and singular share."""
    named = {w for e in terms.entities for words in (*e.words, *e.verbs, *e.weak_verbs) for w in stems(words)}
    found = [t for t in tokens(question) if len(t.text) > 2 and not t.text[0].isdigit() and t.stem not in named]
    found = [t for t in found if t.text not in STOP and phrase((t.text,)) is None]
    return [t.stem if t.text.startswith(t.stem) else t.text[:-3] for t in found]


def searchable(column: Column) -> bool:
    """Whether words of a question may be values of the column that its profile does not show."""
    if column.type != "text" or (column.distinct is not None and column.distinct <= len(column.samples)):
        return False
    return bool(column.samples) and not any(_UUID.match(s) or s.isdigit() for s in column.samples[:3])
