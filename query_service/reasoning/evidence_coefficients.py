"""Made by `python -m bench.no_evidence fit`: intercept, coefficients in the order of Features, cutoff."""

COEFFICIENTS: dict[str, tuple[float, tuple[float, ...], float]] = {
    "bge-small-en-v1.5": (-8.306, (5.007, 3.887, 2.426, -0.945), 0.437),
    "all-MiniLM-L6-v2": (-6.672, (4.056, 4.531, 1.662, -0.945), 0.335),
}
LEXICAL_ONLY: tuple[float, tuple[float, ...], float] = (-3.112, (0.0, 0.0, 4.696, -1.05), 0.286)
