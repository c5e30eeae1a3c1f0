"""Which documents a question is about, and which part of them: by name, by title, by kind, else by retrieval.

Only documents that are handed in are ever named, so what the principal may not see cannot show in a reason.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import PurePath

from foundation.registry.openings import Opening
from foundation.types import Hit
from query_service.reasoning.question_words import STOP_WORDS, stem

_MOST_NAMED = 5
_SHARE_OF_HITS = 0.5  # of the summed scores of the hits, for a document that nobody named
_LEAST_COSINE = 0.6
"""Dense score under which a hit is no ground to take a document. Measured with bge-small over samples/: best hits of
questions on other fields .47 to .54, of questions on the documents' topics .70 and more."""
_RIVAL = 0.95  # of the best score: nearer ones may be meant as well
_LEAST_COVERAGE = 0.5  # of a name's weight, for a name that is not said whole

_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_FILE = re.compile(
    r"[^\s\"'“”‘’«»,;:()\[\]?]+\.(?:pdf|docx?|txt|md|csv|tsv|xlsx?|ods|odt|rtf|html?|eml|msg|pptx?)\b", re.I
)
_QUOTED = re.compile(r"[\"“”«»]([^\"“”«»]{2,200})[\"“”«»]|(?<!\w)['‘]([^'‘’]{2,200})['’](?!\w)")
_NUMBERED = re.compile(
    r"\b(?:section|chapter|part|appendix|annex|paragraph|clause|article|§)\s*(\d+(?:\.\d+)*|[A-Z])\b", re.I
)
_DEFINITE = re.compile(r"\b(?:the|this|that|our|my|your)\b", re.I)
_SECTION_SAID = re.compile(
    r"\bthe\s+((?:[\w'’-]+\s+){1,6}?)(?:section|chapter)\b|"
    r"\b(?:section|chapter)\s+(?:on|about|called|titled|named)\s+(.{3,80}?)(?=\s+(?:of|in|from)\s+the\b|[?.!]|$)",
    re.I,
)
_LENGTH = re.compile(
    r"\b(?:in|into|as|to|with)\s+(?:about |at most |up to )?\w+\s+(?:sentences?|bullets?|points?|lines?|words?)\b", re.I
)
_POINTING = re.compile(
    r"\b(?:this|that|the (?:selected|attached|uploaded|current|same))\s+(?:document|file|pdf|text)\b|"
    r"^\W*(?:summari[sz]e|classify)\s+(?:it|this|that)\b|\bis (?:it|this|that)\b",
    re.I,
)
_ASKING = frozenset(
    stem(word)
    for word in """
    summarize summarise summary summaries summarization overview outline gist abstract digest recap brief briefly short
    concise sentence sentences bullet bullets point points main key most important essential essentials takeaway
    takeaways highlights content contents cover covers covered discuss discusses state states advice recommendation
    recommendations classify classification category categories kind type sort class belong belongs categorize label
    document documents file files pdf docx txt csv xlsx text page pages title called named name section chapter part
    appendix annex paragraph clause article whole entire full provide create write make read regarding concerning
    according present compare comparison contain contains sum
    """.split()
)


@dataclass(frozen=True, slots=True)
class Target:
    """`documents` are what the question is about; none when it cannot be told, then `reason` says why.

    ambiguous: any one of them may be meant. topic: the words of the question that name no document and do no asking.
    titled: those that are of the document's title but not of its file name; a title may be only its first heading.
    section: the number of a section (`6`, `3.2`, `B`) that the question asks for. named: false when only retrieval
    found the documents.
    """

    documents: tuple[Opening, ...]
    topic: str = ""
    titled: str = ""
    section: str | None = None
    ambiguous: bool = False
    reason: str | None = None
    named: bool = True


Retrieve = Callable[[Sequence[str] | None], Sequence[Hit]]
"""Ids of documents, None for all → the passages that are nearest to the question."""


@dataclass(slots=True)
class _Match:
    document: Opening
    words: frozenset[str]
    score: float


