"""A follow-up takes what it lacks from the question before; a question that lacks nothing is never touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from foundation.graph_schema import load_graph_schema
from foundation.lexicon import load_lexicon
from query_service.sessions.follow_up import Turn, standalone
from query_service.sessions.topics import Entity

DOMAIN = Path(__file__).parents[3] / "domains" / "healthcare"
LEXICON = load_lexicon(DOMAIN)
TYPE_WORDS = {w: t for t, words in load_graph_schema(DOMAIN / "graph.yaml").type_words.items() for w in words}


def find(text: str) -> list[Entity]:
    return [Entity(m.start, m.end, LEXICON.terms[m.term_ids[0]].type) for m in LEXICON.find(text)]


def rewritten(question: str, *before: Turn) -> str:
    return standalone(question, before, find, TYPE_WORDS)[0]


@pytest.mark.parametrize(
    ("before", "question", "expected"),
    [
        # a fragment
        ("How many encounters were there in 2021?", "What about 2022?", "How many encounters were there in 2022?"),
        ("How many encounters were there in 2021?", "And in 2023?", "How many encounters were there in 2023?"),
        ("What are the symptoms of influenza?", "How about asthma?", "What are the symptoms of asthma?"),
        ("What does lisinopril treat?", "And metformin?", "What does metformin treat?"),
        ("What is the dose for men?", "what about women?", "What is the dose for women?"),
        ("What is the dose of paracetamol?", "for children?", "What is the dose of paracetamol for children?"),
        ("How many crew does the Kittiwake have?", "And the Gannet?", "How many crew does the Gannet have?"),
        ("What is the fare of a day pass?", "And of a single ticket?", "What is the fare of a single ticket?"),
        ("What does rule 2 of station 4 say?", "And rule 1?", "What does rule 1 of station 4 say?"),
        ("Is the clinic open on December 24, 2026?", "on December 25?", "Is the clinic open on December 25, 2026?"),
        ("When does the clinic open?", "And on Saturdays?", "When does the clinic open on Saturdays?"),
        ("What is the total cost by class?", "by payer instead", "What is the total cost by payer?"),
        ("What is the total cost by class?", "and by year", "What is the total cost by class and year?"),
        ("May passengers enter the engine room?", "Why?", "Why may passengers enter the engine room?"),
        ("How often is a drill held?", "why?", "Why is a drill held?"),
        ("How many visits are covered?", "why?", "Why: how many visits are covered?"),
        # a pronoun
        ("What are the symptoms of influenza?", "How is it treated?", "How is influenza treated?"),
        ("What does the notice say about the clinic?", "When does it open?", "When does the clinic open?"),
        ("What does lisinopril treat?", "What else does it treat?", "What else does lisinopril treat?"),
        ("Does the clinic treat influenza?", "Does Metformin lower it?", "Does Metformin lower influenza?"),
        ("How often is a lifeboat drill held?", "Who leads it?", "Who leads a lifeboat drill?"),
        ("How long is a referral valid?", "How many visits does it cover?", "How many visits does a referral cover?"),
        ("How old is patient Ann Lee?", "What are her allergies?", "What are the allergies of patient Ann Lee?"),
        ("How is metformin stored?", "Is that drug safe in pregnancy?", "Is metformin safe in pregnancy?"),
        (
            "Which patients were born before 1930?",
            "How many of them are women?",
            "How many of patients who were born before 1930 are women?",
        ),
    ],
)
def test_a_follow_up_takes_what_it_lacks_from_the_question_before(before: str, question: str, expected: str) -> None:
    assert rewritten(question, Turn(before)) == expected


@pytest.mark.parametrize(
    "question",
    [
        "What does insulin do?",
        "And what is the dose of metformin?",
        "metformin dose",
        "In which room are vaccinations given?",
        "Is it necessary to call before a visit?",
        "How long does it take to get an appointment?",
        "Which patients take their medicine daily?",
        "Which documents that mention COPD are policies?",
        "If a patient misses a visit, must they pay?",
        "When a denial is appealed, who decides it?",
        "What about the symptoms of asthma?",
        "Patients with asthma by gender",
        "For how many years are records kept?",
        "Summarize the policy.",
    ],
)
def test_a_question_that_stands_alone_is_left_as_it_is(question: str) -> None:
    assert rewritten(question, Turn("How many encounters were there in 2021?")) == question


def test_it_is_what_the_answer_named_where_the_question_asked_which() -> None:
    which = Turn("Which drug treats influenza?", ("Oseltamivir treats influenza.",))
    assert rewritten("What else does it treat?", which) == "What else does oseltamivir treat?"
    assert rewritten("How is it treated?", which) == "How is influenza treated?"
    what = Turn("What does metformin treat?", ("Metformin treats type 2 diabetes mellitus.",))
    assert rewritten("What else does it treat?", what) == "What else does metformin treat?"


def test_a_follow_up_leans_on_the_last_question_only() -> None:
    assert rewritten("And metformin?", Turn("What treats gout?"), Turn("What does insulin treat?")) == (
        "What does metformin treat?"
    )


def test_the_first_question_of_a_conversation_stays_as_it_is() -> None:
    assert standalone("What about 2022?", []) == ["What about 2022?"]
