"""Warnings about one file: the first few of a kind are listed, the rest are counted."""

from __future__ import annotations

from collections import Counter

from foundation.types import FileWarning

LISTED = 20


class WarningList:
    def __init__(self) -> None:
        self._listed: list[FileWarning] = []
        self._seen: Counter[tuple[str, str | None]] = Counter()

    def add(self, code: str, message: str, *, sheet: str | None = None, row: int | None = None, count: int = 1) -> None:
        """`count` above 1 stands for that many occurrences of which this one is told."""
        if self._seen[code, sheet] < LISTED:
            self._listed.append(FileWarning(code, message, sheet=sheet, row=row))
        self._seen[code, sheet] += count

    def all(self) -> list[FileWarning]:
        """At most 20 a code and sheet, each followed by how many more there are."""
        told = Counter((w.code, w.sheet) for w in self._listed)
        more = [
            FileWarning(code, f"{seen - told[code, sheet]:,} more of this kind are not listed.", sheet=sheet)
            for (code, sheet), seen in self._seen.items()
            if seen > told[code, sheet]
        ]
        return [*self._listed, *more]
