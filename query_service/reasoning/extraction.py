"""An answer without a language model: the sentences of the best passages that answer the question, word for word."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from foundation.ports.embeddings import Embedder
from foundation.types import Hit, Vector
from query_service.reasoning.answer_kinds import fits
from query_service.reasoning.demands import Demands, Scope, WordVectors, joined
from query_service.reasoning.evidence_model import Features, Thresholds
from query_service.reasoning.passages import is_heading, is_open, marker, pieces
from query_service.reasoning.question_words import asked_about, content_words, coverage, rarity, stem
from query_service.reasoning.table_rows import Row, Table

MOST_SENTENCES = 4
_MOST_WITH_NEIGHBOURS = 12
_EMBEDDED_TOKENS = 480  # of all sentences together: 50 to 60 ms for bge-small on 2 cores
_EMBEDDED_SENTENCES = 16
_LONGEST_SENTENCE = 1200  # characters; more is a table or a list that was never cut

_MOST_CHECKED = 6  # of a question for a value: what its words may mean is looked up for the best ones only
_COMMON = ("number", "time", "date", "person", "reason", "limit")
_NEARLY = 0.12  # a further sentence scores at most this much less than the best
_FRAGMENT_NEARLY = 0.05  # a table's row or a caption among sentences has to be better than that

_DEPENDENT = re.compile(
    r"(?:it|its|they|their|these|this|those|such|he|she|his|her|both|however|also)\b"
    r"|if (?:it|they|this|these|those) (?:is|are|was|were|does|do)\b|if it['’]s\b",
    re.I,
)
_POINTS_BACK = re.compile(r"\b(?:it|its|they|them|their|these|those|such|same|he|she|his|her|ones?)\b", re.I)
_DEFINES = re.compile(r"((?:An? |The )?[^.,;:]{2,60}?)\s(?:is|are|was|were)\s(?:an?|the|one|any)\b")
_NAMES = 1.75  # rarity of a word that names something by itself: spelt in pieces, and long, capital or in many of them
_AFTER_A_LIST = re.compile(
    r"(?:after|then|next|once|wait|repeat|continue|if (?:it|this|these|they|none|you still))\b", re.I
)


@dataclass(frozen=True, slots=True)
class EvidenceSentence:
    """A verbatim span: parsed text of version_id [start:end] == text."""

    chunk_id: str
    version_id: str
    start: int
    end: int
    text: str
    score: float
    said: str | None = None
    """For a table's row: the cells asked for under their headers; the row itself is the proof."""


@dataclass(frozen=True, slots=True)
class Extraction:
    sentences: list[EvidenceSentence]
    """In the order of the documents' rank, then of position. Empty without evidence."""
    status: Literal["answered", "no_evidence"]
    confidence: float
    """Probability, by the fitted model, that the hits answer the question."""
    features: Features
    complete: bool = False
    """One sentence holds the question's words and the value asked for: it answers whatever the hits are like."""


@dataclass(slots=True)
class _Candidate:
    hit: int
    position: int
    start: int
    end: int
    text: str
    words: frozenset[str]
    context: frozenset[str]
    """Words of the heading or question that it stands under, in the section or in the text."""
    is_heading: bool
    leads: bool
    """The lead-in of the list item that follows."""
    heading: str = ""
    """The heading or question above it in its passage."""
    topic: str = ""
    """What an earlier sentence of its passage says what it is: `Ibuprofen is a medicine …`."""
    row: Row | None = None
    lexical: float = 0.0
    cosine: float = 0.0
    score: float = 0.0
    columns: tuple[int, ...] = ()
    """Of a row: what the question asks for."""


