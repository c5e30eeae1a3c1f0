"""What columns say of themselves beyond their names: descriptions, and values that answer yes or no."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from foundation.types import TableInfo
from query_service.reasoning.planner_words import STOP, phrase, stems, tokens

_LEAD = {"what", "how", "many", "which", "much"}
_INFLECTIONS = ("", "e", "s", "es", "ed", "ing")
_LIKE = {"need": "require", "needs": "require", "needed": "require", "needing": "require", "necessary": "require",
         "mandatory": "require"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Flag:
    """A column that says whether something is so: the stored value for yes, and for no."""

    column: str
    yes: str
    no: str | None


def described(description: str) -> list[tuple[str, ...]]:
    """Stems of the clauses of a description that say enough to be a name: two words of content, six in all at most.

    "What was left to the patients, the total less the coverage" → left to the patients, total less the coverage.
    """
    found = []
    for clause in re.split(r"[,.;:()]", description):
        words = [t.text for t in tokens(clause)]
        while words and (words[0] in STOP or words[0] in _LEAD or phrase((words[0],)) == ("is", "")):
            words.pop(0)
        content = [w for w in words if w not in STOP and phrase((w,)) is None]
        if len(content) > 1 and len(words) <= 6:
            found.append(stems(" ".join(words)))
    return found


def flags_of(tables: Sequence[TableInfo]) -> dict[str, list[Flag]]:
    """Root of a participle → columns with that participle among few values: Required, Not required → requir."""
    found: dict[str, list[Flag]] = {}
    for table in tables:
        for column in table.columns:
            if column.type != "text" or column.distinct is None or not column.distinct <= len(column.samples) <= 10:
                continue
            values = {stems(s): s for s in column.samples}
            for words, value in values.items():
                if len(words) == 1 and len(words[0]) > 4 and words[0].endswith("ed"):
                    no = next((values[n, words[0]] for n in ("not", "non", "no") if (n, words[0]) in values), None)
                    found.setdefault(words[0][:-2], []).append(Flag(f"{table.name}.{column.name}", value, no))
    return found


def root_of(word: str, flags: dict[str, list[Flag]]) -> str | None:
    """The participle's root that the word is a form of: requires → requir; "needs" speaks of what is required."""
    word = _LIKE.get(word, word)
    return next((root for root in flags if any(word == root + ending for ending in _INFLECTIONS)), None)