def resolve(
    question: str,
    documents: Sequence[Opening],
    *,
    retrieve: Retrieve = lambda _: (),
    kinds: Mapping[str, str] | None = None,
    chosen: bool = False,
) -> Target:
    """What `question` is about, among `documents`.

    kinds: words for kinds of documents → the type's name (`booklet` → `patient_education`). retrieve: called when no
    document is named, or only by one word or its kind. chosen: somebody has narrowed the documents to these, so a
    question may leave them unnamed.
    """
    target = _resolve(question, documents, retrieve, {_key(word): name for word, name in (kinds or {}).items()}, chosen)
    said = _SECTION_SAID.search(question)
    if said is None or target.section is not None:
        return target
    return replace(target, topic=_topic(said[1] or said[2], set(), {}), titled="")


def _resolve(
    question: str,
    documents: Sequence[Opening],
    retrieve: Retrieve,
    kinds: Mapping[str, str],
    chosen: bool,
) -> Target:
    section = _NUMBERED.search(question)
    number = section[1] if section else None
    if not documents:
        return Target((), section=number, reason="There is no document that you can see and that has been indexed.")
    exact, unknown = _exactly_named(question, documents)
    if unknown and not exact:
        return Target((), section=number, reason=_nobody_has(unknown[0]))
    if exact:
        said = _names_in(question)
        words = {word for d in exact for name in _names(d.file_name, d.title) for word in name}
        topic = _topic(question, words, kinds, drop=said)
        target = _target(exact, topic, number, ambiguous=len(said) < len(exact))
        return replace(target, reason=_nobody_has(unknown[0])) if unknown else target
    documents_named, by_file, by_title, tied = _named(question, documents, kinds)
    if documents_named:
        topic = _topic(question, by_file | by_title, kinds)
        # One word or a kind may be said in passing: `the conditions of the peace`, `the policy on space travel`.
        if topic and not chosen and len(by_file | by_title) < 2:
            hits = retrieve([document.document_id for document in documents_named])
            holding = [document for document in documents_named if _holds(document, hits, topic)]
            if not holding:
                return Target((), topic, section=number, reason=_says_nothing(documents_named, topic))
            documents_named, tied = holding, tied and len(holding) > 1
        titled = _topic(question, (set(_stems(question)) - by_title) | by_file, kinds)
        return replace(_target(documents_named, topic, number, ambiguous=tied), titled=titled)
    topic = _topic(question, set(), kinds)
    pointing = _POINTING.search(question) is not None
    if len(documents) == 1 and (chosen or pointing):
        return Target(tuple(documents), topic, section=number)
    if chosen and len(documents) <= _MOST_NAMED and (not topic or pointing):
        return Target(tuple(documents), topic, section=number)
    if pointing:
        return Target((), section=number, reason="The question points at a document; say which one by its name.")
    return _by_hits(documents, retrieve(None), topic, number)


def kind_words(types: Iterable[tuple[str, Sequence[str]]]) -> dict[str, str]:
    """Aliases and names of document types → the name, for `resolve`."""
    return {word: name for name, aliases in types for word in (name.replace("_", " "), *aliases)}


def _nobody_has(name: str) -> str:
    return f"No document that you can see is called “{name}”."


def _target(documents: Sequence[Opening], topic: str, section: str | None, *, ambiguous: bool) -> Target:
    # Two documents of the same bytes are one answer.
    distinct = list({document.version_id: document for document in reversed(documents)}.values())[::-1]
    if not ambiguous or len(distinct) == 1:
        return Target(tuple(distinct), topic, section=section)
    names = ", ".join(document.file_name for document in distinct[:_MOST_NAMED])
    more = f" and {len(distinct) - _MOST_NAMED} more" if len(distinct) > _MOST_NAMED else ""
    reason = f"Several documents may be meant: {names}{more}."
    return Target(tuple(distinct), topic, section=section, ambiguous=True, reason=reason)


# Names as they are written


def _names_in(question: str) -> list[str]:
    quoted = [(match[1] or match[2]).strip() for match in _QUOTED.finditer(question)]
    outside = _QUOTED.sub(" ", question)
    return [*quoted, *(match[0] for match in _FILE.finditer(outside))]


