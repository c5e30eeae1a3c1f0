"""The offline router on questions that are none of its examples, with the real embedding model."""

from __future__ import annotations

from pathlib import Path

import pytest

from foundation.adapters.embedded.embeddings import OnnxEmbedder
from foundation.errors import ConfigurationError
from query_service.prompts.router_prompt import ROUTES
from query_service.reasoning.router import OfflineRouter, RouteContext, clauses, load_examples

DOMAIN = Path(__file__).parents[3] / "domains" / "healthcare"
WRITTEN = {
    "sql": [
        "Show the three latest visits of Rosa Martinez.",
        "When was George Bell last prescribed warfarin?",
        "List all patients whose address is missing.",
        "What insurance does member 55120 have?",
        "Which patients are scheduled for today?",
        "Is Helen Ford still taking metoprolol?",
        "Give me the phone numbers of the providers in Dallas.",
    ],
    "s3": [
        "How many flu shots were administered in 2020?",
        "What is the average cost of a hospital stay by insurer?",
        "Which five diagnoses are the most frequent among men?",
        "What proportion of claims were denied last year?",
        "Total spending on antibiotics per quarter.",
        "How many patients are smokers?",
        "Which clinic has the longest mean waiting time?",
    ],
    "rag": [
        "What does the handbook say about overtime?",
        "How long do we have to keep X-ray images?",
        "When is a chaperone required during an examination?",
        "Which vaccines does the guideline recommend for pregnant women?",
        "What must be written on the label of an opened vial?",
        "Who may prescribe opioids according to the policy?",
        "Are pets allowed on the ward?",
    ],
    "graph_rag": [
        "How is hypertension connected to stroke?",
        "Which drugs are used for epilepsy?",
        "What does the acronym GERD stand for?",
        "Which conditions go together with psoriasis?",
        "What can cause kidney failure?",
        "Which symptoms are associated with lupus?",
        "How are amiodarone and thyroid disease related?",
    ],
    "summarization": [
        "Summarize the pharmacy manual.",
        "Give me an overview of the new visiting rules in a few lines.",
        "What are the key points of the incident report?",
        "Sum up the section about fall prevention.",
        "Please provide a brief summary of the consent policy.",
        "I want the main takeaways of the quality audit.",
    ],
    "classification": [
        "What kind of document is lab_2019.pdf?",
        "Classify this uploaded letter.",
        "Is the attachment an invoice or a prescription?",
        "Which category does the newsletter fall into?",
        "Tell me the type of the document that I just uploaded.",
        "Label the file admission.txt by topic.",
    ],
}


@pytest.fixture(scope="module")
def router() -> OfflineRouter:
    return OfflineRouter(load_examples(DOMAIN / "router_examples.yaml"), OnnxEmbedder("bge-small-en-v1.5"))


def test_nine_of_ten_unseen_questions_go_to_their_route(router: OfflineRouter) -> None:
    asked = [(route, question) for route, questions in WRITTEN.items() for question in questions]
    wrong = [(q, route, got) for route, q in asked if (got := router.route(q)[0].name) != route]
    taken = [router.route(q) for _, q in asked]
    assert len(asked) == 40
    assert len(wrong) <= 4, wrong
    assert sum(len(t) for t in taken) <= 46, "the set of routes is to stay small"
    assert router.leave_one_out >= 0.88


def test_a_fused_question_takes_the_routes_of_both_its_parts(router: OfflineRouter) -> None:
    fused = [
        (
            "What does the policy say about MRI referrals, and how many imaging encounters did we have in 2022?",
            "rag",
            "s3",
        ),
        ("Summarize the vaccination notice and list the patients who were vaccinated today.", "summarization", "sql"),
        ("Which drugs treat gout, and how many patients have it?", "graph_rag", "s3"),
    ]
    for question, *wanted in fused:
        names = {choice.name for choice in router.route(question)}
        assert set(wanted) <= names, (question, names)
        assert len(names) <= 3, (question, names)


def test_a_question_without_a_second_question_is_not_cut(router: OfflineRouter) -> None:
    assert clauses("How many patients have asthma, and how are they insured?") == [
        "How many patients have asthma",
        "how are they insured?",
    ]
    assert len(clauses("List patients with asthma, eczema, and hay fever")) == 1
    assert len(clauses("Average cost by payer and which")) == 1


def test_a_plan_over_the_tables_outweighs_likeness(router: OfflineRouter) -> None:
    question = "What is the surcharge for an evening visit?"
    context = RouteContext(planned=lambda text: "sql" if "surcharge" in text else None)
    best = router.route(question, context)[0]
    assert (best.name, best.reason) == ("sql", "The tables hold what it asks for")


def test_examples_cover_every_route_and_no_other(tmp_path: Path) -> None:
    examples = load_examples(DOMAIN / "router_examples.yaml")
    assert set(examples) == set(ROUTES)
    assert min(map(len, examples.values())) >= 8
    file = tmp_path / "router_examples.yaml"
    file.write_text("chart:\n  - Draw it.\n")
    with pytest.raises(ConfigurationError, match="chart"):
        load_examples(file)
