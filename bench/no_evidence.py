"""When there is no evidence: fitted and measured by leaving out each question's own document.

python -m bench.no_evidence           # figures with the coefficients in use, on the held-out half
python -m bench.no_evidence fit       # fits them anew and writes query_service/reasoning/evidence_coefficients.py

Every question is asked twice: of the whole index, and of the index without what answers it. "document" leaves out the
documents of the same topic and question type, "topic" all documents of the topic; so a neighbour may still hold the
answer, above all in MedQuAD, where several institutes describe one disease. Questions about general knowledge are asked
of the medical indices.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import random
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import platformdirs

from bench.embedding import DATA
from foundation.adapters.embedded.embeddings import OnnxEmbedder
from foundation.adapters.embedded.model_files import SOURCES
from foundation.adapters.embedded.search import EmbeddedSearchIndex
from foundation.ids import CHUNKER
from foundation.types import Element, Hit, IndexedChunk, ParsedDocument, SearchFilter, Vector
from pipelines.chunking import chunk_document, embedding_text
from query_service.reasoning.evidence_model import Thresholds
from query_service.reasoning.extraction import extract

COMMAND = "python -m bench.no_evidence"
OUT = Path(__file__).parents[1] / "query_service" / "reasoning" / "evidence_coefficients.py"
ANSWERED = 0.95
"""The cutoff lets this share of answerable questions of the fitting half through."""
Fitted = tuple[float, tuple[float, ...], float]
_K = 8
_ALWAYS = Thresholds(0.0, (0.0,) * 4, 0.0)
_ELSEWHERE = [
    "What is the capital of France?",
    "Who won the football World Cup in 1998?",
    "How do I change the oil of a diesel engine?",
    "What is the exchange rate of the yen today?",
    "Write a poem about the sea.",
    "Which wine goes with grilled salmon?",
    "How tall is the Eiffel Tower?",
    "What is our parental leave policy?",
    "When does the cafeteria open on Sundays?",
    "Who is the chief executive of the hospital group?",
    "Was ist die Hauptstadt von Frankreich?",
    "Wie wechsle ich das Öl eines Dieselmotors?",
    "¿Cuál es la capital de Francia?",
    "¿Cuánto cuesta un billete de tren a Madrid?",
    "Quelle est la hauteur de la tour Eiffel ?",
    "Qual è il miglior ristorante di Roma?",
    "法国的首都是哪里？",
    "フランスの首都はどこですか。",
    "Какая столица Франции?",
    "asdf qwer zxcv",
]


@dataclass
class Question:
    text: str
    document_twin: frozenset[str] = frozenset()
    """Version ids without which the question has no answer."""
    topic_twin: frozenset[str] = frozenset()
    gold: frozenset[str] = frozenset()
    group: str = ""
    spans: tuple[tuple[str, int, int], ...] = ()
    """Supporting sentences (version, start, end), where the data names them."""


@dataclass
class Corpus:
    name: str
    documents: dict[str, ParsedDocument]
    questions: list[Question] = field(default_factory=list)


@dataclass
class Row:
    corpus: str
    case: str
    answerable: bool
    held_out: bool
    features: tuple[float, ...]
    admitted: bool = True
    """Nothing in the question speaks against the best sentences (query_service/reasoning/demands.py)."""
    complete: bool = False
    """A sentence answers by itself, whatever the features say."""
    own_document: bool = False
    supporting_first: bool | None = None
    supporting_any: bool | None = None


def run(model: str = "bge-small-en-v1.5") -> dict[str, dict[str, Any]]:
    rows = _rows(model)
    seconds = _seconds(OnnxEmbedder(model))
    figures = _figures(rows, Thresholds.for_model(model), COMMAND)
    for name, value in (("p50", np.median(seconds)), ("p95", np.quantile(seconds, 0.95))):
        figures[f"extraction of 8 hits, {name}"] = _figure(1000 * float(value), "ms", COMMAND)
    return figures


# Data


def pubmedqa() -> Corpus:
    folder = DATA / "pubmedqa" / "beir"
    documents = {d["_id"]: _parsed(d["text"], d.get("title") or None) for d in _jsonl(folder / "corpus.jsonl")}
    corpus = Corpus("pubmedqa", documents)
    for query in _jsonl(folder / "queries_dev.jsonl")[:300]:
        own = frozenset([query["_id"]])
        corpus.questions.append(Question(query["text"], own, frozenset(), own, query["_id"]))
    return corpus


def medquad(topics: int = 400, questions: int = 300) -> Corpus:
    with gzip.open(DATA / "medquad_liveqa" / "medquad_pairs.jsonl.gz", "rt") as lines:
        pairs = [pair for pair in map(json.loads, lines) if pair["answer"].strip()]
    chance = random.Random(7)
    chosen = set(chance.sample(sorted({p["focus"].lower() for p in pairs}), topics))
    pairs = [p for p in pairs if p["focus"].lower() in chosen]
    corpus = Corpus("medquad", {p["_id"]: _parsed(p["answer"], p["focus"]) for p in pairs})
    for pair in chance.sample(pairs, min(questions, len(pairs))):
        topic = [p for p in pairs if p["focus"].lower() == pair["focus"].lower()]
        same = frozenset(p["_id"] for p in topic if p["qtype"] == pair["qtype"])
        everything = frozenset(p["_id"] for p in topic)
        corpus.questions.append(Question(pair["question"], same, everything, same, pair["focus"].lower()))
    return corpus


def hotpotqa() -> Corpus:
    folder = DATA.parent / "graph" / "multihop_text" / "hotpotqa100"
    passages: dict[str, list[str]] = json.loads((folder / "corpus.json").read_text())
    corpus = Corpus(
        "hotpotqa", {title: _parsed("".join(s), title) for title, s in passages.items() if "".join(s).strip()}
    )
    for number, item in enumerate(json.loads((folder / "questions.json").read_text())):
        spans = []
        for title, sentence in item["supporting_facts"]:
            if title in passages and sentence < len(passages[title]):
                before = sum(map(len, passages[title][:sentence]))
                spans.append((title, before, before + len(passages[title][sentence])))
        own = frozenset(title for title, _ in item["supporting_facts"])
        corpus.questions.append(Question(item["question"], own, frozenset(), own, str(number), tuple(spans)))
    return corpus


# Rows


class _Remembering(OnnxEmbedder):
    """The twins of a question share most sentences; each is embedded once. No timing is taken with it."""

    def __init__(self, model: str) -> None:
        super().__init__(model)
        self._known: dict[str, Vector] = {}

    def embed_passages(self, texts: Sequence[str]) -> Vector:
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        self._known.update(zip(new, super().embed_passages(new), strict=True))
        return np.array([self._known[text] for text in texts], np.float32).reshape(len(texts), self.dimension)


def _rows(model: str) -> list[Row]:
    embedder = _Remembering(model)
    corpora = [pubmedqa(), medquad(), hotpotqa()]
    general = corpora[2].questions
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        for corpus in corpora:
            index = _index(Path(folder), corpus, embedder)
            for question in corpus.questions:
                rows.extend(_twins(index, corpus, question, embedder))
            if corpus.name != "hotpotqa":
                rows.extend(_foreign(index, corpus.name, "general knowledge", general, embedder))
                elsewhere = [Question(text, group=text) for text in _ELSEWHERE]
                rows.extend(_foreign(index, corpus.name, "elsewhere", elsewhere, embedder))
            index.close()
            print(f"{model} {corpus.name}: {len(rows)} rows so far", file=sys.stderr, flush=True)
    return rows


def _twins(index: EmbeddedSearchIndex, corpus: Corpus, question: Question, embedder: OnnxEmbedder) -> Iterator[Row]:
    vector = embedder.embed_query(question.text)
    found = index.search(question.text, vector, SearchFilter(("public",)), k=60)
    if not question.gold & {hit.version_id for hit in found[:_K]}:
        return  # the search missed it: not a question of whether the evidence is good
    yield _row(index, corpus.name, "answerable", question, found, vector, embedder)
    for case, left_out in (("document", question.document_twin), ("topic", question.topic_twin)):
        if left_out:
            rest = [hit for hit in found if hit.version_id not in left_out]
            yield _row(index, corpus.name, f"without {case}", question, rest, vector, embedder, left_out)


def _foreign(
    index: EmbeddedSearchIndex, corpus: str, case: str, questions: Iterable[Question], embedder: OnnxEmbedder
) -> Iterator[Row]:
    for question in questions:
        vector = embedder.embed_query(question.text)
        found = index.search(question.text, vector, SearchFilter(("public",)), k=_K)
        yield _row(index, corpus, case, question, found, vector, embedder)


def _row(
    index: EmbeddedSearchIndex,
    corpus: str,
    case: str,
    question: Question,
    found: Sequence[Hit],
    vector: Vector,
    embedder: OnnxEmbedder,
    left_out: frozenset[str] = frozenset(),
) -> Row:
    def is_known(word: str) -> bool:
        holders = index.search(word, None, SearchFilter(("public",)), k=60)
        return any(hit.version_id not in left_out for hit in holders)

    result = extract(question.text, found[:_K], embedder, threshold=_ALWAYS, question_vector=vector, is_known=is_known)
    held_out = hashlib.sha256(question.group.encode()).digest()[0] % 2 == 1
    row = Row(corpus, case, case == "answerable", held_out, result.features.values())
    row.admitted, row.complete = result.status == "answered", result.complete
    best = sorted(result.sentences, key=lambda s: -s.score)
    row.own_document = bool(best) and best[0].version_id in question.gold
    if question.spans:
        supports = [
            any(s.version_id == v and s.start < end and start < s.end - 1 for v, start, end in question.spans)
            for s in best
        ]
        row.supporting_first, row.supporting_any = supports[:1] == [True], any(supports)
    return row


def _index(folder: Path, corpus: Corpus, embedder: OnnxEmbedder) -> EmbeddedSearchIndex:
    index = EmbeddedSearchIndex(folder, corpus.name, embedder.dimension)
    chunked = {v: chunk_document(p, version_id=v, embedder=embedder) for v, p in corpus.documents.items()}
    vectors = _vectors(corpus.name, [embedding_text(c) for chunks in chunked.values() for c in chunks], embedder)
    row = 0
    for version, chunks in chunked.items():
        batch = [IndexedChunk(c, vectors[row + i], ("public",), (version,)) for i, c in enumerate(chunks)]
        index.write_version(version, batch)
        row += len(chunks)
    return index


def _vectors(name: str, texts: list[str], embedder: OnnxEmbedder) -> Vector:
    """Embedded once: minutes for these corpora, so they are kept in the user's cache."""
    digest = hashlib.sha256("\0".join([embedder.revision, CHUNKER, *texts]).encode()).hexdigest()[:16]
    path = Path(platformdirs.user_cache_dir("askline")) / "bench" / f"{name}-{digest}.npy"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, embedder.embed_passages(texts))
    vectors: Vector = np.load(path)
    return vectors