def _exactly_named(question: str, documents: Sequence[Opening]) -> tuple[list[Opening], list[str]]:
    """(documents whose file name, stem or title stands in quotes or with its extension, such names that nobody has).

    A file name may hold spaces, so every name is also looked for in the question itself.
    """
    said = {name.casefold(): name for name in _names_in(question)}
    asked = question.casefold()
    found, known = [], set()
    for document in documents:
        name = document.file_name.casefold()
        for form in (name, PurePath(name).stem, (document.title or "").casefold()):
            if form and form in said:
                found.append(document)
                known.add(form)
                break
        else:
            if "." in name and _stands_in(name, asked):
                found.append(document)
                known.update(part for part in said if part in name)
    unknown = [name for form, name in said.items() if form not in known and _FILE.fullmatch(name)]
    return found, unknown


def _stands_in(name: str, asked: str) -> bool:
    at = asked.find(name)
    if at < 0:
        return False
    before, after = asked[at - 1 : at], asked[at + len(name) : at + len(name) + 1]
    return not before.isalnum() and before not in ("_", "-") and not after.isalnum()


# Names in other words


@lru_cache(maxsize=20_000)
def _names(file_name: str, title: str | None) -> tuple[tuple[str, ...], ...]:
    """The stems of each way to call a document."""
    forms = [_CAMEL.sub(" ", PurePath(file_name).stem), *([title] if title else [])]
    return tuple(words for form in forms if (words := tuple(_stems(form))))


def _named(
    question: str, documents: Sequence[Opening], kinds: Mapping[str, str]
) -> tuple[list[Opening], set[str], set[str], bool]:
    """(documents that words of the question call, those words by file name and by title, whether they are rivals).

    A name counts as said when the question holds all of it, three of its words in a row, or half of its weight in at
    least two words. A word weighs by how few documents hold it (inverse document frequency, Sparck Jones 1972).
    """
    names = [(document, words) for document in documents for words in _names(document.file_name, document.title)]
    holders = Counter(
        word for document in documents for word in {w for n in _names(document.file_name, document.title) for w in n}
    )
    weights = {word: math.log(1 + len(documents) / count) for word, count in holders.items()}
    everything = [word for word in _stems(question) if word in weights and word not in _ASKING]
    asked = everything
    of_kind = _of_kind(question, documents, kinds)
    found: list[_Match] = []
    tied = False
    while asked:
        best: dict[str, _Match] = {}
        for document, words in names:
            match = _match(document, words, asked, weights, of_kind)
            if match and (document.document_id not in best or best[document.document_id].score < match.score):
                best[document.document_id] = match
        for match in found:
            best.pop(match.document.document_id, None)
        if not best:
            break
        top = max(best.values(), key=lambda match: match.score)
        # Equal scores for other words are no rivalry: `the policy and the notice` names two.
        rivals = [m for m in best.values() if m is top or (m.score > _RIVAL * top.score and m.words & top.words)]
        if len({match.document.version_id for match in rivals}) > 1:
            tied = not found
            found = found or rivals
            break
        found.append(top)
        asked = [word for word in asked if word not in top.words]
    if not found:
        called = [document for document in documents if document.document_id in of_kind]
        return called, set(), set(), len(called) > 1
    by_file: set[str] = set()
    by_title: set[str] = set()
    for document in (match.document for match in found):
        for place, words in enumerate(_names(document.file_name, document.title)):
            match = _match(document, words, everything, weights, of_kind)
            (by_title if place else by_file).update(match.words if match else ())
    return [match.document for match in found], by_file, by_title, tied


def _match(
    document: Opening,
    name: tuple[str, ...],
    asked: Sequence[str],
    weights: Mapping[str, float],
    of_kind: frozenset[str],
) -> _Match | None:
    said = frozenset(name).intersection(asked)
    if not said:
        return None
    # Numbers in a name (years, form numbers) tell documents apart but are seldom said.
    needed = {word for word in name if not word.isdigit() and word not in _ASKING} or set(name)
    coverage = sum(weights[w] for w in said & needed) / sum(weights[w] for w in needed)
    # `the policy on diabetes` calls a policy, not diabetes.pdf
    alone = len(needed) == 1 and len(min(needed)) > 3 and (not of_kind or document.document_id in of_kind)
    whole = needed <= said and (len(needed) > 1 or alone)
    partly = len(said) >= 2 and coverage >= _LEAST_COVERAGE
    if not (whole or partly or _longest_run(name, asked) >= 3):
        return None
    boost = 1.25 if document.document_id in of_kind else 1.0
    return _Match(document, said, sum(weights[word] for word in said) * (0.5 + coverage) * boost)


