"""An answer without a language model: the sentences of the best passages that answer the question, word for word."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from foundation.ports.embeddings import Embedder
from foundation.sentences import split_sentences
from foundation.types import Hit, Vector
from query_service.reasoning.evidence_model import Features, Thresholds
from query_service.reasoning.question_words import (
    STOP_WORDS,
    Asked,
    asked,
    asked_about,
    content_words,
    coverage,
    fits,
    rarity,
    stem,
)

MOST_SENTENCES = 4
_MOST_WITH_NEIGHBOURS = 12
_EMBEDDED_TOKENS = 480  # of all sentences together: 50 to 60 ms for bge-small on 2 cores
_EMBEDDED_SENTENCES = 16
_LONGEST_SENTENCE = 1200  # characters; more is a table or a list that was never cut

_LONGEST_ITEM = 400
_NEARLY = 0.12  # a further sentence scores at most this much less than the best
_FRAGMENT_NEARLY = 0.05  # a table's row or a caption among sentences has to be better than that

_ITEM = re.compile(r"(?:(?P<bullet>[•‣▪■●○◦*+–—-])|\(?(?:(?P<number>\d{1,2})|[a-z])[.)])\s")
_DEPENDENT = re.compile(
    r"(?:it|its|they|their|these|this|those|such|he|she|his|her|both|however|also)\b"
    r"|if (?:it|they|this|these|those) (?:is|are|was|were|does|do)\b|if it['’]s\b",
    re.I,
)
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


@dataclass(frozen=True, slots=True)
class Extraction:
    sentences: list[EvidenceSentence]
    """In the order of the documents' rank, then of position. Empty without evidence."""
    status: Literal["answered", "no_evidence"]
    confidence: float
    """Probability, by the fitted model, that the hits answer the question."""
    features: Features


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
    lexical: float = 0.0
    cosine: float = 0.0
    score: float = 0.0


def extract(
    question: str,
    hits: Sequence[Hit],
    embedder: Embedder,
    *,
    threshold: Thresholds,
    question_vector: Vector | None = None,
    is_known: Callable[[str], bool] | None = None,
    most: int = MOST_SENTENCES,
) -> Extraction:
    """Up to `most` sentences that answer `question`, with the neighbours that they need to be understood.

    hits: best first. question_vector: embedder.embed_query(question) where the caller has it already.
    is_known: whether a document that could have been found holds this word; None where nobody can tell.
    """
    weights = rarity(question, embedder)
    candidates = _candidates(hits)
    if not candidates or not weights:
        return Extraction([], "no_evidence", 0.0, Features(0, 0, 0))
    kind = asked(question)
    for candidate in candidates:
        candidate.lexical = _lexical(candidate, weights, kind, hits)
    shortlist = _shortlist(candidates, embedder)
    vector = embedder.embed_query(question) if question_vector is None else question_vector
    cosines = embedder.embed_passages([_in_context(c, hits) for c in shortlist]) @ vector
    for candidate, cosine in zip(shortlist, cosines, strict=True):
        candidate.cosine = float(cosine)
        candidate.score = candidate.cosine + 0.25 * candidate.lexical
    shortlist.sort(key=lambda c: -c.score)
    unknown = is_known is not None and _asks_about_unknown(question, hits, weights, is_known)
    features = replace(_features(hits, shortlist, weights), unknown=unknown)
    confidence = threshold.confidence(features)
    if confidence < threshold.cutoff:
        return Extraction([], "no_evidence", confidence, features)
    chosen = _with_neighbours(_choose(shortlist, most), candidates)
    return Extraction([_evidence(c, hits) for c in _in_order(chosen, hits)], "answered", confidence, features)


