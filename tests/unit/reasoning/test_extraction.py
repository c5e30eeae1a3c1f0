from __future__ import annotations

from functools import cache

import pytest

from foundation.adapters.embedded.embeddings import OnnxEmbedder
from foundation.types import Element, Hit, ParsedDocument
from pipelines.chunking import chunk_document, embedding_text
from query_service.reasoning.answer_kinds import asked, fits
from query_service.reasoning.extraction import Extraction, Thresholds, extract
from query_service.reasoning.question_words import asked_about, content_words, coverage, rarity

LEAFLET = """Ibuprofen is a medicine that relieves pain and lowers fever. It belongs to the non-steroidal \
anti-inflammatory drugs.

Adults and children over 12 take 200 mg to 400 mg every six hours. Do not take more than 1,200 mg in 24 hours without \
advice. Swallow the tablets with water.

Stop and call a doctor when you have:
- black stools
- a rash with blisters
- swelling of the face

Keep the tablets below 25 °C. The pack is good for three years after opening."""
CLINIC = """The hip fracture clinic opens on weekdays at 8 a.m. Patients bring their referral letter. About 12% of the \
patients in 2023 came without one. They wait for 40 minutes on average."""
LOW_SUGAR = """Low blood glucose can make you feel shaky. If you have these symptoms, check your blood glucose. \
If it is below 70, have one of the following right away:

● 3 glucose tablets

● 1/2 cup of fruit juice. Take it slowly.

After 15 minutes, check your blood glucose again. If it is still too low, have another serving.

Examples of starches are

• bread

• rice

Milk has calcium."""
MENU = "The canteen serves soup on Mondays. Its terrace has a view of the river. Prices are on the board."


@cache
def embedder() -> OnnxEmbedder:
    return OnnxEmbedder()


def hits_for(question: str, *texts: str) -> list[Hit]:
    """One hit a paragraph-sized chunk, ranked and scored by the real model, as the index would."""
    vector, hits = embedder().embed_query(question), []
    for number, text in enumerate(texts):
        elements = [Element("paragraph", 0, len(text))]
        parsed = ParsedDocument(text, elements, "test/1", title=None)
        for chunk in chunk_document(parsed, version_id=f"version{number}", embedder=embedder()):
            cosine = float(embedder().embed_passages([embedding_text(chunk)])[0] @ vector)
            hits.append(
                Hit(chunk.chunk_id, chunk.version_id, chunk.start, chunk.end, chunk.text, cosine, {"dense": cosine})
            )
    return sorted(hits, key=lambda hit: -hit.score)


def ask(question: str, *texts: str, elsewhere: str = "") -> Extraction:
    """elsewhere: text of documents that the question does not find."""
    thresholds = Thresholds.for_model(embedder().model)
    known = f"{' '.join(texts)} {elsewhere}".lower()
    hits = hits_for(question, *texts)
    return extract(question, hits, embedder(), threshold=thresholds, is_known=lambda word: word in known)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is ibuprofen?", "relieves pain"),
        ("What dose of ibuprofen do adults take?", "200 mg to 400 mg"),
        ("How much ibuprofen may I take in 24 hours at most?", "1,200 mg"),
        ("How long are the ibuprofen tablets good after opening the pack?", "three years"),
        ("When does the hip fracture clinic open?", "8 a.m."),
        ("What percentage of hip clinic patients came without a referral letter?", "12%"),
    ],
)
def test_the_sentence_that_answers_is_the_best_one(question: str, answer: str) -> None:
    result = ask(question, LEAFLET, CLINIC, MENU)
    assert result.status == "answered"
    assert answer in max(result.sentences, key=lambda s: s.score).text


def test_every_sentence_is_a_verbatim_span_of_its_version() -> None:
    result = ask("What dose of ibuprofen do adults take?", LEAFLET, CLINIC, MENU)
    texts = {"version0": LEAFLET, "version1": CLINIC, "version2": MENU}
    assert result.sentences
    assert all(texts[s.version_id][s.start : s.end] == s.text for s in result.sentences)


def test_a_list_comes_with_its_lead_in_and_all_its_items() -> None:
    texts = [s.text for s in ask("When should I stop ibuprofen and call a doctor?", LEAFLET, CLINIC).sentences]
    assert [t for t in texts if t.startswith(("Stop", "-"))] == [
        "Stop and call a doctor when you have:",
        "- black stools",
        "- a rash with blisters",
        "- swelling of the face",
    ]


def test_an_instruction_is_quoted_from_its_lead_in_to_the_step_after_its_list() -> None:
    texts = [s.text for s in ask("What should I do if my blood glucose is below 70?", LOW_SUGAR, CLINIC).sentences]
    assert texts[-6:] == [
        "If you have these symptoms, check your blood glucose.",
        "If it is below 70, have one of the following right away:",
        "● 3 glucose tablets",
        "● 1/2 cup of fruit juice. Take it slowly.",
        "After 15 minutes, check your blood glucose again.",
        "If it is still too low, have another serving.",
    ]


