from __future__ import annotations

from pathlib import Path

import pytest
from ingested_documents import SAMPLES, asked, ingest, make_services
from sqlalchemy import Engine

from foundation.registry.openings import Opening
from foundation.types import Hit
from query_service.agents import classification, summarization
from query_service.reasoning.targets import Target, resolve

KINDS = {"policy": "policy", "booklet": "patient_education", "notice": "notice", "price list": "price_list"}
TITLES = {
    "hand_hygiene_policy_2024.docx": "Hand hygiene on the wards",
    "hand_hygiene_policy_2025.docx": "Hand hygiene on the wards",
    "visiting_hours.txt": "VISITING HOURS",
    "asthmaAtHome.pdf": "What to do about asthma at home",
    "lab price list.xlsx": None,
    "staff.csv": None,
}
DOCUMENTS = [
    Opening(f"doc_{number}", f"version_{number}", name, None, title)
    for number, (name, title) in enumerate(TITLES.items())
]


def ask(question: str, documents: list[Opening] = DOCUMENTS, **options: object) -> Target:
    return resolve(question, documents, kinds=KINDS, **options)  # type: ignore[arg-type]


def names(target: Target) -> list[str]:
    return [document.file_name for document in target.documents]


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("Summarize visiting_hours.txt", "visiting_hours.txt"),
        ("Summarize visiting_hours, please", "visiting_hours.txt"),
        ("What does the document about visiting hours say?", "visiting_hours.txt"),
        ("Give me the gist of “What to do about asthma at home”", "asthmaAtHome.pdf"),
        ("Sum up the booklet on asthma at home", "asthmaAtHome.pdf"),
        ("Summarize the hand hygiene policy of 2025", "hand_hygiene_policy_2025.docx"),
        ("Summarize lab price list.xlsx", "lab price list.xlsx"),
        ("What is in the price list?", "lab price list.xlsx"),
    ],
)
def test_a_document_is_found_by_the_ways_people_name_it(question: str, name: str) -> None:
    target = ask(question)
    assert names(target) == [name]
    assert not target.ambiguous


def test_two_that_may_be_meant_are_both_given_with_a_reason() -> None:
    target = ask("Summarize the hand hygiene policy")
    assert target.ambiguous
    assert sorted(names(target)) == ["hand_hygiene_policy_2024.docx", "hand_hygiene_policy_2025.docx"]
    assert target.reason is not None and "hand_hygiene_policy_2024.docx" in target.reason


def test_two_that_are_both_named_are_no_ambiguity() -> None:
    target = ask("Compare visiting_hours.txt and staff.csv")
    assert sorted(names(target)) == ["staff.csv", "visiting_hours.txt"] and not target.ambiguous
    target = ask("Compare the visiting hours with asthma at home")
    assert sorted(names(target)) == ["asthmaAtHome.pdf", "visiting_hours.txt"] and not target.ambiguous


def test_a_name_that_nobody_has_is_said_and_no_other_document_is_taken() -> None:
    target = ask("Summarize merger_plan.docx", retrieve=lambda _: [hit("version_2", 0.9, 1.0)])
    assert names(target) == [] and target.reason is not None and "merger_plan.docx" in target.reason


def test_what_is_asked_about_the_document_is_kept_apart_from_its_name() -> None:
    target = ask("Summarize section 3.2 of hand_hygiene_policy_2024.docx, gloves and jewellery")
    assert (target.section, target.topic) == ("3.2", "gloves jewellery")
    assert ask("Summarize the hand hygiene policy of 2024 in three sentences").topic == ""
    assert ask("Summarize the chapter on hand hygiene in the policy of 2024 about hygiene").topic == "hand hygiene"


def hit(version: str, dense: float, score: float, text: str = "In an emergency call us.") -> Hit:
    return Hit(f"chunk_{version}_{score}", version, 0, 4, text, score, {"dense": dense})