# Fit and figures


def fit() -> None:
    """Write the coefficients of both models, and of words alone, from the fitting half."""
    fitted: dict[str, Fitted] = {}
    lexical: Fitted | None = None
    for model in SOURCES:
        rows = _rows(model)
        fitted[model] = _fit(rows, (0, 1, 2, 3))
        lexical = lexical or _fit(rows, (2, 3))
        print(json.dumps(_figures(rows, Thresholds(*fitted[model]), COMMAND), indent=1))
    _write(fitted, lexical)


def _write(fitted: dict[str, Fitted], lexical: Fitted | None) -> None:
    lines = [f"    {json.dumps(model)}: {values!r},\n" for model, values in fitted.items()]
    shape = "tuple[float, tuple[float, ...], float]"
    OUT.write_text(
        f'"""Made by `{COMMAND} fit`: intercept, coefficients in the order of Features, cutoff."""\n\n'
        f"COEFFICIENTS: dict[str, {shape}] = {{\n{''.join(lines)}}}\n"
        f"LEXICAL_ONLY: {shape} = {lexical!r}\n"
    )


def _fit(rows: Sequence[Row], columns: Sequence[int]) -> Fitted:
    """Ridge logistic regression by Newton steps; both classes of each corpus weigh the same."""
    training = [row for row in rows if not row.held_out]
    x = np.array([[1.0, *(row.features[i] for i in columns)] for row in training])
    y = np.array([row.answerable for row in training], float)
    groups = [(row.corpus, row.answerable) for row in training]
    weight = np.array([1 / groups.count(group) for group in groups])
    weight *= len(weight) / weight.sum()
    beta = np.zeros(x.shape[1])
    ridge = np.eye(x.shape[1])
    ridge[0, 0] = 0
    for _ in range(30):
        p = 1 / (1 + np.exp(-x @ beta))
        gradient = x.T @ (weight * (y - p)) - ridge @ beta
        beta += np.linalg.solve((x * (weight * p * (1 - p))[:, None]).T @ x + ridge, gradient)
    coefficients = [0.0] * 4
    for i, value in zip(columns, beta[1:], strict=True):
        coefficients[i] = round(float(value), 3)
    intercept = round(float(beta[0]), 3)
    p = 1 / (1 + np.exp(-x @ beta))
    cutoff = min(
        np.quantile(p[(y == 1) & (np.array([r.corpus for r in training]) == c)], 1 - ANSWERED) for c in MEDICAL
    )
    return intercept, tuple(coefficients), round(float(cutoff), 3)


