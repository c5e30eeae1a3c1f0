"""Files of terms → nodes and edges: a row of a table, or a line of an OBO file, is the evidence of what it declares.

The domain says which columns and tags state which relation (graph.yaml, `ontology`); nothing is read into sentences.
OBO: https://owlcollab.github.io/oboformat/doc/GO.format.obo-1_4.html
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from foundation.graph_schema import DECLARED, DeclaringTable, GraphSchema
from foundation.lexicon import Lexicon, Term, normalise
from foundation.types import Chunk, Column
from pipelines.extraction.builder import GraphBuilder
from pipelines.extraction.entities import local_term

CELLS = " | "
"""What parts the cells of a row in a table's text."""
_ID = re.compile(r"([A-Za-z][\w.\-]*?)(?:_\d{4}\w*)?:(\S+)\Z")
_STANZA = re.compile(r"\[(\w+)\]\s*\Z")
_SYNONYM = re.compile(r'"((?:[^"\\]|\\.)+)"\s+(\w+)')
_LONGEST_NAME = 100
_OBO = re.compile(r"\s*format-version:")


@dataclass(frozen=True, slots=True)
class _Line:
    chunk: Chunk
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.chunk.text[self.start : self.end]


def declares(columns: Sequence[Column], schema: GraphSchema) -> bool:
    """Whether a table is one of terms: its columns state a relation, and its ids are of a kind that is known."""
    by_label = {column.label.casefold(): column for column in columns}
    for table in _tables_of(list(by_label), schema):
        identified = by_label[(table.source_id or table.target_id or "").casefold()]
        if any(_type_of(str(sample), schema) for sample in identified.samples):
            return True
    return False


def _tables_of(labels: Sequence[str], schema: GraphSchema) -> list[DeclaringTable]:
    known = {label.casefold() for label in labels}
    tables = schema.ontology.tables
    return [t for t in tables if known.issuperset(c.casefold() for c in t.columns) and (t.source_id or t.target_id)]


def _type_of(identifier: str, schema: GraphSchema) -> str | None:
    parts = _ID.match(identifier)
    return schema.ontology.types.get(parts[1]) if parts else None


@dataclass(slots=True)
class _Reader:
    builder: GraphBuilder
    lexicon: Lexicon
    schema: GraphSchema
    ids: dict[str, str] = field(default_factory=dict)
    """By the normalised label, the id that the file gives it."""

    def term(self, identifier: str | None, label: str | None) -> Term | None:
        """The lexicon's term of this id or, alone, of this name; else the file's own."""
        identifier = identifier or self.ids.get(normalise(label or ""))
        if identifier in self.lexicon.terms:
            return self.lexicon.terms[identifier]
        if label is None:
            return self._code(identifier or "")
        named = self.lexicon.lookup(label)
        if len(named) == 1 and (identifier is None or identifier.partition(":")[0] != named[0].partition(":")[0]):
            return self.lexicon.terms[named[0]]
        type_ = _type_of(identifier or "", self.schema) or self.schema.free_type
        return Term(identifier, type_, label) if identifier else local_term(label, type_)

    def _code(self, identifier: str) -> Term | None:
        """A code by itself; one of digits alone keeps its system's name, because a bare number names nothing."""
        parts, type_ = _ID.match(identifier), _type_of(identifier, self.schema)
        if parts is None or type_ is None:
            return None
        name = parts[2] if any(c.isalpha() for c in parts[2]) else f"{parts[1]} {parts[2]}"
        return Term(f"{parts[1]}:{parts[2]}", type_, name)

    def add_node(self, term: Term, line: _Line, surface: str, method: str = DECLARED) -> str:
        """Seen where the line says it, or else by the whole line."""
        at = line.text.find(surface)
        start, end = (line.start + at, line.start + at + len(surface)) if at >= 0 else (line.start, line.end)
        return self.builder.add_node(term, line.chunk, start, end, method, is_name=at >= 0)

    def add(
        self, source: tuple[Term, str], relation: str, target: tuple[Term, str], line: _Line, method: str = DECLARED
    ) -> None:
        ends = [self.add_node(term, line, surface, method) for term, surface in (source, target)]
        if ends[0] != ends[1]:
            self.builder.add_edge(ends[0], relation, ends[1], line.chunk, line.start, line.end, method)


def read_tables(chunks: Sequence[Chunk], builder: GraphBuilder, lexicon: Lexicon, schema: GraphSchema) -> None:
    """What the rows in the text of a table file declare."""
    reader = _Reader(builder, lexicon, schema)
    for header, rows in _rows(_lines(chunks), schema):
        places = {label.casefold(): n for n, label in enumerate(header)}
        for table in _tables_of(header, schema):
            columns = {name: places[getattr(table, name).casefold()] for name in _ENDS if getattr(table, name)}
            if {"source", "source_id"} <= columns.keys():
                for cells, _ in rows:
                    reader.ids.setdefault(normalise(cells[columns["source"]]), cells[columns["source_id"]])
            for cells, line in rows:
                _read_row({name: cells[at] for name, at in columns.items()}, table, line, reader)


_ENDS = ("source", "source_id", "target", "target_id")


