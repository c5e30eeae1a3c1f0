"""`python -m tests.engines fetch [NAME …]`: fetch what is missing of these engines, or of all, into the cache."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from tests.engines import athena, opensearch, redis
from tests.engines.processes import EngineFailed, cache_folder

FETCH: dict[str, Callable[[Path], Path]] = {"opensearch": opensearch.fetch, "trino": athena.fetch, "redis": redis.fetch}
"""By name: lays the engine below the cache folder if it is not there, and returns its home."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.engines", description=__doc__)
    parser.add_argument("action", choices=["fetch"])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(FETCH))
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - FETCH.keys():
        parser.error(f"no such engine: {', '.join(sorted(unknown))}; there are {', '.join(FETCH)}")
    for name in arguments.names or FETCH:
        try:
            print(f"{name}: {FETCH[name](cache_folder())}")  # noqa: T201
        except EngineFailed as error:
            print(f"{name}: {error}", file=sys.stderr)  # noqa: T201
            return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