def _candidates(hits: Sequence[Hit]) -> list[_Candidate]:
    """The sentences of all hits; one that two overlapping chunks share counts once, where it stands whole."""
    found: dict[str, list[tuple[int, int]]] = {}
    candidates = []
    for index, hit in enumerate(hits):
        heading = frozenset(content_words(hit.section or ""))
        context = heading
        seen = found.setdefault(hit.version_id, [])
        pieces = _pieces(hit.text)
        for position, (a, b) in enumerate(pieces):
            start, end, text = hit.start + a, hit.start + b, hit.text[a:b]
            before_item = position + 1 < len(pieces) and _marker(hit.text[slice(*pieces[position + 1])]) is not None
            words = frozenset(content_words(text))
            title = _is_heading(text, hit.section)
            if title or text.endswith("?"):
                context = heading | words  # what follows answers it
            if any(s <= start and end <= e for s, e in seen) or len(text) > _LONGEST_SENTENCE:
                continue
            seen.append((start, end))
            leads = before_item and not title and (text[-1] == ":" or (_marker(text) is None and _is_open(text)))
            is_heading = title or text.endswith("?")
            candidates.append(_Candidate(index, position, start, end, text, words, context, is_heading, leads))
    return candidates


def _pieces(text: str) -> list[tuple[int, int]]:
    """The spans of the sentences; a list item with its further sentences, up to a limit, is one."""
    pieces: list[tuple[int, int]] = []
    for start, end in split_sentences(text):
        first, last = pieces[-1] if pieces else (start, start)
        if _ITEM.match(text, first) and "\n" not in text[last:start] and last < start and end - first <= _LONGEST_ITEM:
            pieces[-1] = (first, end)
        else:
            pieces.append((start, end))
    return pieces


def _marker(text: str) -> str | None:
    """What marks a list item, alike for all items of one level; None for other text."""
    match = _ITEM.match(text)
    return None if match is None else match["bullet"] or ("1" if match["number"] else "a")


def _is_open(text: str) -> bool:
    """No mark ends it: a lead-in, a table's row, a caption."""
    return text[-1] not in ".!?:;,。！？…)\"'”"


def _is_heading(text: str, section: str | None) -> bool:
    """Also a line of a table of contents."""
    if "...." in text or (section and " ".join(text.split()) in section.split(" > ")):
        return True
    words = text.split()
    if not _is_open(text) or " | " in text or _ITEM.match(text) or words[-1].lower() in STOP_WORDS:
        return False
    return len(words) <= 8 or text.isupper()


def _lexical(candidate: _Candidate, weights: Mapping[str, float], kind: Asked | None, hits: Sequence[Hit]) -> float:
    """Near [0, 1]: covered words, the hit's rank, and whether it looks like what was asked for."""
    own = coverage(weights, candidate.words)
    inherited = coverage(weights, candidate.context - candidate.words)
    score = own + 0.5 * inherited
    if fits(kind, candidate.text):
        score += 0.2 if kind in ("number", "time") else 0.6  # many sentences hold a number, few a dose
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
    return chosen or list(ranked[:1])


def _is_fragment(candidate: _Candidate) -> bool:
    return _is_open(candidate.text) and not candidate.leads and _marker(candidate.text) is None


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
        elif _marker(candidate.text) is not None:
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
    own, position = _marker(lead.text), lead.position + 1
    while (c := place.get((lead.hit, position))) is not None and _marker(c.text) not in (None, own):
        found.append(c)
        position += 1
    for following in range(position, position + 2):
        after = place.get((lead.hit, following))
        if after is None or not _AFTER_A_LIST.match(after.text):
            break
        found.append(after)
    return found


def _lead_in_of(item: _Candidate, place: Mapping[tuple[int, int], _Candidate]) -> list[_Candidate]:
    own, position = _marker(item.text), item.position - 1
    while (c := place.get((item.hit, position))) is not None:
        if c.leads and _marker(c.text) != own:
            return [c]
        if _marker(c.text) is None:
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
    return EvidenceSentence(hit.chunk_id, hit.version_id, candidate.start, candidate.end, candidate.text, score)
