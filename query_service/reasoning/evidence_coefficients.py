"""Made by `python -m bench.no_evidence fit`: intercept, coefficients in the order of Features, cutoff."""

COEFFICIENTS: dict[str, tuple[float, tuple[float, ...], float]] = {
    "bge-small-en-v1.5": (-8.329, (5.036, 3.838, 2.471), 0.432),
}
LEXICAL_ONLY: tuple[float, tuple[float, ...], float] = (-3.155, (0.0, 0.0, 4.747), 0.282)