def extract(
    question: str,
    hits: Sequence[Hit],
    embedder: Embedder,
    *,
    threshold: Thresholds,
    question_vector: Vector | None = None,
    is_known: Callable[[str], bool] | None = None,
    word_vectors: WordVectors | None = None,
    most: int = MOST_SENTENCES,
) -> Extraction:
    """Up to `most` sentences that answer `question`, with the neighbours that they need to be understood.

    hits: best first. question_vector: embedder.embed_query(question) where the caller has it already.
    is_known: whether a document that could have been found holds this word; None where nobody can tell.
    word_vectors: those of the process, so that a word is embedded once.
    """
    weights = rarity(question, embedder)
    candidates = _candidates(hits)
    if not candidates or not weights:
        return Extraction([], "no_evidence", 0.0, Features(0, 0, 0))
    demands = Demands.of(question, weights, word_vectors or WordVectors(embedder))
    for candidate in candidates:
        candidate.lexical = _lexical(candidate, weights, demands, hits)
    shortlist = _shortlist(candidates, embedder)
    vector = embedder.embed_query(question) if question_vector is None else question_vector
    cosines = embedder.embed_passages([_in_context(c, hits) for c in shortlist]) @ vector
    for candidate, cosine in zip(shortlist, cosines, strict=True):
        candidate.cosine = float(cosine)
        candidate.score = candidate.cosine + 0.25 * candidate.lexical
    unknown = is_known is not None and _asks_about_unknown(question, hits, weights, is_known)
    features = replace(_features(hits, shortlist, weights), unknown=unknown)
    confidence = threshold.confidence(features)
    admitted, complete = _admitted(shortlist, candidates, hits, demands)
    if not admitted or (confidence < threshold.cutoff and not complete):
        return Extraction([], "no_evidence", confidence, features)
    chosen = _with_neighbours(_choose(admitted, most), candidates)
    return Extraction([_evidence(c, hits) for c in _in_order(chosen, hits)], "answered", confidence, features, complete)


def _admitted(
    shortlist: Sequence[_Candidate], candidates: Sequence[_Candidate], hits: Sequence[Hit], demands: Demands
) -> tuple[list[_Candidate], bool]:
    """Best first, the candidates that nothing in the question speaks against; whether one answers by itself."""
    place = {(c.hit, c.position): c for c in candidates}
    admitted, complete = [], False
    for candidate in sorted(shortlist, key=lambda c: -c.score):
        if candidate.is_heading:
            continue
        sure = False
        if candidate.row is not None:
            row = " ".join(candidate.row.cells)
            candidate.columns, sure = candidate.row.asked(demands.kind, lambda header: demands.matched(header, row))  # noqa: B023
        scope = _scope(candidate, hits, place, sure=sure)
        if not demands.met(scope) or (demands.value and candidate.row is not None and not candidate.columns):
            continue
        whole = demands.complete(scope, row=candidate.row is not None and bool(candidate.columns) and sure)
        if whole or (demands.enough(scope) and (candidate.row is None or not demands.value)):
            candidate.score += 0.3 * whole
            complete = complete or whole
            admitted.append(candidate)
        if demands.value and len(admitted) == _MOST_CHECKED:
            break
    return sorted(admitted, key=lambda c: -c.score), complete


def _scope(
    candidate: _Candidate, hits: Sequence[Hit], place: Mapping[tuple[int, int], _Candidate], *, sure: bool
) -> Scope:
    """What is said of the sentence where it stands: headings, the header of its columns, a lead-in, what `it` is."""
    hit = hits[candidate.hit]
    section, row = hit.section or "", candidate.row
    wide = joined([section, hit.text])
    if row is not None:
        above = section.rpartition(" > ")[0] if " | " in section.rpartition(" > ")[2] else section
        named = row.named(candidate.columns)
        narrow = joined([above, candidate.heading, row.header[0], *row.cells, named])
        return Scope(candidate.text, narrow, wide, None if sure else named)
    before = _lead_in_of(candidate, place) if marker(candidate.text) is not None else []
    if _POINTS_BACK.search(candidate.text) and (previous := place.get((candidate.hit, candidate.position - 1))):
        before.append(previous)
    narrow = joined([section, candidate.heading, candidate.topic, *(c.text for c in before), candidate.text])
    return Scope(candidate.text, narrow, wide, candidate.text)


