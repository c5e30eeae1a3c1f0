from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from ingested_documents import SAMPLES, asked, embedder, ingest, make_services, parsed, sample
from sqlalchemy import Engine

from foundation.registry.artefacts import get_chunk
from foundation.registry.database import transaction
from foundation.types import Element, ParsedDocument, Vector
from pipelines.parsing.assembly import Assembly, Kind
from query_service.agents import summarization
from query_service.citations import cite
from query_service.reasoning.summary import MOST_EMBEDDED, MOST_TOKENS, Summary, summarize
from query_service.reasoning.summary_sentences import sentences_of

NAMES = ("referral_policy.docx", "clinic_notice.txt", "cdc_outpatient_guide_508.pdf", "niddk_eating_diabetes_508.pdf")


def document(*parts: tuple[Kind, str] | tuple[Kind, str, int]) -> ParsedDocument:
    assembly = Assembly()
    for kind, text, *level in parts:
        assembly.add(kind, text, page=1, level=level[0] if level else None)
    return ParsedDocument(assembly.text(), assembly.elements, "test/1")


def said(summary: Summary) -> str:
    return " ".join(sentence.text for sentence in summary.sentences)


@pytest.mark.parametrize("name", NAMES)
def test_every_sentence_is_the_documents_own_in_its_order_and_none_twice(name: str) -> None:
    source = sample(name)
    summary = summarize(source, embedder())
    starts = [s.start for s in summary.sentences]
    assert 4 <= len(starts) <= 7 and starts == sorted(set(starts))
    for sentence in summary.sentences:
        assert " ".join(source.text[sentence.start : sentence.end].split()) == sentence.text
        assert sentence.text[-1] in ".!?" and "http" not in sentence.text and "...." not in sentence.text


def test_headers_footers_contents_references_and_links_are_no_sentences() -> None:
    source = document(
        ("header", "The ward manual is for internal use only today."),
        ("title", "Contents", 1),
        ("paragraph", "This is where each of the chapters can be found."),
        ("title", "Falls", 1),
        ("paragraph", "Staff assess the risk of falls of each patient within a day of admission."),
        ("paragraph", "Chapter one on falls and their causes ........ 12"),
        ("paragraph", "All forms are found at https://example.org/forms for everybody."),
        ("paragraph", "Beds are kept at the lowest height during the night."),
        ("paragraph", "Patients who fell are seen by a doctor within one hour."),
        ("title", "References", 1),
        ("paragraph", "Smith and Jones wrote a long paper on falls of the old."),
        ("footer", "Printed copies of this manual are not controlled documents."),
    )
    assert [s.text.split()[0] for s in sentences_of(source)] == ["Staff", "Beds", "Patients"]


def test_a_list_item_that_the_layout_cut_in_two_is_one_sentence() -> None:
    source = document(
        ("list_item", "● Use oil or spread without salt"),
        ("paragraph", "instead of butter on your bread."),
        ("list_item", "● Drink water with each of your meals."),
        ("paragraph", "The dietitian helps you to make a plan."),
    )
    texts = [s.text for s in sentences_of(source)]
    assert texts[0] == "Use oil or spread without salt instead of butter on your bread."
    assert "The dietitian helps you to make a plan." in texts


@pytest.mark.parametrize(
    ("name", "topic", "number", "heading", "words"),
    [
        ("referral_policy.docx", "denials appeals", "6", "6. Denials and appeals", "appeal"),
        ("referral_policy.docx", "", "5.1", "5.1 Chronic kidney disease", "nephrology"),
        ("niddk_eating_diabetes_508.pdf", "starches", None, "Starches", "starch"),
        ("cdc_outpatient_guide_508.pdf", "injection safety", None, "Injection Safety", "syringe"),
    ],
)
def test_a_section_is_summed_up_from_its_own_sentences(
    name: str, topic: str, number: str | None, heading: str, words: str
) -> None:
    source = sample(name)
    summary = summarize(source, embedder(), topic=topic, section=number)
    assert heading in summary.sections
    assert words in said(summary).lower()
    whole = {s.start for s in summarize(source, embedder()).sentences}
    assert {s.start for s in summary.sentences} != whole


def test_two_sections_that_are_named_both_have_their_say() -> None:
    summary = summarize(sample("clinic_notice.txt"), embedder(), topic="vaccinations", titled="holiday hours")
    assert {s.heading for s in summary.sentences} == {"HOLIDAY HOURS", "VACCINATION CAMPAIGN"}