def test_a_lead_in_needs_no_colon() -> None:
    texts = [s.text for s in ask("What are examples of starches?", LOW_SUGAR, CLINIC).sentences]
    assert texts == ["Examples of starches are", "• bread", "• rice"]


def test_a_sentence_that_two_overlapping_chunks_share_is_given_once() -> None:
    question = "What dose of ibuprofen do adults take?"
    whole = hits_for(question, LEAFLET)[0]
    cut = LEAFLET.index("Adults")
    part = Hit("chk_2", whole.version_id, cut, whole.end, LEAFLET[cut : whole.end], 0.5, {"dense": 0.5})
    result = extract(question, [whole, part], embedder(), threshold=Thresholds.for_model(embedder().model))
    spans = [(s.start, s.end) for s in result.sentences]
    assert len(spans) == len(set(spans)) > 0
    assert spans == sorted(spans)


@pytest.mark.parametrize(
    "question",
    [
        "What is the capital of France?",
        "Was ist die Hauptstadt von Frankreich?",
        "How do I change the oil of a diesel engine?",
        "What is the dose of amoxicillin for a child?",
        "asdf qwer zxcv",
        "???",
        "",
    ],
)
def test_without_evidence_it_says_so_and_quotes_nothing(question: str) -> None:
    result = ask(question, LEAFLET, CLINIC, MENU)
    assert (result.status, result.sentences) == ("no_evidence", [])


LIMITS = "Time limits for prior authorization: home oxygen therapy is decided in 8 hours, a knee operation in 2 days."


def test_of_a_thing_that_no_document_names_there_is_less_evidence() -> None:
    question = "What is the time limit for a prior authorization of hair transplantation?"
    unknown, known = ask(question, LIMITS, MENU), ask(question, LIMITS, MENU, elsewhere="transplantation")
    assert (unknown.features.unknown, known.features.unknown) == (True, False)
    assert unknown.confidence < known.confidence - 0.1


def test_another_word_for_the_thing_is_no_reason_to_refuse() -> None:
    assert ask("What should I do for low blood sugar?", LOW_SUGAR, MENU).status == "answered"
    assert ask("What is the time limit for a prior authorization of home ventilation?", LIMITS).status == "answered"


@pytest.mark.parametrize(
    ("question", "subjects"),
    [
        ("What is the price of a heart transplant for an adult?", [["heart", "transplant"], ["adult"]]),
        ("What are the side effects of the drug that Ann takes?", [["drug"]]),
        ("How many came in the summer of 2019?", []),
        ("What is the use of it?", []),
    ],
)
def test_what_a_question_is_about_stands_after_of_for_and_about(question: str, subjects: list[list[str]]) -> None:
    assert asked_about(question) == subjects


def test_no_hits_are_no_evidence() -> None:
    assert ask("What is ibuprofen?").status == "no_evidence"


def test_another_models_cosines_are_not_trusted() -> None:
    thresholds = Thresholds.for_model("titan-embed-text-v2")
    assert thresholds.coefficients[:2] == (0.0, 0.0)
    hits = hits_for("What dose of ibuprofen do adults take?", LEAFLET, MENU)
    assert (
        extract("What dose of ibuprofen do adults take?", hits, embedder(), threshold=thresholds).status == "answered"
    )


@pytest.mark.parametrize(
    ("question", "kind", "sentence", "other"),
    [
        ("What dose is safe?", "dose", "Take 5 mg.", "Take it."),
        ("What percentage relapsed?", "percent", "In 12 % it came back.", "It came back in 12 patients."),
        ("How long does it last?", "duration", "It lasts two to three weeks.", "It lasts long."),
        ("When was it approved?", "date", "It was approved in 1998.", "It was approved."),
        ("When does it open?", "time", "It opens on Mondays at 8:30.", "It opens to all."),
        ("What does a visit cost?", "money", "A visit is USD 40.", "A visit takes 40 minutes."),
        ("Who leads the ward?", "person", "Dr. Ada Berg leads it.", "It is led well."),
        ("Why is it locked?", "reason", "It is locked because of thefts.", "It is locked at night."),
        ("What is the phone number of the desk?", "phone", "Call 555-0140.", "Call the desk."),
        ("How many took part?", "number", "Twelve nurses took part.", "Nurses took part."),
    ],
)
def test_a_question_tells_what_kind_of_answer_fits(question: str, kind: str, sentence: str, other: str) -> None:
    assert asked(question) == kind
    assert fits(asked(question), sentence)
    assert not fits(asked(question), other)


def test_rare_words_weigh_more_and_inflections_match() -> None:
    weights = rarity("What are the symptoms of nephroblastomatosis?", embedder())
    assert weights[content_words("nephroblastomatosis")[0]] > weights[content_words("symptom")[0]]
    assert coverage(weights, frozenset(content_words("A symptom"))) < 0.5
    assert coverage(weights, frozenset(content_words("Symptoms of nephroblastomatosis"))) == 1
