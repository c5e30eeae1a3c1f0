"""The readings of one question over scopes of tables that nothing ties → the one that is meant, or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from query_service.reasoning.planner_lexicon import Lexicon, squeeze
from query_service.reasoning.planner_tags import Tag
from query_service.reasoning.semantic_query import SemanticQuery

Engine = Literal["postgres", "warehouse"]
_CONTENT = {"table", "column", "value"}


@dataclass(frozen=True, slots=True)
class Plan:
    query: SemanticQuery
    engine: Engine
    route: str
    confidence: float
    explanation: str


@dataclass(frozen=True, slots=True)
class Declined:
    """Why there is no plan, and the words that no table explains."""

    reason: str
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """What one scope makes of the question. `ambiguous`: every word has a meaning here, and some have several."""

    lexicon: Lexicon
    result: Plan | Declined
    tags: Sequence[Tag] = field(default=())
    ambiguous: bool = False

    @property
    def mart(self) -> bool:
        return all(t.kind == "mart" for t in self.lexicon.tables)

    @property
    def named(self) -> bool:
        """Whether the question names a file or sheet of this scope."""
        return any(t.kind == "file" for t in self.tags)

    @property
    def single(self) -> bool:
        """Whether the rows of one table answer, without conditions on rows of others."""
        return isinstance(self.result, Plan) and not self.result.query.related

    @property
    def literal(self) -> bool:
        """Whether the question has a column's own name."""
        return any(
            squeeze(c.rpartition(".")[2]) == squeeze(t.text) for t in self.tags if t.kind == "column" for c in t.columns
        )

    @property
    def noun(self) -> bool:
        """Whether the rows that the query reads are what a noun of the question calls them."""
        if not isinstance(self.result, Plan):
            return False
        return any(t.kind == "table" and self.result.query.tables[0] in t.tables for t in self.tags)


def choose(readings: Sequence[Reading]) -> Plan | Declined:
    """Uploads before marts, unless a mart has a column for words that the uploads only take apart.

    Of several uploads the one that is named, that answers from one table, whose column has the name, whose rows do.
    Declined where two scopes answer and neither is named, and where one that understands every word finds it ambiguous.
    """
    plans = [r for r in readings if isinstance(r.result, Plan)]
    uploads = [r for r in plans if not r.mart]
    literal = [r for r in plans if r.mart and any(_more_literal(r, other) for other in readings if not other.mart)]
    candidates = literal or uploads or plans
    several = [r for r in candidates if not r.mart]
    for better in (lambda r: r.named, lambda r: r.single, lambda r: r.literal, lambda r: r.noun):
        candidates = [r for r in candidates if better(r)] or candidates
    unclear = next((r for r in readings if r.ambiguous and not r.mart and not literal), None)
    if len(candidates) > 1 and unclear is None:
        bases = [r.result.query.tables[0] for r in candidates if isinstance(r.result, Plan)]
        return Declined(f"{' and '.join(dict.fromkeys(bases))} can both answer this: name the one that you mean.")
    if len(candidates) == 1 and (unclear is None or candidates[0].named):
        return _with_others(candidates[0], several)
    return (unclear or min(readings, key=_distance)).result


def _with_others(reading: Reading, several: Sequence[Reading]) -> Plan | Declined:
    """The plan; where other uploads could answer as well and none is named, it says so."""
    others = [r.result.query.tables[0] for r in several if r is not reading and isinstance(r.result, Plan)]
    if not others or reading.named or not isinstance(reading.result, Plan):
        return reading.result
    note = f"{', '.join(others)} could be meant too: name it to ask there."
    return replace(reading.result, explanation=f"{reading.result.explanation} {note}")


def _distance(reading: Reading) -> tuple[int, bool, bool]:
    """How far a scope is from an answer; its reason is the one to give."""
    unknown = reading.result.unknown if isinstance(reading.result, Declined) else ()
    return len(unknown), not reading.named, reading.mart


def _more_literal(reading: Reading, other: Reading) -> bool:
    """Whether a column here has a phrase for its name that the other scope takes for two things."""
    for tag in reading.tags:
        if tag.kind == "column":
            parts = [t for t in other.tags if t.kind in _CONTENT and tag.at <= t.at and t.until <= tag.until]
            if len(parts) > 1:
                return True
    return False
