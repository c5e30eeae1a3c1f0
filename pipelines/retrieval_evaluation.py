"""Whether a new search index finds what the one that serves finds: the gate before the alias moves."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml

from foundation.ports.embeddings import Embedder
from foundation.ports.search import SearchIndex
from foundation.registry import corpus
from foundation.registry.artefacts import chunks_of
from foundation.registry.database import transaction
from foundation.sentences import split_sentences
from foundation.stores import Stores
from foundation.types import ClaimedVersion, Hit, SearchFilter
from pipelines.rebuild import Rebuild

_SAMPLES = Path(__file__).parent.parent / "samples" / "questions.yaml"
AT = 5
"""A hit stands among the first so many."""
_MOST_KNOWN_ITEMS = 200
_LEAST_QUESTIONS = 5


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    is_hit: Callable[[Hit], bool]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Hit rates at AT of both indexes over the same questions."""

    kind: str
    questions: int
    serving: float
    new: float
    allowed_loss: float

    @property
    def passed(self) -> bool:
        return self.new >= self.serving - self.allowed_loss - 1e-9

    @property
    def reason(self) -> str:
        return (
            f"Of {self.questions} {self.kind} the new index finds {self.new:.1%} among the first {AT}, the one that"
            f" answers {self.serving:.1%}; at most {self.allowed_loss:.0%} may be lost."
        )

    def report(self) -> dict[str, Any]:
        return {**asdict(self), "passed": self.passed}


def evaluate(stores: Stores, rebuild: Rebuild) -> Evaluation:
    """Over the questions of the settings whose file is here; where those are too few, over sentences of the corpus."""
    with transaction(stores.engine) as connection:
        answering = corpus.answering_versions(connection)
    limits = stores.settings.evaluation
    kind, questions = "questions", _golden(limits.questions or _SAMPLES, answering)
    if len(questions) < _LEAST_QUESTIONS:
        kind, questions = "sentences of the corpus", _known_items(stores, answering)
    everything = SearchFilter(tuple(sorted({entry for version in answering for entry in version.acl})))
    serving, new = (
        _hit_rate(questions, index, embedder, everything, stores.settings.search.dense_weight)
        for index, embedder in ((stores.search.serving, stores.embedder), (rebuild.index, rebuild.embedder))
    )
    return Evaluation(kind, len(questions), serving, new, limits.allowed_loss)


def _hit_rate(
    questions: Sequence[Question], index: SearchIndex, embedder: Embedder, filter: SearchFilter, weight: float
) -> float:
    if not questions:
        return 1.0
    hits = 0
    for question in questions:
        found = index.search(question.text, embedder.embed_query(question.text), filter, k=AT, dense_weight=weight)
        hits += any(question.is_hit(hit) for hit in found)
    return hits / len(questions)


def _golden(path: Path, answering: Sequence[ClaimedVersion]) -> list[Question]:
    """Questions whose answer stands in the text of a file that is here: rag questions with facts and a file."""
    if not path.is_file():
        return []
    versions = {version.file_name: version.version_id for version in answering}
    entries = yaml.safe_load(path.read_text(encoding="utf-8"))
    return [
        Question(entry["question"], _holds(versions[entry["file"]], entry["facts"]))
        for entry in entries
        if entry.get("route") == "rag" and entry.get("facts") and entry.get("file") in versions
    ]


def _holds(version_id: str, facts: Sequence[str | list[str]]) -> Callable[[Hit], bool]:
    """Whether a hit is of this version and shows one of the facts."""
    wanted = [_folded(one) for fact in facts for one in ([fact] if isinstance(fact, str) else fact)]
    return lambda hit: hit.version_id == version_id and any(fact in _folded(hit.text) for fact in wanted)


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _known_items(stores: Stores, answering: Sequence[ClaimedVersion]) -> list[Question]:
    """One sentence from the middle of each version, in an order that only the contents decide; it must find itself."""
    contents = {version.version_id: version for version in answering}
    by_hash = sorted(contents.values(), key=lambda v: hashlib.sha256(v.version_id.encode()).digest())
    questions = []
    for version in by_hash[:_MOST_KNOWN_ITEMS]:
        with transaction(stores.engine) as connection:
            chunks = chunks_of(connection, version.version_id)
        middle = chunks[len(chunks) // 2]
        start, end = middle["start_char"], middle["end_char"]
        text = stores.artefacts.text(version.version_id, middle["parser"])[start:end]
        longest = max((text[one:other] for one, other in split_sentences(text)), key=len, default=text)
        questions.append(Question(longest, _is_passage(version.version_id, start, end)))
    return questions


def _is_passage(version_id: str, start: int, end: int) -> Callable[[Hit], bool]:
    return lambda hit: hit.version_id == version_id and hit.start < end and start < hit.end
