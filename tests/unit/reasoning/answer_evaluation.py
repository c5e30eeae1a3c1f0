"""How many questions of answer_questions.yaml are answered rightly, and how many near misses are answered at all."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from answer_documents import write_documents
from ingested_documents import SAMPLES, asked, ingest

from query_service.answer import Answer
from query_service.question_graph import build_graph
from query_service.services import Services

QUESTIONS = Path(__file__).with_name("answer_questions.yaml")
DOCUMENTS = ("referral_policy.docx", "clinic_notice.txt", "niddk_eating_diabetes_508.pdf")


@dataclass
class Figures:
    right: float
    wrong: float
    faults: list[str]


def questions(part: str) -> dict[str, Any]:
    chosen: dict[str, Any] = yaml.safe_load(QUESTIONS.read_text())[part]
    return chosen


def ingest_all(services: Services, folder: Path) -> None:
    for path in [*write_documents(folder), *(SAMPLES / name for name in DOCUMENTS)]:
        ingest(services, path)


def evaluate(services: Services, part: str) -> Figures:
    """Share of answerable questions whose fact is in the answer; share of the others that are answered."""
    graph, chosen, faults = build_graph(services), questions(part), []
    right = wrong = 0
    for question, fact in chosen["answerable"].items():
        answer = ask(graph, question)
        if answer.status == "answered" and fact in answer.text:
            right += 1
        else:
            faults.append(f"missed: {question} → {answer.status}: {answer.text}")
    for question in chosen["unanswerable"]:
        answer = ask(graph, question)
        if answer.status != "no_evidence":
            wrong += 1
            faults.append(f"answered: {question} → {answer.text}")
    return Figures(right / len(chosen["answerable"]), wrong / len(chosen["unanswerable"]), faults)


def ask(graph: Any, question: str) -> Answer:
    now = time.monotonic()
    state = {**asked(question), "session_id": None, "started": now, "deadline": now + 60}
    answer: Answer = asyncio.run(graph.ainvoke(state))["answer"]
    return answer