def test_without_a_name_the_document_with_most_of_the_near_passages_is_taken() -> None:
    question = "Summarize what to do in an emergency"
    near = [hit("version_2", 0.8, 1.0), hit("version_2", 0.7, 0.8), hit("version_3", 0.65, 0.4)]
    assert names(ask(question, retrieve=lambda _: near)) == ["visiting_hours.txt"]
    spread = [hit(f"version_{n}", 0.7, 0.5) for n in (2, 3, 4)]
    assert ask(question, retrieve=lambda _: spread).ambiguous
    far = [hit("version_2", 0.5, 1.0)]
    target = ask(question, retrieve=lambda _: far)
    assert names(target) == [] and target.reason


def test_near_passages_without_the_words_of_the_topic_are_no_ground_to_take_a_document() -> None:
    near = [hit("version_3", 0.9, 1.0, "Asthma at home: breathe slowly.")]
    for question in ("asdf qwer zxcv", "tell me a joke", "Summarize a revolution in breathing", "Classify"):
        target = ask(question, retrieve=lambda _: near)
        assert names(target) == [] and target.reason, question
    target = ask("Summarize slow breathing", retrieve=lambda _: near)
    assert names(target) == ["asthmaAtHome.pdf"] and not target.named


def test_a_document_named_by_its_kind_alone_must_hold_the_topic() -> None:
    rules = [hit("version_4", 0.5, 1.0, "Blood count: 12 USD")]
    target = ask("Summarize the price list for space travel", retrieve=lambda _: rules)
    assert names(target) == [] and target.reason is not None and "space travel" in target.reason
    target = ask("Summarize the price list for blood counts", retrieve=lambda _: rules)
    assert names(target) == ["lab price list.xlsx"] and target.named
    asked_of: list[object] = []
    ask("Summarize the staff who love opera", retrieve=lambda ids: asked_of.append(ids) or ())
    assert asked_of == [["doc_5"]]


def test_the_kind_of_a_document_that_nobody_named_is_not_told(
    registry_engine: Engine, empty_database: str, tmp_path: Path
) -> None:
    services = make_services(empty_database, tmp_path)
    ingest(services, SAMPLES / "clinic_notice.txt")
    topic = "What about the vaccination campaign?"
    assert summarization.run(services, asked(topic)).state == "done"
    for question in (topic, "asdf qwer zxcv", "tell me a joke"):
        found = classification.run(services, asked(question))
        assert (found.state, found.statements) == ("empty", []) and found.why
    assert classification.run(services, asked("What kind of document is the clinic notice?")).state == "done"


def test_one_chosen_document_may_stay_unnamed() -> None:
    assert names(ask("Summarize it", [DOCUMENTS[2]], chosen=True)) == ["visiting_hours.txt"]
    assert names(ask("Summarize this document")) == []


def test_one_of_five_thousand_documents_is_found_by_its_name() -> None:
    words = ("infection", "falls", "staffing", "stock")
    many = [
        Opening(f"doc_{n}", f"version_{n}", f"{words[n % 4]}_report_{n}.pdf", None, f"Report {n} on {words[n % 4]}")
        for n in range(5000)
    ]
    assert names(ask("Summarize the visiting hours", [*DOCUMENTS, *many])) == ["visiting_hours.txt"]


def test_what_the_principal_may_not_see_leaves_no_trace(
    registry_engine: Engine, empty_database: str, tmp_path: Path
) -> None:
    services = make_services(empty_database, tmp_path)
    ingest(services, SAMPLES / "clinic_notice.txt", acl=("user:anna",))
    seen = summarization.run(services, asked("Summarize the clinic notice", "anna"))
    unseen = summarization.run(services, asked("Summarize the clinic notice", "local"))
    absent = summarization.run(services, asked("Summarize clinic_notice.txt", "local"))
    assert seen.state == "done" and len(seen.statements) >= 4
    assert (unseen.state, unseen.statements) == ("empty", [])
    assert "notice" not in (unseen.why or "") and absent.why == unseen.why
