"""Made by `python -m bench.no_evidence fit`. intercept, coefficients in the order of Features, cutoff."""

COEFFICIENTS: dict[str, tuple[float, tuple[float, ...], float]] = {}
LEXICAL_ONLY: tuple[float, tuple[float, ...], float] = (-3.0, (0.0, 0.0, 0.0, 3.0, 3.0, 1.0), 0.5)
