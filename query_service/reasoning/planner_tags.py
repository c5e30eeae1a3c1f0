"""A question → tags: each stretch with what it can mean. What means nothing is tagged `unknown`, never dropped."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import pairwise
from typing import Any

from query_service.reasoning.joins import singular
from query_service.reasoning.planner_dates import Period, periods
from query_service.reasoning.planner_evidence import root_of
from query_service.reasoning.planner_lexicon import FindValues, Lexicon, ValueHit, searchable
from query_service.reasoning.planner_numbers import Comparison, comparisons
from query_service.reasoning.planner_words import MAX_PHRASE, NUMBERS, STOP, Token, phrase, tokens

_LONGEST = 8
_MAX_LOOKUPS = 400
_MANY = 50
_UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.I)


@dataclass(slots=True)
class Tag:
    kind: str
    text: str
    at: int
    until: int
    payload: Any = None
    columns: list[str] = field(default_factory=list)
    tables: list[str] = field(default_factory=list)
    hits: list[ValueHit] = field(default_factory=list)


def tag(question: str, lexicon: Lexicon, today: date, find_values: FindValues | None) -> list[Tag]:
    return _Tagger(question, lexicon, today, find_values).run()


class _Tagger:
    def __init__(self, question: str, lexicon: Lexicon, today: date, find_values: FindValues | None) -> None:
        self.question, self.lexicon, self.find_values = question, lexicon, find_values
        self.lookups = 0
        self.found: dict[tuple[str, str], dict[str, list[str]]] = {}
        self.holding: dict[str, set[tuple[str, str]]] = {}
        compared = comparisons(question)
        taken = [(c.at, c.until) for c in compared]
        times = [p for p in periods(question, today) if not any(p.at < e and s < p.until for s, e in taken)]
        self.fixed: list[Comparison | Period] = sorted([*compared, *times], key=lambda item: item.at)

    def run(self) -> list[Tag]:
        result: list[Tag] = []
        for match in _UUID.finditer(self.question):
            result.append(Tag("identifier", match.group(), match.start(), match.end(), match.group()))
        for item in self.fixed:
            kind = "compare" if isinstance(item, Comparison) else "period"
            result.append(Tag(kind, self.question[item.at : item.until], item.at, item.until, item))
        blocked = [(t.at, t.until) for t in result]
        free = [t for t in tokens(self.question) if not any(t.start < e and s < t.end for s, e in blocked)]
        for run in _runs(free, blocked):
            result.extend(self._resolve_unknown(self._known(run)))
        return _doubted(sorted(result, key=lambda t: t.at))

    # -- what is known ------------------------------------------------------------------------------------------

    def _known(self, run: Sequence[Token]) -> list[tuple[Tag, list[Token]]]:
        found: list[tuple[Tag, list[Token]]] = []
        index = 0
        while index < len(run):
            for length in range(min(_LONGEST, len(run) - index), 0, -1):
                span = list(run[index : index + length])
                if (known := self._match(span)) is not None:
                    found.append((known, span))
                    index += length
                    break
            else:
                found.append((self._tag("unknown", [run[index]]), [run[index]]))
                index += 1
        return found

    def _match(self, span: list[Token]) -> Tag | None:
        lexicon = self.lexicon
        words = tuple(t.text for t in span)
        stemmed = tuple(t.stem for t in span)
        english = phrase(words) if len(words) <= MAX_PHRASE else None
        columns = list(lexicon.phrases.get(stemmed, []))
        tables = list(lexicon.table_phrases.get(stemmed, []))
        hits = [*lexicon.meanings.get(stemmed, []), *lexicon.sample_values.get(stemmed, [])]
        if english is not None:
            return self._tag(*english, span=span, columns=columns)
        entity = lexicon.entities.get(stemmed)
        if tables or (
            entity is not None and (columns := list(dict.fromkeys([*columns, *lexicon.entity_keys(entity)])))
        ):
            return self._tag("table" if tables else "column", entity, span=span, columns=columns, tables=tables)
        if hits and (len(span) > 1 or not columns):
            return self._tag("value", None, span=span, columns=columns, hits=self._widen(hits, span))
        if columns:
            return self._tag("column", None, span=span, columns=columns)
        if files := lexicon.file_phrases.get(stemmed):
            return self._tag("file", None, span=span, tables=list(files))
        if len(span) == 1 and (root := root_of(span[0].text, lexicon.flags)) is not None:
            return self._tag("flag", root, span=span)
        if (verb := lexicon.verbs.get(words) or lexicon.verbs.get(stemmed)) is not None:
            return self._tag("verb", verb, span=span)
        if len(span) == 1:
            word = span[0].text
            if word in STOP:
                return self._tag("stop", "", span=span)
            if re.fullmatch(r"\d+(?:\.\d+)?", word) or word in NUMBERS:
                return self._tag("number", NUMBERS[word] if word in NUMBERS else float(word), span=span)
        return None

    def _tag(self, kind: str, payload: Any = None, *, span: Sequence[Token] = (), **more: Any) -> Tag:
        if isinstance(payload, list):
            span, payload = payload, None
        return Tag(kind, self.question[span[0].start : span[-1].end], span[0].start, span[-1].end, payload, **more)

    # -- what only the values can explain -----------------------------------------------------------------------

    def _resolve_unknown(self, known: list[tuple[Tag, list[Token]]]) -> list[Tag]:
        """Longest stretches that hold an unknown word and are a value, or a part of one."""
        result = [t for t, _ in known]
        start = 0
        while start < len(known):
            replaced = self._longest_value(known, start)
            if replaced is None:
                start += 1
                continue
            end, found = replaced
            for item, _ in known[start:end]:
                result.remove(item)
            result.append(found)
            start = end
        return result

    def _longest_value(self, known: list[tuple[Tag, list[Token]]], start: int) -> tuple[int, Tag] | None:
        if known[start][0].kind in {
            "stop",
            "is",
            "and",
            "or",
            "count",
            "with",
            "group",
            "table",
            "rows",
            "verb",
        }:
            return None
        for end in range(min(len(known), start + _LONGEST), start, -1):
            part = known[start:end]
            kinds = [t.kind for t, _ in part]
            if "unknown" not in kinds or kinds[-1] in {"stop", "is", "and", "or", "with", "group"}:
                continue
            if kinds[0] != "unknown" and "unknown" not in kinds[:2]:
                continue
            span = [token for _, held in part for token in held]
            hits = self._values_with(span)
            if hits:
                return end, self._tag("value", None, span=span, hits=hits)
        return None

    def _values_with(self, span: Sequence[Token]) -> list[ValueHit]:
        wanted = tuple(t.stem for t in span)
        text = self.question[span[0].start : span[-1].end]
        if len(wanted) == 1 and len(wanted[0]) < 3:
            return []
        # A column that holds no value with one of the words holds none with all of them.
        held = [self._columns_with(t) for t in span if len(t.text) > 2 and t.text not in STOP]
        columns = set.intersection(*held) if held else set()
        found = (self._in_column(table, column, wanted, text) for table, column in sorted(columns))
        return [hit for hit in found if hit is not None]

    def _columns_with(self, token: Token) -> set[tuple[str, str]]:
        if token.stem not in self.holding:
            self.holding[token.stem] = self.lexicon.sample_words.get(token.stem, set()) | {
                (table.name, column.name)
                for table in self.lexicon.tables
                for column in table.columns
                if searchable(column)
                and self._in_column(table.name, column.name, (token.stem,), token.text, parts=True)
            }
        return self.holding[token.stem]

    def _in_column(
        self, table: str, name: str, wanted: tuple[str, ...], text: str, parts: bool = False
    ) -> ValueHit | None:
        column = self.lexicon.column(f"{table}.{name}")
        candidates, complete = list(column.samples), not searchable(column)
        if not complete and self.find_values is not None:
            candidates, text = self._looked_up(table, name, text)
            complete = len(candidates) < _MANY
        exact = tuple(v for v in candidates if self.lexicon.bare_stems(v) == wanted or v.casefold() == text.casefold())
        wider = tuple(v for v in candidates if _holds(self.lexicon.bare_stems(v), wanted) or (parts and not complete))
        if not exact and not wider:
            return None
        return ValueHit(table, name, exact, wider or exact, None if complete else text)

    def _looked_up(self, table: str, name: str, text: str) -> tuple[list[str], str]:
        """Stored values of the column that contain the text, or its singular, and which of the two."""
        shorter = _singular_text(text)
        # Values with the plural are among those with a singular that the plural begins with.
        texts = [shorter] if text.casefold().startswith(shorter.casefold()) else [text, shorter]
        for item in texts:
            if values := self._stored(table, name, item.casefold()):
                return values, item
        return [], text

    def _stored(self, table: str, name: str, text: str) -> list[str]:
        known = self.found.setdefault((table, name), {})
        if text not in known:
            # All values with one of the words are known: those with more of the text are among them.
            whole = next((v for t, v in known.items() if t in text and len(v) < _MANY), None)
            if whole is not None:
                known[text] = [v for v in whole if text in v.casefold()]
            elif self.find_values is not None and self.lookups < _MAX_LOOKUPS:
                self.lookups += 1
                known[text] = self.find_values(table, name, text)
        return known.get(text, [])

    def _is_patient(self, table: str) -> bool:
        return (entity := self.lexicon.entity_of.get(table)) is not None and entity.name == "patient"

    def _other_labels(self, hits: list[ValueHit], span: Sequence[Token]) -> list[ValueHit]:
        """The same words in columns that name rows but show only some of their values in the profile."""
        wanted, text = tuple(t.stem for t in span), self.question[span[0].start : span[-1].end]
        known = {h.reference for h in hits}
        found = []
        for reference in dict.fromkeys(c for t in self.lexicon.entity_of for c in self.lexicon.label(t)):
            table, _, column = reference.partition(".")
            if reference not in known and searchable(self.lexicon.column(reference)):
                found.append(self._in_column(table, column, wanted, text))
        return [hit for hit in found if hit is not None and hit.exact]

    def _widen(self, hits: list[ValueHit], span: Sequence[Token]) -> list[ValueHit]:
        """Exact hits, each with the values of its column that have the phrase inside."""
        wanted = tuple(t.stem for t in span)
        text = self.question[span[0].start : span[-1].end]
        result = []
        coded_all = wanted in self.lexicon.meanings
        for hit in [*hits, *([] if coded_all else self._other_labels(hits, span))]:
            entity = self.lexicon.entity_of.get(hit.table)
            coded = wanted in self.lexicon.meanings and hit in self.lexicon.meanings[wanted]
            names_rows = entity is None or hit.reference in self.lexicon.label(hit.table)
            wide = None
            if not coded and names_rows and not self._is_patient(hit.table):
                wide = self._in_column(hit.table, hit.column, wanted, text)
            result.append(ValueHit(hit.table, hit.column, hit.exact, wide.wider, wide.contains) if wide else hit)
        return result


def _doubted(tags: list[Tag]) -> list[Tag]:
    """Parts of two values side by side are no value: “alcohol use” is neither alcohol abuse nor the use of insulin."""

    def partial(tag: Tag) -> bool:
        return tag.kind == "unknown" or (tag.kind == "value" and not any(h.exact for h in tag.hits))

    for left, right in pairwise(tags):
        if partial(left) and partial(right):
            for tag in (left, right):
                tag.kind = "unknown"
    return tags


def _runs(free: Sequence[Token], blocked: Sequence[tuple[int, int]]) -> list[list[Token]]:
    """Stretches of tokens without a date, a comparison or an identifier between them."""
    runs: list[list[Token]] = []
    for token in free:
        apart = not runs or any(runs[-1][-1].end <= s and e <= token.start for s, e in blocked)
        if apart:
            runs.append([])
        runs[-1].append(token)
    return runs


def _holds(value: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    size = len(wanted)
    return any(value[i : i + size] == wanted for i in range(len(value) - size + 1))


def _singular_text(text: str) -> str:
    head, _, last = text.rpartition(" ")
    return f"{head} {singular(last.casefold())}".strip()