def _of_kind(question: str, documents: Sequence[Opening], kinds: Mapping[str, str]) -> frozenset[str]:
    """`the policy`: ids of the documents whose recorded type or whose file name is of that kind."""
    asked = f" {_key(question)} "
    wanted = {name for word, name in kinds.items() if f" {word} " in asked}
    if not wanted or not _DEFINITE.search(question):
        return frozenset()
    called = tuple(f" {word} " for word, name in kinds.items() if name in wanted)
    return frozenset(
        document.document_id
        for document in documents
        if document.document_type in wanted or any(word in _spoken(document.file_name) for word in called)
    )


@lru_cache(maxsize=20_000)
def _spoken(file_name: str) -> str:
    return f" {_key(_CAMEL.sub(' ', PurePath(file_name).stem).replace('_', ' '))} "


def _longest_run(name: Sequence[str], asked: Sequence[str]) -> int:
    """Words that stand in both in the same order without a gap, function words apart."""
    longest, before = 0, [0] * (len(asked) + 1)
    for word in name:
        row = [0]
        for j, other in enumerate(asked):
            row.append(before[j] + 1 if word == other else 0)
        longest, before = max(longest, *row), row
    return longest


# Retrieval


def _by_hits(documents: Sequence[Opening], hits: Sequence[Hit], topic: str, section: str | None) -> Target:
    """The document that holds most of the best passages, if they hold every word of the topic."""
    if not topic:
        return Target((), section=section, reason="The question names no document; say which one you mean.")
    # Nearness alone is no ground: far-off questions come near to some passage or other.
    by_version = {d.version_id: d for d in reversed(documents) if _holds(d, hits, topic)}
    near = [hit for hit in hits if hit.version_id in by_version and hit.scores.get("dense", 1.0) >= _LEAST_COSINE]
    if not near:
        reason = "The question names no document that you can see, and no passage is near enough to its words."
        return Target((), topic, section=section, reason=reason, named=False)
    shares: defaultdict[str, float] = defaultdict(float)
    for hit in near:
        shares[hit.version_id] += max(hit.score, 0.0)
    first = near[0].version_id
    if shares[first] >= _SHARE_OF_HITS * sum(shares.values()):
        found = by_version[first]
        reason = f"The question names no document; {found.file_name} holds most of the nearest passages."
        return Target((found,), topic, section=section, reason=reason, named=False)
    ranked = [by_version[version] for version in sorted(shares, key=lambda v: -shares[v])[:_MOST_NAMED]]
    return replace(_target(ranked, topic, section, ambiguous=True), named=False)


def _holds(document: Opening, hits: Sequence[Hit], topic: str) -> bool:
    """Whether the document's passages and names, together, hold every word of the topic."""
    held = {word for name in _names(document.file_name, document.title) for word in name}
    held.update(word for hit in hits if hit.version_id == document.version_id for word in _stems(hit.text))
    return held.issuperset(_stems(topic))


def _says_nothing(documents: Sequence[Opening], topic: str) -> str:
    names = ", ".join(document.file_name for document in documents[:_MOST_NAMED])
    return f"No passage on “{topic}” was found in {names}."


# Words


def _topic(question: str, names: set[str], kinds: Mapping[str, str], drop: Sequence[str] = ()) -> str:
    """The words of the question, as they stand, that name no document and do no asking."""
    for name in drop:
        question = question.replace(name, " ")
    question = _LENGTH.sub(" ", _NUMBERED.sub(" ", question))
    kind_words = {part for word in kinds for part in word.split() if " " not in word}
    kept = []
    for match in _WORD.finditer(question):
        word = match[0].casefold()
        if word in STOP_WORDS or stem(word) in _ASKING or stem(word) in names or stem(word) in kind_words:
            continue
        if len(word) > 1 or word.isdigit():
            kept.append(match[0])
    return " ".join(kept)


def _stems(text: str) -> list[str]:
    return [stem(word) for word in (m[0].casefold() for m in _WORD.finditer(text)) if word not in STOP_WORDS]


def _key(text: str) -> str:
    return " ".join(stem(match[0].casefold()) for match in _WORD.finditer(text))
