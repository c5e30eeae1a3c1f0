"""Environment variables for a while. Apart from dbt_cli, whose imports take seconds."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager


@contextmanager
def environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Ours has these variables meanwhile, and so have the processes that we start."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