MEDICAL = ("pubmedqa", "medquad")


def _figures(rows: Sequence[Row], thresholds: Thresholds, command: str) -> dict[str, dict[str, Any]]:
    figures: dict[str, dict[str, Any]] = {}

    def add(name: str, value: Any, unit: str) -> None:
        figures[name] = _figure(float(value), unit, command)

    held = [row for row in rows if row.held_out]
    confidence = {id(row): _confidence(thresholds, row) for row in held}
    for corpus in dict.fromkeys(row.corpus for row in held):
        mine = [row for row in held if row.corpus == corpus]
        answerable = np.array([confidence[id(r)] for r in mine if r.answerable])
        given = [_answers(r, confidence[id(r)], thresholds) for r in mine if r.answerable]
        add(f"{corpus}: answered, of {len(answerable)} answerable", np.mean(given), "share")
        add(f"{corpus}: the same by the model alone", np.mean(answerable >= thresholds.cutoff), "share")
        for case in dict.fromkeys(row.case for row in mine if not row.answerable):
            other = np.array([confidence[id(r)] for r in mine if r.case == case])
            refused = [not _answers(r, confidence[id(r)], thresholds) for r in mine if r.case == case]
            add(f"{corpus}: refused, of {len(other)} {case}", np.mean(refused), "share")
            add(f"{corpus}: refused by the model alone, {case}", np.mean(other < thresholds.cutoff), "share")
            add(f"{corpus}: AUROC against {case}", _auroc(answerable, other), "AUROC")
        own = [r.own_document for r in mine if r.answerable]
        add(f"{corpus}: best sentence from the question's own document", np.mean(own), "share")
    supported = [r for r in rows if r.answerable and r.supporting_first is not None]
    add("hotpotqa: best sentence is a supporting one", np.mean([r.supporting_first for r in supported]), "share")
    add("hotpotqa: a supporting sentence among those given", np.mean([r.supporting_any for r in supported]), "share")
    return figures


