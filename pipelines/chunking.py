"""Parsed text → chunks: whole sentences, one section, within what the embedding model reads.

Boundaries are chosen together, by dynamic programming over the document's sentences and table rows: chunks near the
target size, few cuts inside a paragraph, none between a heading and its text, and few headings in a chunk's middle.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from foundation.errors import NoContent
from foundation.ids import chunk_id, chunker
from foundation.ports.embeddings import Embedder
from foundation.sentences import split_sentences
from foundation.types import Chunk, Element, ParsedDocument

TARGET_TOKENS = 220
"""From 110 to 330 tokens retrieval differs by no more than noise (nDCG@10: SciFact .862 to .867, MedQuAD .835 to .858;
bench/embedding.py), so this is what reads well as one passage and leaves room for eight in a prompt."""
OVERLAP_SENTENCES = 1

_SPECIAL_TOKENS = 2  # [CLS] and [SEP]
_LONGEST_UNIT = 4000  # characters: a "word" without spaces is one token to WordPiece, whatever its length
_CUT_IN_ELEMENT = 0.15  # costs are in units of (size / target - 1)²
_HEADING_INSIDE = 0.9
_HEADING_LAST = 5.0
_RULE_CHARACTERS = frozenset("|:-+= \t")
_PARTING = frozenset(" \t\n\r")
"""White space that every tokenizer parts words at; Python knows more kinds, some of which BERT's only drops."""


@dataclass(frozen=True, slots=True)
class _Unit:
    """What is never cut: a sentence, a table row, a heading."""

    start: int
    end: int
    element: int
    kind: str
    page: int | None
    section: str | None
    section_tokens: int


class _Span(NamedTuple):
    start: int
    end: int
    page: int | None
    section: str | None


def embedding_text(chunk: Chunk) -> str:
    """What the model reads of a chunk: its section, then its text."""
    return _with_section(chunk.section, chunk.text)


