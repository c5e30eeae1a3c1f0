"""The sample questions with their checkable facts (samples/questions.yaml)."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from cli.stack import ROOT

SAMPLES = ROOT / "samples"


@dataclass(frozen=True)
class Question:
    id: str
    route: str
    question: str
    facts: tuple[tuple[str, ...], ...]
    """Each must be in the answer, in one of its spellings."""
    file: str | None = None
    sql_value: Any = None


def sample_questions(path: Path = SAMPLES / "questions.yaml") -> list[Question]:
    rows = yaml.safe_load(path.read_text(encoding="utf-8"))
    rows = rows["questions"] if isinstance(rows, dict) else rows
    return [
        Question(
            id=row["id"],
            route=row["route"],
            question=row["question"],
            facts=tuple(tuple(f) if isinstance(f, list) else (f,) for f in row.get("facts", [])),
            file=row.get("file"),
            sql_value=row.get("sql_value"),
        )
        for row in rows
    ]


def one_a_route(questions: list[Question]) -> list[Question]:
    first: dict[str, Question] = {}
    for question in questions:
        first.setdefault(question.route, question)
    return list(first.values())


def faults(question: Question, answer: dict[str, Any]) -> list[str]:
    """What is wrong with an answer to a sample question; empty when it holds its facts."""
    if question.route == "no_evidence":
        return [] if answer["status"] in ("no_evidence", "refused") else [f"answered: {answer['text'][:200]!r}"]
    found = []
    if answer["status"] != "answered":
        found.append(f"status {answer['status']}: {answer['text'][:200]!r}")
    text = _folded(" ".join([answer["text"], *(str(cell) for e in answer["sql"] for row in e["rows"] for cell in row)]))
    for spellings in question.facts:
        if not any(_folded(str(spelling)) in text for spelling in spellings):
            found.append(f"lacks {' or '.join(map(repr, spellings))}")
    if question.sql_value is not None and not any(_equal(question.sql_value, cell) for cell in _cells(answer)):
        found.append(f"no cell equals {question.sql_value!r}")
    if question.file and question.file not in {c["file_name"] for c in answer["citations"]}:
        found.append(f"does not cite {question.file}")
    if not answer["citations"]:
        found.append("cites nothing")
    return found


def _cells(answer: dict[str, Any]) -> list[Any]:
    """Every value that came back; of a list of rows its length is the value too."""
    cells = [cell for entry in answer["sql"] for row in entry["rows"] for cell in row]
    return cells + [entry["row_count"] for entry in answer["sql"]]


def _equal(wanted: Any, cell: Any) -> bool:
    try:
        return abs(float(wanted) - float(cell)) <= 0.01
    except (TypeError, ValueError):
        return _folded(str(wanted)) == _folded(str(cell))


def _folded(text: str) -> str:
    return re.sub(r"[\s*_`]+", " ", unicodedata.normalize("NFKC", text)).casefold()
