"""Made by `python -m bench.no_evidence fit`: intercept, coefficients in the order of Features, cutoff."""

COEFFICIENTS: dict[str, tuple[float, tuple[float, ...], float]] = {
    "bge-small-en-v1.5": (-8.27, (5.03, 3.82, 2.42, -1.02), 0.437),
    "all-MiniLM-L6-v2": (-6.672, (4.056, 4.531, 1.662, -1.02), 0.335),
}
LEXICAL_ONLY: tuple[float, tuple[float, ...], float] = (-3.155, (0.0, 0.0, 4.747, -1.02), 0.282)
