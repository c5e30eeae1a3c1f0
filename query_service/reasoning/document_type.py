"""What kind of document a text is, without a model: its distance to example passages, cue phrases, its look.

Nearest class mean in the embedding space, centred on the mean of all examples (Rocchio's classifier; Manning et al.
2008, chapter 14): the centring takes out what all healthcare texts share. Measured on files labelled by eye: 166 of the
184 with which weights and cues were set, 91 of 100 (patient information, abstracts, mails) that came after.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

import numpy as np
import yaml

from foundation.errors import ConfigurationError
from foundation.ports.embeddings import Embedder
from foundation.sentences import split_sentences
from foundation.types import Vector

READ_PASSAGES = 3
"""A document says what it is in its first pages; so many chunks are read."""

_DENSE, _CUES, _TITLE, _SHAPE = 7.0, 1.0, 0.4, 2.0
_UNSURE = 0.25  # probability under which the answer is that it is not clear
_OPENING = 4000  # characters in which cues count
_TITLE_LENGTH = 120
_MOST_SENTENCES = 16
_BLANKS = re.compile(r"_{3,}|[☐☒☑□❏]|\[[ xX]?\](?!\()")


@dataclass(frozen=True, slots=True)
class DocumentType:
    """One type of domains/<domain>/document_types.yaml, which describes the fields."""

    name: str
    label: str
    description: str
    aliases: tuple[str, ...] = ()
    cues: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    shape: str | None = None


@dataclass(frozen=True, slots=True)
class Passage:
    """The start of a document, in pieces: parsed text[start : start + len(text)] == text."""

    start: int
    text: str


@dataclass(frozen=True, slots=True)
class Ranked:
    type: DocumentType
    probability: float


@dataclass(frozen=True, slots=True)
class Classification:
    """`ranked` best first; `sure` says whether its first may be given as the answer. Holds no text."""

    ranked: tuple[Ranked, ...]
    sure: bool
    evidence: tuple[int, int] | None = None
    """The sentence of the parsed text that shows the first type best."""

    @property
    def best(self) -> DocumentType:
        return self.ranked[0].type


def load_types(path: Path) -> tuple[DocumentType, ...]:
    """ConfigurationError for a field that is missing or unknown."""
    with path.open(encoding="utf-8") as file:
        entries = yaml.safe_load(file)
    try:
        return tuple(_type(entry) for entry in entries["types"])
    except (KeyError, TypeError) as error:
        raise ConfigurationError(f"{path}: {error}", fix="Its head describes the fields of a type.") from error


def _type(entry: Mapping[str, Any]) -> DocumentType:
    fields: dict[str, Any] = {k: tuple(map(str, v)) if isinstance(v, list) else v for k, v in entry.items()}
    return DocumentType(**fields)


@dataclass
class TypeClassifier:
    """The types of a domain, embedded once. Thread-safe after it was made."""

    types: tuple[DocumentType, ...]
    embedder: Embedder
    _mean: Vector = field(init=False, repr=False)
    _means: Vector = field(init=False, repr=False)
    """float32 (types, dimension): the unit direction from the mean of all examples to the mean of the type's."""
    _cues: list[list[re.Pattern[str]]] = field(init=False, repr=False)
    _titles: list[list[re.Pattern[str]]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        examples = [(i, text) for i, t in enumerate(self.types) for text in (t.description, *t.examples)]
        vectors = self.embedder.embed_passages([text for _, text in examples])
        owners = np.array([i for i, _ in examples])
        self._mean = vectors.mean(axis=0)
        self._means = _unit(np.stack([vectors[owners == i].mean(axis=0) for i in range(len(self.types))]) - self._mean)
        self._cues = [[_phrase(cue) for cue in t.cues] for t in self.types]
        self._titles = [[_phrase(word) for word in (*t.titles, *t.aliases)] for t in self.types]

    def classify(self, passages: Sequence[Passage], *, title: str | None, file_name: str) -> Classification:
        """The types of a document by its first READ_PASSAGES passages (one at least), with probabilities."""
        read = passages[:READ_PASSAGES]
        vectors = self.embedder.embed_passages([passage.text for passage in read])
        dense = (_unit(vectors - self._mean) @ self._means.T).mean(axis=0)
        opening = "\n".join(passage.text for passage in read)[:_OPENING]
        cues = np.array([sum(bool(cue.search(opening)) for cue in of_type) for of_type in self._cues])
        head = _head(title, file_name, opening)
        titles = np.array([any(word.search(head) for word in of_type) for of_type in self._titles])
        looks = {"table": _table_share(opening), "blanks": min(1.0, len(_BLANKS.findall(opening)) / 6)}
        shapes = np.array([looks[t.shape] if t.shape else 0.0 for t in self.types])
        logits = _DENSE * dense + _CUES * np.log1p(cues) + _TITLE * titles + _SHAPE * shapes
        probabilities = np.exp(logits - logits.max())
        probabilities /= probabilities.sum()
        order = np.argsort(-probabilities)
        ranked = tuple(Ranked(self.types[i], float(probabilities[i])) for i in order)
        return Classification(ranked, ranked[0].probability >= _UNSURE, self._evidence(read, int(order[0])))

    def _evidence(self, passages: Sequence[Passage], index: int) -> tuple[int, int] | None:
        """The sentence with most of the type's cues and nearest to its examples."""
        spans = [(p.start + a, p.start + b, p.text[a:b]) for p in passages for a, b in split_sentences(p.text)]
        spans = [span for span in spans if len(span[2].split()) >= 3 and len(span[2]) <= 600] or spans
        cued = [sum(bool(c.search(text)) for c in (*self._cues[index], *self._titles[index])) for *_, text in spans]
        shortlist = sorted(range(len(spans)), key=lambda i: (-cued[i], i))[:_MOST_SENTENCES]
        if not shortlist:
            return None
        vectors = _unit(self.embedder.embed_passages([spans[i][2] for i in shortlist]) - self._mean)
        near = vectors @ self._means[index]
        best = max(range(len(shortlist)), key=lambda k: float(near[k]) + 0.15 * min(3, cued[shortlist[k]]))
        return spans[shortlist[best]][:2]


def _head(title: str | None, file_name: str, opening: str) -> str:
    name = re.sub(r"[\W_]+", " ", PurePath(file_name).stem)
    return " \n ".join([title or "", name, " ".join(opening[:_TITLE_LENGTH].split())])


def _table_share(text: str) -> float:
    """The share of lines that are rows: cells parted by bars or commas, or numbers for the most part."""
    lines = [line for line in text.splitlines() if line.strip()]
    return sum(map(_is_row, lines)) / len(lines) if lines else 0.0


def _is_row(line: str) -> bool:
    words = line.replace(",", " ").split()
    numbers = sum(any(c.isdigit() for c in word) for word in words)
    return " | " in line or len(re.findall(r",(?=\S)", line)) >= 2 or (len(words) > 2 and 2 * numbers > len(words))


def _phrase(text: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(text)}(?!\w)".replace(r"\ ", r"[\s_-]+"), re.IGNORECASE)


def _unit(vectors: Vector) -> Vector:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-9)
