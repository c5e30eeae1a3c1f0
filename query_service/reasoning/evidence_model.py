"""Whether the best passages answer a question at all: a logistic model over what is known at answer time.

docs/adr/0002-no-evidence-threshold.md has the features, the data and the figures.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from query_service.reasoning.evidence_coefficients import COEFFICIENTS, LEXICAL_ONLY


@dataclass(frozen=True, slots=True)
class Features:
    """All in [0, 1] or close to it."""

    dense: float
    """Cosine of the question with the best chunk."""
    sentence: float
    """Cosine of the question with the best sentence."""
    words: float
    """Share of the question's content words, by weight, in the chunk that holds most of them, section included."""

    unknown: bool = False
    """The question asks about a thing (`of …`, `for …`) none of whose words stands in any document."""

    def values(self) -> tuple[float, ...]:
        return (self.dense, self.sentence, self.words, float(self.unknown))


@dataclass(frozen=True, slots=True)
class Thresholds:
    """confidence = 1 / (1 + exp(-(intercept + coefficients · features))); below `cutoff` there is no evidence."""

    intercept: float
    coefficients: tuple[float, ...]
    cutoff: float

    @classmethod
    def for_model(cls, model: str) -> Thresholds:
        """Those fitted for this embedding model; for another, those that look at words alone, since cosines differ."""
        return cls(*COEFFICIENTS.get(model, LEXICAL_ONLY))

    def confidence(self, features: Features) -> float:
        total = self.intercept + sum(c * v for c, v in zip(self.coefficients, features.values(), strict=True))
        return 1 / (1 + math.exp(-max(-50.0, min(50.0, total))))
