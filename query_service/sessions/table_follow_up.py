"""A follow-up on a question about tables: the planner judges which reading changes the question before, and only it.

Of the texts that may be meant, the one is taken whose semantic query asks the same of the same rows with other or
further filters, or with other groups. So a fragment that no column or value explains never becomes a query.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from query_service.reasoning.question_words import stem
from query_service.reasoning.semantic_query import SemanticQuery
from query_service.sessions.ellipsis import Fragment, fragment

Read = Callable[[str], SemanticQuery | None]
"""The semantic query of a question, if the planner understands every word of it."""

_MOST_READ = 14
_VALUE_WORD = 4  # letters


def meant(question: str, before: str, texts: Sequence[str], read: Read) -> str | None:
    """The reading of a follow-up that the tables can answer; None where they cannot, or were not asked before."""
    earlier = read(before)
    if earlier is None:
        return None
    part = fragment(question)
    if part is None:
        tried = _about_the_same(texts)
    elif part.kind == "about":
        tried = [*_other_value(part, before, earlier), *texts, *_further(part, before, earlier)]
    else:
        tried = [*texts, *_further(part, before, earlier)]
    for text in list(dict.fromkeys(tried))[:_MOST_READ]:
        query = read(text)
        if query is not None and (part is None or _changes(part, earlier, query)):
            return text
    return None


def _about_the_same(texts: Sequence[str]) -> list[str]:
    """`How many of patients who … are women?` is read as `How many patients who … are women?`"""
    short = [re.sub(r"^(\W*how many|\W*which) of (?:the )?", r"\1 ", text, flags=re.I) for text in texts]
    joined = [
        re.sub(r"^(\W*how many [\w-]+ who .+?) (are|were|have|had) ", r"\1 and \2 ", text, flags=re.I) for text in short
    ]
    return [*texts, *short, *joined]


def _other_value(part: Fragment, before: str, earlier: SemanticQuery) -> list[str]:
    """The question with what is new in place of the value of a filter."""
    whole = before.strip().rstrip("?.! ")
    return [f"{whole[:start]}{part.text}{whole[end:]}?" for start, end in _values_in(whole, earlier)]


def _further(part: Fragment, before: str, earlier: SemanticQuery) -> list[str]:
    """The question with what is new in front of what is counted, or at its end."""
    whole = before.strip().rstrip("?.! ")
    found = []
    noun = re.search(rf"\b{re.escape(stem(earlier.tables[0].split('_')[-1]))}\w*", whole, re.I)
    if noun is not None:
        found.append(f"{whole[: noun.start()]}{part.text} {whole[noun.start() :]}?")
        found.append(f"{whole[: noun.end()]} of {part.text}{whole[noun.end() :]}?")
        found.append(f"{whole[: noun.start()]}{part.text}{whole[noun.end() :]}?")
    found += [f"{whole} {word} {part.text}?" for word in ("and are", "for", "in", "with", "of", "who are")]
    return [*found, *_other_value(part, before, earlier)]


def _values_in(whole: str, query: SemanticQuery) -> Iterable[tuple[int, int]]:
    """Where the question says a value that it filters by."""
    filters = [*query.filters, *(f for related in query.related for f in related.filters)]
    values = [str(value).lower() for item in filters for value in item.values]
    words = [m for m in re.finditer(r"[\w-]+", whole) if len(m[0]) >= _VALUE_WORD]
    for first in range(len(words)):
        for last in range(len(words) - 1, first - 1, -1):
            text = whole[words[first].start() : words[last].end()]
            if any(text.lower() in value or stem(text.lower()) in value for value in values):
                yield words[first].start(), words[last].end()
                break


def _changes(part: Fragment, earlier: SemanticQuery, query: SemanticQuery) -> bool:
    """Whether the new query is the earlier one with other filters or groups, as the fragment asks."""
    same = earlier.tables == query.tables and earlier.measures == query.measures and earlier.select == query.select
    if not same or query == earlier:
        return False
    if part.kind == "by":
        return query.filters == earlier.filters and query.related == earlier.related
    if query.dimensions != earlier.dimensions:
        return False
    # What the question asked of the rows stays, or has another value of its column, or of its table, in its place.
    columns, tables = {f.column for f in query.filters}, {r.table for r in query.related}
    return all(f.column in columns for f in earlier.filters) and all(r.table in tables for r in earlier.related)
