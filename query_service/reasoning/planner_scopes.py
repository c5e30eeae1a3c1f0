"""Which tables a question can be read over together: only those that a key ties to each other.

A mart of totals and the uploads beside it share words, not rows. Read apart, the words of a question mean one thing in
each scope, and no query can mix what nothing links.
"""

from __future__ import annotations

from functools import lru_cache

from foundation.types import TableInfo
from query_service.reasoning.joins import links
from query_service.reasoning.planner_lexicon import Lexicon, squeeze
from query_service.reasoning.planner_terms import Terms


@lru_cache(maxsize=32)
def scopes(tables: tuple[TableInfo, ...], terms: Terms) -> tuple[Lexicon, ...]:
    """One lexicon for each set of tied tables; those with uploads first, then by number of tables."""
    parent = {t.name: t.name for t in tables}

    def root(name: str) -> str:
        while parent[name] != name:
            name = parent[name]
        return name

    for link in links(tables):
        parent[root(link.many_table)] = root(link.one_table)
    # Tables that name the patient are tied by that, with or without a table of patients.
    patient = next((e for e in terms.entities if e.name == "patient"), None)
    keys = {squeeze(k) for k in patient.keys} if patient else set()
    about = [t.name for t in tables if t.kind == "upload" and any(squeeze(c.name) in keys for c in t.columns)]
    for name in about[1:]:
        parent[root(name)] = root(about[0])
    members: dict[str, list[TableInfo]] = {}
    for table in tables:
        members.setdefault(root(table.name), []).append(table)
    ranked = sorted(members.values(), key=lambda group: (not _uploads(group), -len(group)))
    return tuple(Lexicon(tuple(group), terms) for group in ranked)


def _uploads(group: list[TableInfo]) -> bool:
    return any(t.kind == "upload" for t in group)