def _candidates(hits: Sequence[Hit]) -> list[_Candidate]:
    """The sentences of all hits; one that two overlapping chunks share counts once, where it stands whole."""
    found: dict[str, list[tuple[int, int]]] = {}
    candidates: list[_Candidate] = []
    for index, hit in enumerate(hits):
        heading = frozenset(content_words(hit.section or ""))
        context, under, topic, table, last = heading, "", "", Table(hit.section), 0
        seen = found.setdefault(hit.version_id, [])
        spans = pieces(hit.text)
        for position, (a, b) in enumerate(spans):
            start, end, text = hit.start + a, hit.start + b, hit.text[a:b]
            before_item = position + 1 < len(spans) and marker(hit.text[slice(*spans[position + 1])]) is not None
            words = frozenset(content_words(text))
            row = table.read(text, adjoins=hit.text[last:a].strip() == "" and hit.text.count("\n", last, a) <= 1)
            last = b
            if row is not None and len(row.rows) == 1 and candidates and candidates[-1].position == position - 1:
                candidates[-1].is_heading = True  # the header of its columns
            title = is_heading(text, hit.section)
            if title or text.endswith("?"):
                context, under = heading | words, text  # what follows answers it
            if any(s <= start and end <= e for s, e in seen) or len(text) > _LONGEST_SENTENCE:
                continue
            seen.append((start, end))
            leads = before_item and not title and (text[-1] == ":" or (marker(text) is None and is_open(text)))
            heads = title or text.endswith("?")
            around = context if row is None else context | frozenset(content_words(" ".join(row.header)))
            candidates.append(
                _Candidate(
                    index,
                    position,
                    start,
                    end,
                    text,
                    words,
                    around,
                    heads,
                    leads,
                    "" if title else under,
                    topic,
                    row,
                )
            )
            defined = _DEFINES.match(text)
            topic = defined[1] if defined else topic
    return candidates


def _lexical(candidate: _Candidate, weights: Mapping[str, float], demands: Demands, hits: Sequence[Hit]) -> float:
    """Near [0, 1]: covered words, the hit's rank, and whether it looks like what was asked for."""
    kind = demands.kind
    own = coverage(weights, candidate.words)
    inherited = coverage(weights, candidate.context - candidate.words)
    score = own + 0.5 * inherited
    if fits(kind, candidate.text):
        score += 0.2 if kind in _COMMON else 0.6  # many sentences hold a number, few a dose
    if demands.marked(candidate.text):
        score += 0.6
    if kind == "definition":
        score += 0.3 * _defines(candidate, weights)
    score += 0.15 * (1 - candidate.hit / len(hits))
    return score - 0.6 * candidate.is_heading - 0.2 * (len(candidate.text) < 25)


def _defines(candidate: _Candidate, weights: Mapping[str, float]) -> bool:
    """`X is a …`, where X holds the question's words."""
    match = re.match(r"(.{2,120}?)\s(?:is|are|was|were|means|refers? to|stands for)\s", candidate.text, re.DOTALL)
    return match is not None and coverage(weights, frozenset(content_words(match[1]))) >= 0.6


def _shortlist(candidates: Sequence[_Candidate], embedder: Embedder) -> list[_Candidate]:
    """The candidates worth a vector, within the budget of tokens; one at least."""
    budget = _EMBEDDED_TOKENS
    chosen: list[_Candidate] = []
    for candidate in sorted(candidates, key=lambda c: -c.lexical):
        tokens = embedder.count_tokens(candidate.text) + 12
        if chosen and (tokens > budget or len(chosen) == _EMBEDDED_SENTENCES):
            continue
        chosen.append(candidate)
        budget -= tokens
    return chosen


def _in_context(candidate: _Candidate, hits: Sequence[Hit]) -> str:
    """A sentence says `it`; its section says what that is."""
    section = hits[candidate.hit].section
    return f"{section[-120:]}: {candidate.text}" if section else candidate.text


def _features(hits: Sequence[Hit], ranked: Sequence[_Candidate], weights: Mapping[str, float]) -> Features:
    best = max(c.cosine for c in ranked)
    return Features(
        dense=max((hit.scores["dense"] for hit in hits if "dense" in hit.scores), default=best),
        sentence=best,
        words=max(coverage(weights, frozenset(content_words(f"{h.section or ''} {h.text}"))) for h in hits),
    )


