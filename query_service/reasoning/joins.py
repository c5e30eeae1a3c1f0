"""Which column of a table points at a row of another: derived from names and from values in the column profiles."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from foundation.types import Column, TableInfo

_PREFIXES = {"fct", "fact", "dim", "mart", "marts", "stg", "staging", "d", "tbl", "raw"}
_KEY_TYPES = {"text", "bigint", "double", "decimal"}


@dataclass(frozen=True, slots=True)
class Link:
    """Many rows of `many_table` point at one row of `one_table`."""

    many_table: str
    many_column: str
    one_table: str
    one_column: str
    score: float


@lru_cache(maxsize=20_000)
def singular(word: str) -> str:
    """The singular of a regular English plural: allergies → allergy, diagnoses → diagnosis, visits → visit."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 5 and word.endswith("noses"):
        return word[:-2] + "is"
    if len(word) > 4 and word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


@lru_cache(maxsize=20_000)
def name_words(name: str) -> tuple[str, ...]:
    """Singular lower-case words of a table's or column's name, without layer prefixes such as dim_ and stg_."""
    words = [w for w in re.split(r"[^A-Za-z0-9]+", name.casefold()) if w]
    while len(words) > 1 and words[0] in _PREFIXES:
        words = words[1:]
    return tuple(singular(w) for w in words)


def _is_key(table: TableInfo, column: Column, tables: Sequence[TableInfo]) -> bool:
    """Whether the column can identify a row, by its profile.

    Where the profile stopped counting, only the first column of the smallest table that has such a column passes.
    """
    if column.type not in _KEY_TYPES or column.nulls or not table.row_count:
        return False
    if column.distinct is not None:
        return column.distinct == table.row_count
    sizes = [t.row_count for t in tables if t.row_count and any(c.name == column.name for c in t.columns)]
    return table.columns[0] is column and table.row_count == min(sizes) and sizes.count(table.row_count) == 1


def _values_agree(many: Column, one: Column) -> bool | None:
    """None: the profiles do not show enough to say."""
    complete = one.distinct is not None and one.distinct == len(one.samples)
    if not many.samples or not one.samples:
        return None
    shared = set(many.samples) & set(one.samples)
    if complete:
        return len(shared) == len(set(many.samples))
    return True if shared else None


def links(tables: Sequence[TableInfo]) -> list[Link]:
    """Every many-to-one link between two tables, best first; a column points at one table only.

    A name must point at the key; values in the profiles may confirm or refute it.
    """
    found: list[Link] = []
    for one in tables:
        own = name_words(one.name)
        for key in one.columns:
            if not (_named_key(key.name, own) or _is_key(one, key, tables)):
                continue
            words = name_words(key.name)
            for many, column in ((t, c) for t in tables if t.name != one.name for c in t.columns):
                score = _name_score(name_words(column.name), words, own, name_words(many.name))
                # A number that is unique on both sides without naming either (row_id) is a coincidence.
                counted = score < 1.0 and name_words(column.name) == words and _is_key(many, column, tables)
                if not score or counted or (column.type == "text") != (key.type == "text"):
                    continue
                agree = _values_agree(column, key)
                if agree is not False:
                    found.append(Link(many.name, column.name, one.name, key.name, score + (0.1 if agree else 0.0)))
    found.sort(key=lambda link: (-link.score, link.many_table, link.many_column, link.one_table))
    best: dict[tuple[str, str], float] = {}
    for link in found:
        best.setdefault((link.many_table, link.many_column), link.score)
    return [link for link in found if link.score == best[link.many_table, link.many_column]]


def _named_key(column: str, own: tuple[str, ...]) -> bool:
    words = name_words(column)
    return words == ("id",) or words in ((*own, "id"), (*own, "key"), (*own, "code"))


def _name_score(column: tuple[str, ...], key: tuple[str, ...], own: tuple[str, ...], many: tuple[str, ...]) -> float:
    entity = own[-1]
    named = key in ((*own, "id"), (entity, "id"), (*own, "key"), (entity, "key"))
    if column == key and key != ("id",):
        if named:
            return 1.0
        # A shared key such as hadm_id or itemid; a shared code (icd_code) also needs tables named alike.
        if key[-1] == "code":
            return 0.6 + 0.1 * min(2, shared) if (shared := len(set(many) & set(own))) else 0.0
        return 0.8 if (key[-1].endswith("id") and key[-1] != "id") or key[-1] in {"id", "key"} else 0.0
    if key == ("id",) and column in (own, (entity,), (*own, "id"), (entity, "id"), (*own, "key")):
        return 1.0
    if named and len(column) > len(key) and column[-len(key) :] == key:
        # condition_concept_id → concept.concept_id; the role that the many-table is named after leads.
        return 0.7 if column[: -len(key)] == many[:1] else 0.5
    return 0.0


def path(source: str, target: str, among: Sequence[Link]) -> list[Link] | None:
    """The shortest many-to-one way from `source` to `target`, or None: such joins never multiply rows of `source`.

    Among links of equal length the best score wins; a tie between two columns that both point there is no answer.
    """
    if source == target:
        return []
    queue: deque[tuple[str, list[Link]]] = deque([(source, [])])
    seen = {source}
    while queue:
        table, way = queue.popleft()
        onward: dict[str, list[Link]] = {}
        for link in among:
            if link.many_table == table and link.one_table not in seen:
                onward.setdefault(link.one_table, []).append(link)
        for next_table, choices in onward.items():
            best = choices[0]
            if len(choices) > 1 and choices[1].score == best.score and choices[1].many_column != best.many_column:
                continue
            if next_table == target:
                return [*way, best]
            seen.add(next_table)
            queue.append((next_table, [*way, best]))
    return None


def shared_key(base: str, other: str, among: Sequence[Link]) -> tuple[list[Link], list[Link]] | None:
    """Ways from two tables to the nearest table that both point at (either may be that table itself)."""
    best: tuple[list[Link], list[Link]] | None = None
    targets = [base, other, *dict.fromkeys(link.one_table for link in among)]
    for target in targets:
        left, right = path(base, target, among), path(other, target, among)
        if left is None or right is None:
            continue
        if best is None or len(left) + len(right) < len(best[0]) + len(best[1]):
            best = (left, right)
    return best