def chunk_document(
    parsed: ParsedDocument,
    *,
    version_id: str,
    embedder: Embedder,
    target_tokens: int | None = None,
    overlap_sentences: int = OVERLAP_SENTENCES,
) -> list[Chunk]:
    """The chunks of a version, in order of position; NoContent when there is nothing but headers and footers.

    target_tokens: None takes TARGET_TOKENS, or two thirds of what the model reads if that is less. overlap_sentences:
    how many sentences of a paragraph a chunk repeats when the cut falls inside that paragraph.

    chunk.text == parsed.text[start:end]; `tokens` counts it alone; `embedding_text` has at most embedder.max_tokens,
    special tokens included. Headers and footers of pages are in no chunk, all else of the elements is in one at least.
    """
    target = target_tokens or min(TARGET_TOKENS, embedder.max_tokens * 2 // 3)
    return _Chunker(parsed, version_id, embedder, target, overlap_sentences).chunks()


class _Chunker:
    def __init__(
        self, parsed: ParsedDocument, version_id: str, embedder: Embedder, target: int, overlap_sentences: int
    ) -> None:
        self._parsed = parsed
        self._version_id = version_id
        self._embedder = embedder
        self._limit = embedder.max_tokens - _SPECIAL_TOKENS
        self._target = min(target, self._limit)
        self._overlap = overlap_sentences
        offsets = embedder.token_offsets(parsed.text)
        self._chunker = chunker(embedder.max_tokens)
        self._token_starts = [start for start, _ in offsets]
        self._sections: dict[tuple[str, ...], tuple[str | None, int]] = {}

    def chunks(self) -> list[Chunk]:
        spans: list[_Span] = []
        for run in self._runs():
            spans.extend(self._pack(run))
        if not spans:
            raise NoContent("The document holds no text but page headers and footers.")
        return [self._chunk(ordinal, span) for ordinal, span in enumerate(self._fitting(spans))]

    def _chunk(self, ordinal: int, span: _Span) -> Chunk:
        text = self._parsed.text[span.start : span.end]
        identity = chunk_id(self._version_id, self._parsed.parser, self._chunker, ordinal)
        tokens = self._exact_tokens(span.start, span.end)
        return Chunk(identity, self._version_id, ordinal, span.start, span.end, text, tokens, span.page, span.section)

    # Units

    def _runs(self) -> Iterator[list[_Unit]]:
        """Units between which nothing stands that must not be quoted: a header or footer ends a run."""
        run: list[_Unit] = []
        headings = _Headings(self._parsed.title)
        elements = sorted(self._parsed.elements, key=lambda e: e.start)
        for index, element in enumerate(elements or [Element("paragraph", 0, len(self._parsed.text))]):
            if element.kind in ("header", "footer"):
                if run:
                    yield run
                run = []
                # A format without pages gives each header once: what stands only there must be found too.
                if element.page is None:
                    yield list(self._units(index, element, headings.path()))
                continue
            if element.kind == "title":
                headings.enter(element.level or 1, self._parsed.text[element.start : element.end])
            run.extend(self._units(index, element, headings.path()))
        if run:
            yield run

    def _units(self, index: int, element: Element, path: list[str]) -> Iterator[_Unit]:
        section = self._section(*path)
        if element.kind == "table":
            spans = _lines(self._parsed.text, element)
            header = self._parsed.text[slice(*spans[0])].partition("\n")[0] if spans else ""
            rows_section = self._section(*path, header)
        elif element.kind == "title":
            spans, rows_section = [(element.start, element.end)], section
        else:
            text = self._parsed.text[element.start : element.end]
            spans = [(element.start + a, element.start + b) for a, b in split_sentences(text)]
            rows_section = section
        for position, span in enumerate(spans):
            in_section, section_tokens = rows_section if position else section
            for start, end in self._pieces(span, self._limit - section_tokens):
                yield _Unit(start, end, index, element.kind, element.page, in_section, section_tokens)

    def _section(self, *path: str) -> tuple[str | None, int]:
        """`A > B` and its tokens, without its outer headings or its end where it takes over a quarter of the limit."""
        if path not in self._sections:
            self._sections[path] = self._section_of(path)
        return self._sections[path]

    def _section_of(self, path: Sequence[str]) -> tuple[str | None, int]:
        allowed = self._limit // 4
        names = [name for name in (" ".join(part.split()) for part in path) if name]
        offsets = self._embedder.token_offsets(" > ".join(names))
        while len(names) > 1 and len(offsets) > allowed:
            names = names[1:]
            offsets = self._embedder.token_offsets(" > ".join(names))
        whole = " > ".join(names)
        section = whole[:_LONGEST_UNIT]
        if section != whole:
            offsets = self._embedder.token_offsets(section)
        if len(offsets) > allowed:
            section = section[: offsets[allowed][0]].rstrip()
            offsets = self._embedder.token_offsets(section)
        return section or None, len(offsets) if section else 0

    def _pieces(self, span: tuple[int, int], limit: int) -> Iterator[tuple[int, int]]:
        """The span itself, or parts of it near the target size where it alone goes beyond the limit."""
        start, end = span
        size = limit if self._tokens(start, end) <= limit else min(self._target, limit)
        while start < end:
            first = bisect_left(self._token_starts, start)
            stop = self._token_starts[first + size] if first + size < len(self._token_starts) else end
            stop = max(start + 1, min(stop, end, start + _LONGEST_UNIT))
            if stop < end:
                stop = self._at_space(start, stop)
            piece = self._parsed.text[start:stop]
            if piece.strip():
                yield start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())
            start = stop

    def _at_space(self, start: int, stop: int) -> int:
        """The last white space in the second half of the piece, so that no word is cut; `stop` if there is none."""
        half = start + (stop - start) // 2
        for position in range(stop, half, -1):
            if self._parsed.text[position].isspace():
                return position
        return max(stop, start + 1)

    def _tokens(self, start: int, end: int) -> int:
        return bisect_left(self._token_starts, end) - bisect_left(self._token_starts, start)

    def _exact_tokens(self, start: int, end: int) -> int:
        """What text[start:end] has alone: those of the document there, unless a word may be cut and so read anew."""
        text = self._parsed.text
        if (start == 0 or text[start - 1] in _PARTING) and (end == len(text) or text[end] in _PARTING):
            return self._tokens(start, end)
        return self._embedder.count_tokens(text[start:end])

    # Boundaries

    def _pack(self, run: Sequence[_Unit]) -> Iterator[_Span]:
        first = [bisect_left(self._token_starts, unit.start) for unit in run]
        last = [bisect_left(self._token_starts, unit.end) for unit in run]
        inside = [0]  # inside[k]: headings after a text, among the first k units
        for k, unit in enumerate(run):
            inside.append(inside[-1] + (k > 0 and unit.kind == "title" and run[k - 1].kind != "title"))
        best, previous = [0.0], [0]
        for end in range(1, len(run) + 1):
            cheapest, chosen = float("inf"), end - 1
            cut = self._cut_cost(run, end)
            body = end - 1  # as _body gives it
            for start in range(end - 1, -1, -1):
                if run[start].kind != "title":
                    body = start
                tokens = last[end - 1] - first[start]
                too_long = tokens + run[body].section_tokens > self._limit
                if start < end - 1 and (too_long or tokens > 2 * self._target):
                    break
                cost = (tokens / self._target - 1) ** 2 + _HEADING_INSIDE * (inside[end] - inside[start + 1])
                if best[start] + cost < cheapest:
                    cheapest, chosen = best[start] + cost, start
            best.append(cheapest + cut)
            previous.append(chosen)
        end = len(run)
        spans = []
        while end > 0:
            start = previous[end]
            opening = run[self._overlapping(run, start, end)]
            section = run[_body(run, start, end)].section
            spans.append(_Span(opening.start, run[end - 1].end, opening.page, section))
            end = start
        yield from reversed(spans)

    @staticmethod
    def _cut_cost(run: Sequence[_Unit], end: int) -> float:
        """What a cut before run[end] costs."""
        if end == len(run):
            return 0.0
        if run[end - 1].kind == "title":
            return _HEADING_LAST
        return _CUT_IN_ELEMENT if run[end].element == run[end - 1].element else 0.0

    def _overlapping(self, run: Sequence[_Unit], start: int, end: int) -> int:
        """An earlier first unit, by at most `overlap` sentences of the paragraph that the cut went through."""
        element = run[start].element
        for earlier in range(start - 1, max(-1, start - 1 - self._overlap), -1):
            unit = run[earlier]
            if unit.element != element or unit.kind == "table":
                return start
            tokens = self._tokens(unit.start, run[end - 1].end)
            repeated = self._tokens(unit.start, run[start].start)
            if repeated > self._target // 4 or tokens + unit.section_tokens > self._limit:
                return start
            start = earlier
        return start

    def _fitting(self, spans: list[_Span]) -> Iterator[_Span]:
        """The spans; one that the model would cut off after all is halved (a word that was cut is tokenized anew)."""
        tokens_of = dict(self._sections.values())
        pending = spans[::-1]
        while pending:
            span = pending.pop()
            tokens = tokens_of[span.section] + self._exact_tokens(span.start, span.end)
            if span.end - span.start == 1 or tokens <= self._limit:
                yield span
                continue
            middle = self._at_space(span.start, (span.start + span.end) // 2)
            for start, end in ((middle, span.end), (span.start, middle)):
                half = self._parsed.text[start:end]
                start, end = start + len(half) - len(half.lstrip()), start + len(half.rstrip())
                if start < end:
                    pending.append(span._replace(start=start, end=end))


def _body(run: Sequence[_Unit], start: int, end: int) -> int:
    """The unit whose section is the chunk's: the first after the headings that open it."""
    while start < end - 1 and run[start].kind == "title":
        start += 1
    return start


class _Headings:
    """The path of headings above the current element; the document's title is its root unless a heading says it."""

    def __init__(self, title: str | None) -> None:
        self._root = " ".join(title.split()) if title else ""
        self._open: list[tuple[int, str]] = []
        self._path = self._said()

    def enter(self, level: int, text: str) -> None:
        while self._open and self._open[-1][0] >= level:
            self._open.pop()
        self._open.append((level, text))
        self._path = self._said()

    def path(self) -> list[str]:
        return self._path

    def _said(self) -> list[str]:
        names = [text for _, text in self._open]
        said = _letters(self._root) in _letters(" ".join(names))  # a title page may part it into several headings
        return names if said else [self._root, *names]


def _letters(text: str) -> str:
    return "".join(c for c in text.casefold() if c.isalnum())


def _lines(text: str, element: Element) -> list[tuple[int, int]]:
    """The lines of a table; one that only draws a rule goes with the line before it."""
    spans: list[tuple[int, int]] = []
    start = element.start
    for line in text[element.start : element.end].splitlines(keepends=True):
        stripped = line.strip()
        if stripped and spans and set(stripped) <= _RULE_CHARACTERS:
            spans[-1] = (spans[-1][0], start + len(line.rstrip()))
        elif stripped:
            spans.append((start + len(line) - len(line.lstrip()), start + len(line.rstrip())))
        start += len(line)
    return spans


def _with_section(section: str | None, text: str) -> str:
    return f"{section}\n{text}" if section else text