def _asks_about_unknown(
    question: str, hits: Sequence[Hit], weights: Mapping[str, float], is_known: Callable[[str], bool]
) -> bool:
    """A thing that the question asks about is in no document at all, by any of its words.

    One common word is no such thing: `for kids` may well be answered with `children`.
    """
    found = frozenset(word for hit in hits for word in content_words(f"{hit.section or ''} {hit.text}"))
    for words in asked_about(question):
        names = len(words) > 1 or weights.get(stem(words[0]), 0.0) >= _NAMES
        if names and not any(stem(word) in found or is_known(word) for word in words):
            return True
    return False


def _choose(ranked: Sequence[_Candidate], most: int) -> list[_Candidate]:
    """The best sentence, and others that are nearly as good and say something else."""
    chosen: list[_Candidate] = []
    for candidate in ranked:
        if candidate.is_heading:
            continue
        margin = _FRAGMENT_NEARLY if chosen and _is_fragment(candidate) > _is_fragment(chosen[0]) else _NEARLY
        if chosen and candidate.score < chosen[0].score - margin:
            continue
        if all(_overlap(candidate.words, other.words) < 0.6 for other in chosen):
            chosen.append(candidate)
        if len(chosen) == most:
            break
    return chosen


def _is_fragment(candidate: _Candidate) -> bool:
    return is_open(candidate.text) and not candidate.leads and marker(candidate.text) is None


def _overlap(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / max(1, min(len(a), len(b)))


def _with_neighbours(chosen: list[_Candidate], candidates: Sequence[_Candidate]) -> list[_Candidate]:
    """Also the rest of a list and its lead-in, and what a leading `it` points at."""
    place = {(c.hit, c.position): c for c in candidates}
    result = {(c.hit, c.position): c for c in chosen}
    for candidate in chosen:
        wanted: list[_Candidate] = []
        if candidate.leads:
            wanted += _list_of(candidate, place)
        elif marker(candidate.text) is not None:
            wanted += _lead_in_of(candidate, place)
        if _DEPENDENT.match(candidate.text) and (before := place.get((candidate.hit, candidate.position - 1))):
            wanted.append(before)
        for neighbour in wanted:
            if not neighbour.is_heading and len(result) < _MOST_WITH_NEIGHBOURS:
                result.setdefault((neighbour.hit, neighbour.position), neighbour)
    return list(result.values())


def _list_of(lead: _Candidate, place: Mapping[tuple[int, int], _Candidate]) -> list[_Candidate]:
    """The items under a lead-in, and up to two sentences after them that go on with the instruction."""
    found: list[_Candidate] = []
    own, position = marker(lead.text), lead.position + 1
    while (c := place.get((lead.hit, position))) is not None and marker(c.text) not in (None, own):
        found.append(c)
        position += 1
    for following in range(position, position + 2):
        after = place.get((lead.hit, following))
        if after is None or not _AFTER_A_LIST.match(after.text):
            break
        found.append(after)
    return found


def _lead_in_of(item: _Candidate, place: Mapping[tuple[int, int], _Candidate]) -> list[_Candidate]:
    own, position = marker(item.text), item.position - 1
    while (c := place.get((item.hit, position))) is not None:
        if c.leads and marker(c.text) != own:
            return [c]
        if marker(c.text) is None:
            break
        position -= 1
    return []


def _in_order(chosen: Sequence[_Candidate], hits: Sequence[Hit]) -> list[_Candidate]:
    rank: dict[str, int] = {}
    for candidate in sorted(chosen, key=lambda c: -c.score):
        rank.setdefault(hits[candidate.hit].version_id, len(rank))
    return sorted(chosen, key=lambda c: (rank[hits[c.hit].version_id], c.start))


def _evidence(candidate: _Candidate, hits: Sequence[Hit]) -> EvidenceSentence:
    hit = hits[candidate.hit]
    score = round(candidate.score, 4)
    said = candidate.row.named(candidate.columns) if candidate.row is not None and candidate.columns else None
    return EvidenceSentence(hit.chunk_id, hit.version_id, candidate.start, candidate.end, candidate.text, score, said)
