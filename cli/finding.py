"""What `askline doctor` finds out about one part."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    part: str
    state: str
    """ok, missing, stopped or warning"""
    detail: str
    fix: str | None = None