def test_a_topic_without_a_heading_weighs_in_the_ranking() -> None:
    source = sample("clinic_notice.txt")
    focused = summarize(source, embedder(), topic="shingles vaccine doses")
    assert "shingles" in said(focused).lower()
    assert "shingles" not in said(summarize(source, embedder())).lower()


def test_a_section_that_is_not_there_is_not_replaced_by_another() -> None:
    summary = summarize(sample("referral_policy.docx"), embedder(), section="9")
    assert summary.section_missing and not summary.sentences


def test_sentences_that_say_the_same_stand_once() -> None:
    parts: list[tuple[Kind, str]] = [
        ("paragraph", "All visitors wash their hands before they enter the ward."),
        ("paragraph", "Before they enter the ward all visitors wash their hands."),
        ("paragraph", "Children under six years visit with a parent only."),
        ("paragraph", "Flowers in soil are not allowed on the intensive care unit."),
        ("paragraph", "The evening round of the doctors starts at seven."),
    ]
    summary = summarize(document(*parts), embedder())
    assert said(summary).count("wash their hands") == 1


def test_a_hundred_pages_are_read_within_the_budget_of_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    source = sample("cdc_outpatient_guide_508.pdf")
    elements, text = [], ""
    for copy in range(3):  # 132 pages; each copy says which it is, or it would be furniture
        for element in source.elements:
            piece = re.sub(r"\.(?=\s|$)", f" in part {copy}.", source.text[element.start : element.end])
            elements.append(Element(element.kind, len(text), len(text) + len(piece), element.page, element.level))
            text += f"{piece}\n\n"
    given: list[str] = []
    embed = embedder().embed_passages

    def counted(texts: Sequence[str]) -> Vector:
        given.extend(texts)
        return embed(texts)

    monkeypatch.setattr(embedder(), "embed_passages", counted)
    summary = summarize(ParsedDocument(text, elements, "test/1"), embedder())
    assert summary.read > 2 * MOST_EMBEDDED
    assert len(given) <= MOST_EMBEDDED and sum(embedder().count_tokens(t) for t in given) <= MOST_TOKENS
    assert len(summary.sentences) == 7


def test_a_record_without_sentences_gives_no_summary(shared_data: Path) -> None:
    path = next((shared_data / "documents" / "patient_docs").glob("doc_b8dff22b*.pdf"))
    assert summarize(parsed(path), embedder()).sentences == ()


def test_the_agents_statements_can_all_be_cited(registry_engine: Engine, empty_database: str, tmp_path: Path) -> None:
    services = make_services(empty_database, tmp_path)
    version = ingest(services, SAMPLES / "referral_policy.docx")
    state = asked("Summarize section 6 of the referral policy, denials and appeals, in three sentences.")
    finding = summarization.run(services, state)
    assert finding.state == "done" and len(finding.statements) == 3
    assert finding.intro is not None and "6. Denials and appeals" in finding.intro
    spans = [span for statement in finding.statements for span in statement.spans]
    cited = cite(services.stores, state["principal"], spans)
    for statement in finding.statements:
        assert " ".join(cited[statement.spans[0]].quote.split()) == statement.text
    with transaction(registry_engine) as connection:
        for span in spans:
            chunk = get_chunk(connection, span.chunk_id)
            assert chunk is not None and chunk["version_id"] == version
            assert chunk["start_char"] <= span.start and span.end <= chunk["end_char"]
    missing = summarization.run(services, asked("Summarize section 9 of the referral policy"))
    assert (missing.state, missing.why) == ("empty", "referral_policy.docx has no section 9.")


def test_a_table_says_first_what_it_is_and_then_some_of_its_values() -> None:
    source = document(
        ("title", "wards.csv", 1),
        ("paragraph", "Table of 12 rows with the columns ward, head nurse, beds, floor."),
        ("paragraph", "ward: North, South, East, West, Surgery, Maternity …"),
        ("paragraph", "head nurse: Adams, Brown, Clark, Davis, Evans, Ford, Green, Hill …"),
        ("paragraph", "floor: ground, first, second, third, fourth …"),
    )
    summary = summarize(source, embedder())
    assert summary.sentences[0].text.startswith("Table of 12 rows") and len(summary.sentences) > 1