def _answers(row: Row, confidence: float, thresholds: Thresholds) -> bool:
    """As extract() decides, which was asked with a threshold that lets everything through."""
    return row.admitted and (row.complete or confidence >= thresholds.cutoff)


def _figure(value: float, unit: str, command: str) -> dict[str, Any]:
    return {"value": round(value, 3), "unit": unit, "bare": None, "ratio": None, "command": command}


def _seconds(embedder: OnnxEmbedder) -> list[float]:
    """Of 40 extractions from PubMedQA's abstracts, the question's vector at hand."""
    corpus = pubmedqa()
    seconds = []
    with tempfile.TemporaryDirectory() as folder:
        index = _index(Path(folder), corpus, embedder)
        for question in corpus.questions[:40]:
            vector = embedder.embed_query(question.text)
            found = index.search(question.text, vector, SearchFilter(("public",)), k=_K)
            started = time.perf_counter()
            extract(question.text, found, embedder, threshold=_ALWAYS, question_vector=vector)
            seconds.append(time.perf_counter() - started)
        index.close()
    return seconds


def _confidence(thresholds: Thresholds, row: Row) -> float:
    total = thresholds.intercept + float(np.dot(thresholds.coefficients, row.features))
    return float(1 / (1 + np.exp(-total)))


def _auroc(positive: npt.NDArray[np.float64], negative: npt.NDArray[np.float64]) -> float:
    """Share of pairs in the right order, ties half (Hanley and McNeil 1982)."""
    difference = positive[:, None] - negative[None, :]
    return float(np.mean(difference > 0) + 0.5 * np.mean(difference == 0))


def _parsed(text: str, title: str | None) -> ParsedDocument:
    return ParsedDocument(text, [Element("paragraph", 0, len(text))], "bench/1", title=title)


def _jsonl(path: Path) -> list[dict[str, Any]]:
    with path.open() as lines:  # splitlines would also cut at U+2028
        return [json.loads(line) for line in lines]


if __name__ == "__main__":
    if sys.argv[1:] == ["fit"]:
        fit()
    else:
        print(json.dumps(run(), indent=1))
