"""Limits of the own process, lowered and raised within what the system allows."""

from __future__ import annotations

import resource


def set_limit(kind: int, value: int) -> None:
    """Set the soft limit to `value`, within the hard one."""
    hard = resource.getrlimit(kind)[1]
    soft = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (soft, hard))


def allow_more_cpu(seconds: float) -> None:
    """Put off the end of this process's CPU time, if it has one: a page for OCR costs seconds that others do not."""
    soft = resource.getrlimit(resource.RLIMIT_CPU)[0]
    if soft != resource.RLIM_INFINITY:
        set_limit(resource.RLIMIT_CPU, soft + int(seconds) + 1)