def _read_row(cells: dict[str, str], table: DeclaringTable, line: _Line, reader: _Reader) -> None:
    source = reader.term(cells.get("source_id"), cells.get("source"))
    split = table.separator
    last = cells.get("target") or cells.get("target_id") or ""
    for part in last.split(split) if split else [last]:
        surface = part.strip()
        if source is None or not surface:
            continue
        by_name = "target" in cells
        target = reader.term(cells.get("target_id"), surface) if by_name else reader.term(surface, None)
        if target is not None:
            named = cells.get("source") or cells.get("source_id") or ""
            reader.add((source, named), table.relation, (target, surface.rpartition(":")[2]), line)


def _rows(lines: Iterable[_Line], schema: GraphSchema) -> Iterator[tuple[list[str], list[tuple[list[str], _Line]]]]:
    """Header and rows of each table of terms. A row of more cells than that holds the mark, and is left out."""
    header: list[str] = []
    rows: list[tuple[list[str], _Line]] = []
    for line in lines:
        cells = [cell.strip() for cell in line.text.split(CELLS.strip())]
        if _tables_of(cells, schema):
            if rows:
                yield header, rows
            header, rows = cells, []
        elif len(cells) == len(header):
            rows.append((cells, line))
    if rows:
        yield header, rows


def _lines(chunks: Sequence[Chunk]) -> Iterator[_Line]:
    """Each line once, though chunks overlap."""
    seen = -1
    for chunk in sorted(chunks, key=lambda c: (c.start, -c.end)):
        at = 0
        for raw in chunk.text.split("\n"):
            text = raw.rstrip("\r")
            if text.strip() and chunk.start + at > seen:
                yield _Line(chunk, at, at + len(text))
                seen = chunk.start + at
            at += len(raw) + 1


def is_obo(text: str) -> bool:
    return _OBO.match(text) is not None


def read_obo(chunks: Sequence[Chunk], builder: GraphBuilder, lexicon: Lexicon, schema: GraphSchema) -> None:
    """What the stanzas of an OBO file declare: names, exact synonyms, and the lines of tags that the domain knows."""
    reader = _Reader(builder, lexicon, schema)
    stanzas = [stanza for stanza in _stanzas(_lines(chunks)) if not _is_obsolete(stanza)]
    names = {value: name for stanza in stanzas for value, name in [(_first(stanza, "id"), _first(stanza, "name"))]}
    for stanza in stanzas:
        _read_stanza(stanza, names, reader)


_Stanza = list[tuple[str, str, _Line]]


def _stanzas(lines: Iterable[_Line]) -> Iterator[_Stanza]:
    """Tag, value and line of each line of each [Term]."""
    stanza: _Stanza | None = None
    for line in lines:
        if opened := _STANZA.match(line.text):
            if stanza:
                yield stanza
            stanza = [] if opened[1] == "Term" else None
        elif stanza is not None and ": " in line.text:
            tag, _, value = line.text.partition(": ")
            stanza.append((tag, value, line))
    if stanza:
        yield stanza


def _first(stanza: _Stanza, tag: str) -> str:
    return next((value.strip() for name, value, _ in stanza if name == tag), "")


def _is_obsolete(stanza: _Stanza) -> bool:
    return _first(stanza, "is_obsolete") == "true" or not _first(stanza, "id") or not _first(stanza, "name")


def _read_stanza(stanza: _Stanza, names: dict[str, str], reader: _Reader) -> None:
    identifier, name = _first(stanza, "id"), _first(stanza, "name")
    own = reader.term(identifier, name)
    if own is None:
        return
    for tag, value, line in stanza:
        if tag == "name":
            reader.add_node(own, line, name)
        elif tag == "def":
            _read_definition(value, line, (own, name), reader)
        elif tag == "synonym" and (synonym := _SYNONYM.match(value)) and synonym[2] == "EXACT":
            reader.add_node(own, line, synonym[1])
        else:
            words = value.partition(" ! ")[0].partition(" {")[0].split()
            if tag == "relationship" and len(words) == 2:
                tag = words.pop(0)
            declared = reader.schema.ontology.tags.get(tag)
            if declared is None or len(words) != 1:
                continue
            label = names.get(words[0]) or value.partition(" ! ")[2].strip() or None
            other = reader.term(words[0], label)
            if other is not None:
                ends = (own, name), (other, label or words[0].rpartition(":")[2])
                source, target = ends if declared.given == "source" else (ends[1], ends[0])
                reader.add(source, declared.relation, target, line)


def _read_definition(text: str, line: _Line, own: tuple[Term, str], reader: _Reader) -> None:
    """`has_symptom fever` in the words of a definition: stated, not declared, because it need not be all there is."""
    for tag, declared in reader.schema.ontology.tags.items():
        if "_" not in tag:
            continue
        words = re.compile(rf"(?<!\w){re.escape(tag).replace('_', '[_ ]')} ")
        for said in words.finditer(text):
            for match in reader.lexicon.find(text[said.end() : said.end() + _LONGEST_NAME])[:1]:
                if match.start == 0 and len(match.term_ids) == 1:
                    other = reader.lexicon.terms[match.term_ids[0]], text[said.end() : said.end() + match.end]
                    source, target = (own, other) if declared.given == "source" else (other, own)
                    reader.add(source, declared.relation, target, line, "pattern")
