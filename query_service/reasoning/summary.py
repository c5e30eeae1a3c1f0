"""An extractive summary without a model: whole sentences of the document, word for word, with their offsets.

Centrality after LexRank (Erkan & Radev 2004), topic-sensitive where the question has a topic (Otterbacher et al. 2005),
then maximal marginal relevance against repetition (Carbonell & Goldstein 1998). Power iteration is written out because
networkx needs scipy for its PageRank, and scipy is no dependency.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from foundation.ports.embeddings import Embedder
from foundation.types import ParsedDocument, Vector
from query_service.reasoning.question_words import content_words
from query_service.reasoning.summary_sections import Section, find_sections
from query_service.reasoning.summary_sentences import Sentence, sentences_of

MOST_EMBEDDED = 160
"""Sentences that are embedded; at 6,000 tokens a second a summary of any length stays near one second."""
MOST_TOKENS = 3500  # of those sentences together

_DAMPING = 0.85
_HEADING_LENGTH = 40  # characters of the heading that a vector takes in
_SIMILAR = 0.1  # cosine of centred vectors under which two sentences do not support each other
_MMR, _MMR_FOCUSED = 0.65, 0.85  # share of relevance; the rest is against repetition
_NEAR_BEST = 0.5  # of the best score, for a summary of one topic
_REPEATS = 0.9  # cosine over which two sentences say the same
_LEAD, _OPENS, _TITLE, _TOPIC, _TOPIC_IN_SECTION = 0.25, 0.10, 0.15, 0.8, 0.4
_DEPENDENT, _FRAGMENT = 0.3, 1.0


@dataclass(frozen=True, slots=True)
class Summary:
    """`sentences` in the order of the document. `sections`: what it was narrowed to, as the document calls it."""

    sentences: tuple[Sentence, ...]
    sections: tuple[str, ...] = ()
    read: int = 0
    """Sentences that were looked at."""
    section_missing: bool = False
    """A section was asked for by number that the document does not have; then there are no sentences."""


def summarize(
    parsed: ParsedDocument,
    embedder: Embedder,
    *,
    topic: str = "",
    section: str | None = None,
    titled: str = "",
    most: int | None = None,
) -> Summary:
    """4 to 7 sentences (all, if there are no more) of the document, or of the sections that the question names.

    topic: words of the question about the content; headings that hold them narrow the summary, else they weigh in the
    ranking. section: a section's number. titled: as find_sections has it. most: fewer sentences, where several
    documents are summed up.
    """
    sections = find_sections(parsed, topic, section, titled)
    if section is not None and not sections:
        return Summary((), section_missing=True)
    everything = sentences_of(parsed)
    pool = [s for s in everything if any(part.holds(s.start) for part in sections)] if sections else everything
    if not pool and sections and section is None:
        pool, sections = everything, ()
    if not pool:
        return Summary((), tuple(part.title for part in sections))
    pool = [replace(sentence, order=order) for order, sentence in enumerate(pool)]
    wanted = min(most or _length(len(pool)), len(pool))
    focused = bool(topic) and not sections
    shortlist = _shortlist(pool, topic, embedder)
    vectors = embedder.embed_passages([_in_context(s) for s in shortlist])
    relevance = _relevance(shortlist, vectors, topic, embedder) if topic else None
    scores = _scores(shortlist, vectors, parsed.title or "", relevance, focused=focused)
    parts = _parts(shortlist, sections, wanted)
    chosen: list[int] = []
    for part in parts:
        share = -(-wanted // len(parts))  # rounded up, so that no named section goes short
        chosen += [int(part[i]) for i in _choose(vectors[part], scores[part], share, focused=focused)]
    ordered = sorted((shortlist[i] for i in chosen), key=lambda s: s.start)
    return Summary(tuple(ordered), tuple(part.title for part in sections if part.title), len(pool))


def _length(sentences: int) -> int:
    return 4 if sentences < 15 else 5 if sentences < 50 else 6 if sentences < 150 else 7


def _parts(sentences: Sequence[Sentence], sections: Sequence[Section], wanted: int) -> list[npt.NDArray[np.intp]]:
    """Indices of the sentences of each named section; all together where there are more sections than sentences."""
    parts = [np.flatnonzero([section.holds(s.start) for s in sentences]) for section in sections]
    filled = [part for part in parts if part.size]
    return filled if 1 < len(filled) <= wanted else [np.arange(len(sentences))]


def _in_context(sentence: Sentence) -> str:
    return f"{sentence.heading[:_HEADING_LENGTH]}: {sentence.text}" if sentence.heading else sentence.text


def _shortlist(pool: Sequence[Sentence], topic: str, embedder: Embedder) -> list[Sentence]:
    """The sentences worth a vector, by place and words alone, from all parts of a long document."""
    wanted = set(content_words(topic))
    frequent = _frequent_words(pool)

    on_topic = _near_topic(pool, wanted)

    def cheap(index: int) -> float:
        sentence = pool[index]
        words = set(content_words(sentence.text))
        central = sum(frequent.get(word, 0.0) for word in words) / max(4, len(words))
        place = 0.3 * (sentence.place == 0) - 0.5 * sentence.fragment - 0.2 * sentence.dependent
        return central + place + 2 * float(on_topic[index])

    chosen: list[Sentence] = []
    tokens = 0
    for index in sorted(range(len(pool)), key=lambda i: (-cheap(i), i)):
        sentence = pool[index]
        length = embedder.count_tokens(_in_context(sentence)) + 2
        if chosen and (len(chosen) == MOST_EMBEDDED or tokens + length > MOST_TOKENS):
            break
        chosen.append(sentence)
        tokens += length
    return sorted(chosen, key=lambda s: s.start)


def _frequent_words(pool: Sequence[Sentence]) -> dict[str, float]:
    """Word → in how many sentences it stands, the most frequent one is 1 (Nenkova & Vanderwende 2005)."""
    counts: dict[str, int] = {}
    for sentence in pool:
        for word in set(content_words(sentence.text)):
            counts[word] = counts.get(word, 0) + 1
    top = max(counts.values(), default=1)
    return {word: count / top for word, count in counts.items()}


def _scores(
    sentences: Sequence[Sentence], vectors: Vector, title: str, relevance: Vector | None, *, focused: bool
) -> Vector:
    """Centrality in [0, 1] with bonuses for place and topic, and penalties for what does not stand alone."""
    score = _spread(_centrality(vectors, relevance if focused else None))
    if relevance is not None:
        score = 0.4 * score + _TOPIC * relevance if focused else score + _TOPIC_IN_SECTION * relevance
    titled = set(content_words(title))
    for i, sentence in enumerate(sentences):
        own = set(content_words(sentence.text))
        score[i] += _LEAD * max(0.0, 1 - sentence.order / 4) * (not focused)
        score[i] += _OPENS * (sentence.place == 0)
        score[i] += _TITLE * len(own & titled) / max(1, len(titled))
        score[i] -= _DEPENDENT * sentence.dependent + _FRAGMENT * sentence.fragment
    return np.asarray(score, np.float32)


def _relevance(sentences: Sequence[Sentence], vectors: Vector, topic: str, embedder: Embedder) -> Vector:
    """In [0, 1]: nearness to the topic in meaning and in words. What stands among sentences of the topic is of the
    topic too, though it does not repeat its words."""
    near = vectors @ embedder.embed_query(topic)
    own = 0.6 * _spread(near) + 0.4 * _near_topic(sentences, set(content_words(topic)))
    padded = np.pad(own, 2)
    around = np.sort(np.stack([padded[k : k + len(own)] for k in (0, 1, 3, 4)]), axis=0)
    return np.asarray(0.6 * own + 0.4 * around[-2:].mean(axis=0), np.float32)


def _near_topic(sentences: Sequence[Sentence], wanted: set[str]) -> Vector:
    """The share of the topic's words that each sentence or its heading holds."""
    if not wanted:
        return np.zeros(len(sentences), np.float32)
    shares = [len(wanted & set(content_words(f"{s.heading or ''} {s.text}"))) / len(wanted) for s in sentences]
    return np.array(shares, np.float32)


