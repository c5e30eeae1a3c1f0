"""Benchmarks: each module has `run() -> {name: {value, unit, bare, ratio, command}}`; `python -m bench` runs them."""
