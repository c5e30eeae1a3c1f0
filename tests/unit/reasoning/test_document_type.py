from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from ingested_documents import SAMPLES, asked, chunks_of, embedder, ingest, make_services, parsed, sample
from sqlalchemy import Engine

from foundation.domain import load_domain
from foundation.errors import ConfigurationError
from foundation.types import ParsedDocument
from query_service.agents import classification
from query_service.agents.classification import asked_type, describe
from query_service.citations import cite
from query_service.reasoning.document_type import Classification, Passage, TypeClassifier, load_types


@cache
def classifier() -> TypeClassifier:
    return TypeClassifier(load_types(load_domain("healthcare").file("document_types.yaml")), embedder())


def classify(document: ParsedDocument, file_name: str = "file") -> Classification:
    passages = [Passage(chunk.start, chunk.text) for chunk in chunks_of(document)]
    return classifier().classify(passages, title=document.title, file_name=file_name)


def test_the_domain_has_about_fifteen_types_with_examples_and_cues_of_their_own() -> None:
    types = classifier().types
    assert 14 <= len(types) <= 20 and len({t.name for t in types}) == len(types)
    assert all(len(t.examples) >= 4 and t.cues and t.label and t.description for t in types)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("referral_policy.docx", "policy"),
        ("clinic_notice.txt", "notice"),
        ("cdc_outpatient_guide_508.pdf", "guideline"),
        ("niddk_eating_diabetes_508.pdf", "patient_education"),
    ],
)
def test_samples_are_told_apart_by_their_text_alone(name: str, kind: str) -> None:
    document = sample(name)
    found = classify(document)
    assert found.sure and found.best.name == kind
    assert found.evidence is not None and len(document.text[slice(*found.evidence)].split()) >= 3
    assert sum(r.probability for r in found.ranked) == pytest.approx(1.0, abs=1e-4)


@pytest.mark.slow
def test_real_files_of_other_kinds_are_told_or_left_open(shared_data: Path) -> None:
    folder = shared_data / "documents"
    kinds = {
        "pdf_text/unst__multi-column-2p.pdf": "research_article",
        "pdf_text/unst__copy-protected.pdf": "research_article",
        "pdf_text/pdfjs__prefilled_f1040.pdf": "form",
        "pdf_text/plumb__nics-background-checks-2015-11.pdf": "data_table",
        "pdf_health/clario__doc_004.pdf": "guideline",
        "pdf_text/docl__code_and_formula.pdf": None,
        "pdf_text/pypdf__mistitled_outlines_example.pdf": None,
        "pdf_text/unst__korean-text-with-tables.pdf": None,
    }
    told = {name: classify(parsed(folder / name)) for name in kinds}
    assert {name: found.best.name if found.sure else None for name, found in told.items()} == kinds


def test_records_of_observations_are_data(shared_data: Path) -> None:
    files = sorted((shared_data / "documents" / "patient_docs").glob("*.pdf"))[:8]
    assert {classify(parsed(path)).best.name for path in files} == {"data_table"}


def test_a_types_file_with_an_unknown_field_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "document_types.yaml"
    path.write_text("types:\n  - {name: memo, label: a memo, description: Short., cue: [hello]}\n")
    with pytest.raises(ConfigurationError, match="cue"):
        load_types(path)


@pytest.mark.parametrize(
    ("question", "kind", "rest"),
    [
        ("Is visiting_hours.txt a policy?", "policy", "Is visiting_hours.txt ?"),
        ("Which documents are policies?", "policy", "Which documents are ?"),
        ("How many consent forms do we have?", "consent_form", "How many  do we have?"),
        ("What type of document is the infection guide?", None, "What type of document is the infection guide?"),
        ("Classify the price list.", None, "Classify the price list."),
    ],
)
def test_a_kind_that_is_asked_for_is_told_from_one_that_names_a_document(
    question: str, kind: str | None, rest: str
) -> None:
    found, remaining = asked_type(question, classifier().types)
    assert (found.name if found else None, remaining) == (kind, rest)


def test_what_was_recorded_goes_before_what_the_text_looks_like() -> None:
    found = classify(sample("clinic_notice.txt"))
    policy = next(t for t in classifier().types if t.name == "policy")
    said = describe("a.txt", None, found, policy)
    assert said == "a.txt is a policy, as its record says; its text reads more like a notice."


def test_the_agent_answers_with_the_kind_and_the_sentence_that_shows_it(
    registry_engine: Engine, empty_database: str, tmp_path: Path
) -> None:
    services = make_services(empty_database, tmp_path)
    ingest(services, SAMPLES / "referral_policy.docx")
    ingest(services, SAMPLES / "clinic_notice.txt")
    secret = tmp_path / "board_policy.txt"
    secret.write_text("Board policy\n\nThis policy applies to all members of the board. Effective date 1 May 2024.\n")
    ingest(services, secret, acl=("user:anna",))

    def answer(question: str, name: str = "local") -> list[str]:
        return [statement.text for statement in classification.run(services, asked(question, name)).statements]

    state = asked("What kind of document is referral_policy.docx?")
    finding = classification.run(services, state)
    (statement,) = finding.statements
    assert statement.text == "referral_policy.docx is a policy (Referral and prior authorization policy)."
    assert "policy" in cite(services.stores, state["principal"], statement.spans)[statement.spans[0]].quote.lower()
    assert answer("Is the clinic notice a policy?") == ["No, clinic_notice.txt is a notice, not a policy."]
    assert len(answer("Which documents are policies?")) == 1
    assert len(answer("Which documents are policies?", "anna")) == 1
    assert "board_policy.txt" in answer("Which documents are policies?", "anna")[0]
    none = classification.run(services, asked("Which documents are invoices?"))
    assert (none.state, none.why) == ("empty", "None of the 2 documents that you can see is an invoice.")