def _centrality(vectors: Vector, relevance: Vector | None) -> Vector:
    """The stationary distribution of a walk from sentence to similar sentence, returning to relevant ones."""
    count = len(vectors)
    if count < 3:
        return np.full(count, 1.0, np.float32)
    centred = vectors - vectors.mean(axis=0)
    centred /= np.maximum(np.linalg.norm(centred, axis=1, keepdims=True), 1e-9)
    similar = centred @ centred.T
    similar[similar < _SIMILAR] = 0.0
    np.fill_diagonal(similar, 0.0)
    sums = similar.sum(axis=1, keepdims=True)
    walk = np.where(sums > 0, similar / np.maximum(sums, 1e-9), 1.0 / count)
    back = np.full(count, 1.0) if relevance is None else np.maximum(relevance, 0.0) + 1e-6
    back = back / back.sum()
    rank = back
    for _ in range(50):
        rank = _DAMPING * (rank @ walk) + (1 - _DAMPING) * back
    return np.asarray(rank, np.float32)


def _spread(values: Vector) -> Vector:
    low, high = float(values.min()), float(values.max())
    return (values - low) / (high - low) if high > low else np.zeros_like(values)


def _choose(vectors: Vector, scores: Vector, wanted: int, *, focused: bool) -> list[int]:
    """Maximal marginal relevance; never two sentences that say the same. focused: nothing far from the topic."""
    similar = vectors @ vectors.T
    weight = _MMR_FOCUSED if focused else _MMR
    allowed = scores >= _NEAR_BEST * scores.max() if focused else np.full(len(scores), True)
    chosen = [int(scores.argmax())]
    while len(chosen) < wanted:
        nearest = similar[:, chosen].max(axis=1)
        value = np.where(allowed & (nearest < _REPEATS), weight * scores - (1 - weight) * nearest, -np.inf)
        value[chosen] = -np.inf
        best = int(value.argmax())
        if not np.isfinite(value[best]):
            break
        chosen.append(best)
    return chosen
