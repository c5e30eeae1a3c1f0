"""What shared/data/documents/EXPECTED_dev.jsonl says of each file, and how far what was read agrees with it."""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from rapidfuzz.distance import Levenshtein


@dataclass(frozen=True, slots=True)
class Expected:
    """`file` is relative to the folder of the documents."""

    file: str
    outcome: str
    must_contain: tuple[str, ...]
    must_not_contain: tuple[str, ...]
    note: str

    @property
    def kind(self) -> str:
        """The folder: office, mail_html, hostile, …"""
        return self.file.split("/")[0]


@dataclass(frozen=True, slots=True)
class Reading:
    """What became of a file: its text and the codes of its warnings, or the code that it was refused with."""

    text: str = ""
    warnings: tuple[str, ...] = ()
    refused: str | None = None
    members: tuple[str, ...] = ()

    def agrees(self, outcome: str) -> bool:
        """Whether this is the outcome that is expected. `ok` allows warnings; `warn` wants one."""
        match outcome:
            case "ok" | "ok_or_warn":
                return self.refused is None
            case "warn":
                return self.refused is None and bool(self.warnings)
            case "reject":
                return self.refused is not None
            case "reject_or_warn":
                return self.refused is not None or bool(self.warnings)
            case "any":
                return True
        raise AssertionError(f"{outcome!r} is no outcome that the file is documented to have")


@dataclass(slots=True)
class Figure:
    """How many outcomes and words agreed, and which did not."""

    files: int = 0
    outcomes: int = 0
    words: int = 0
    found: int = 0
    misses: list[str] = field(default_factory=list)
    forbidden: list[str] = field(default_factory=list)

    def add(self, expected: Expected, reading: Reading, *, edits: int = 0) -> None:
        self.files += 1
        if reading.agrees(expected.outcome):
            self.outcomes += 1
        else:
            told = reading.refused or f"read, warnings {list(reading.warnings)}"
            self.misses.append(f"{expected.file}: {expected.outcome} expected, it was {told}")
        text = folded(reading.text)
        for word in expected.must_contain:
            self.words += 1
            if contains(text, folded(word), edits):
                self.found += 1
            else:
                self.misses.append(f"{expected.file}: {word!r} is missing")
        self.forbidden += [
            f"{expected.file}: {word!r} is there" for word in expected.must_not_contain if folded(word) in text
        ]

    @property
    def share(self) -> float:
        return self.found / self.words if self.words else 1.0

    def __str__(self) -> str:
        lines = [
            f"{self.files} files: outcomes {self.outcomes}/{self.files}, must_contain {self.found}/{self.words} "
            f"({self.share:.1%}), must_not_contain broken {len(self.forbidden)}"
        ]
        return "\n".join([*lines, *self.misses, *self.forbidden])


def load(documents: Path, choose: Callable[[Expected], bool]) -> list[Expected]:
    """The chosen lines whose file is there."""
    lines = (documents / "EXPECTED_dev.jsonl").read_text(encoding="utf-8").splitlines()
    rows = (json.loads(line) for line in lines if line.strip())
    found = [
        Expected(
            row["file"],
            row["outcome"],
            tuple(row.get("must_contain", ())),
            tuple(row.get("must_not_contain", ())),
            row.get("note", ""),
        )
        for row in rows
    ]
    return [one for one in found if choose(one) and (documents / one.file).is_file()]


def judge(documents: Path, expected: Iterable[Expected], read: Callable[[Path], Reading], *, edits: int = 0) -> Figure:
    """Read each file and compare. edits: 1 allows one wrong letter a word, as OCR is judged."""
    figure = Figure()
    for one in expected:
        figure.add(one, read(documents / one.file), edits=edits)
    return figure


def show(capsys: pytest.CaptureFixture[str], name: str, figure: Figure) -> None:
    """Print the figure whether the test passes or not."""
    with capsys.disabled():
        sys.stdout.write(f"\n{name}: {figure}\n")


def folded(text: str) -> str:
    """NFKC, every run of white space as one blank."""
    return " ".join(unicodedata.normalize("NFKC", text).split())


def contains(text: str, word: str, edits: int) -> bool:
    if word in text:
        return True
    return bool(edits) and any(
        Levenshtein.distance(word, part, score_cutoff=edits) <= edits for part in _windows(text, word)
    )


def _windows(text: str, word: str) -> Sequence[str]:
    """As many words of the text as `word` has, at each place."""
    parts, length = text.split(" "), len(word.split(" "))
    return [" ".join(parts[i : i + length]) for i in range(len(parts) - length + 1)]
