"""Only English is reasoned in without a model: other languages are refused, foreign names in English are not."""

from __future__ import annotations

from typing import Any

import pytest

from query_service.guardrails.input_validation import check_question

FOREIGN = [
    "Wie viele Patienten gibt es?",
    "Was ist die Gültigkeitsdauer einer Überweisung?",
    "Was ist Diabetes?",
    "Welche Medikamente bekommt Frau Miller?",
    "Combien de patients?",
    "Quelle est la durée de validité?",
    "Où est la clinique?",
    "Qui sont les patients diabétiques?",
    "¿Cuántos pacientes hay?",
    "Cual es la dosis de metformina?",
    "Dónde está la clínica?",
    "Quanti pazienti ci sono?",
    "Quale farmaco cura il diabete?",
    "Qual é a dose de metformina?",
    "Quantos pacientes têm asma?",
    "Hoeveel patiënten zijn er?",
    "Wat is de dosis metformine?",
    "Quelles sont les contre-indications de la metformine dans le diabète?",
]
ENGLISH = [
    "What is the de Quervain test?",
    "Was the patient seen in La Paz?",
    "Which patients have von Willebrand disease?",
    "Was she seen by Dr. van der Berg?",
    "What is cri du chat syndrome?",
    "Are café au lait spots a sign of neurofibromatosis?",
    "Average los by encounter class",
    "Patients with hay fever",
    "Number of patients who die",
    "IL-6 level",
    "MIT study summary",
    "hcg qual result",
    "gravida 2 para 1",
    "Del Rio clinic address",
    "Gilles de la Tourette syndrome",
    "Patients from Las Cruces and Los Angeles",
    "Show the medications of Niño Cuál Della Torre",
    "Summarize rapport_sur_une_patiente.pdf",
    "Summarize “Was ist eine Überweisung”",
    "diabetes diet",
]


def check(question: str) -> dict[str, Any]:
    services: Any = None
    return check_question(services, {"rewritten_question": question})


@pytest.mark.parametrize("question", FOREIGN)
def test_a_question_in_another_language_is_refused_however_short(question: str) -> None:
    assert check(question)["refusal"].code == "language_needs_model"


@pytest.mark.parametrize("question", ENGLISH)
def test_foreign_names_and_clinical_terms_leave_a_question_english(question: str) -> None:
    assert check(question) == {"language": "en"}
