from __future__ import annotations

import time
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foundation.adapters.embedded.embeddings import OnnxEmbedder
from foundation.errors import NoContent
from foundation.types import Chunk, Element, ParsedDocument
from pipelines.chunking import TARGET_TOKENS, chunk_document, embedding_text
from pipelines.parsing.assembly import Assembly, Kind


@cache
def embedder(model: str = "bge-small-en-v1.5") -> OnnxEmbedder:
    return OnnxEmbedder(model)


def document(*parts: tuple[Kind, str] | tuple[Kind, str, int], title: str | None = None) -> ParsedDocument:
    """Elements from (kind, text) or (kind, text, heading level); a footer ends a page."""
    assembly, page = Assembly(), 1
    for kind, text, *level in parts:
        assembly.add(kind, text, page=page, level=level[0] if level else None)
        page += kind == "footer"
    return ParsedDocument(assembly.text(), assembly.elements, "test/1", title=title)


def chunks_of(parsed: ParsedDocument, model: str = "bge-small-en-v1.5", **options: int) -> list[Chunk]:
    return chunk_document(parsed, version_id="v" * 64, embedder=embedder(model), **options)


def paragraph(sentences: int, word: str = "fever") -> str:
    return " ".join(f"Sentence number {i} says that {word} lasts for {i} days in adults." for i in range(sentences))


def assert_sound(parsed: ParsedDocument, chunks: list[Chunk], model: str) -> None:
    assert all(c.text == parsed.text[c.start : c.end] and c.text == c.text.strip() != "" for c in chunks)
    assert [c.ordinal for c in chunks] == list(range(len(chunks)))
    assert all(a.start < b.start and a.end < b.end for a, b in pairwise(chunks))
    assert len({c.chunk_id for c in chunks}) == len(chunks)
    for chunk in chunks:
        assert embedder(model).count_tokens(embedding_text(chunk)) + 2 <= embedder(model).max_tokens
        assert chunk.tokens == embedder(model).count_tokens(chunk.text)
    covered = bytearray(len(parsed.text))
    for chunk in chunks:
        covered[chunk.start : chunk.end] = b"\x01" * (chunk.end - chunk.start)
    for element in parsed.elements:
        quoted = [covered[i] for i in range(element.start, element.end) if not parsed.text[i].isspace()]
        assert not any(quoted) if element.kind in ("header", "footer") else all(quoted), element


words = st.text(min_size=1, max_size=30).map(str.strip) | st.sampled_from(
    [
        "mg.",
        "5.5",
        "Dr.",
        "Fever?",
        "e.g.",
        "线粒体。",
        "½",
        "ﬁ",
        "x" * 130,
        "\n",
        "\n\n- a",
        "|",
        "a" * 5000,
        "İ",
        "👩‍⚕️",
        "[SEP]",
        "\x0b",
        "a\x85b",
        "\u2028",
        "\u0301é",
        "한국어",
    ]
)
texts = st.lists(words, min_size=1, max_size=60).map(" ".join).map(str.strip).filter(bool)
kinds = st.sampled_from(["title", "paragraph", "list_item", "table", "header", "footer"])


@given(
    parts=st.lists(st.tuples(kinds, texts, st.integers(1, 4)), min_size=1, max_size=12),
    repeat=st.integers(1, 12),
    model=st.sampled_from(["bge-small-en-v1.5", "all-MiniLM-L6-v2"]),
    overlap=st.integers(0, 3),
)
@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
def test_chunks_are_exact_ordered_complete_and_within_the_models_limit(
    parts: list[tuple[Kind, str, int]], repeat: int, model: str, overlap: int
) -> None:
    parsed = document(*((kind, " ".join([text] * repeat), level) for kind, text, level in parts))
    if all(kind in ("header", "footer") for kind, _, _ in parts):
        with pytest.raises(NoContent):
            chunks_of(parsed, model, overlap_sentences=overlap)
    else:
        assert_sound(parsed, chunks_of(parsed, model, overlap_sentences=overlap), model)


def test_a_section_is_the_path_of_headings_and_chunks_keep_to_it() -> None:
    parsed = document(
        ("title", "Ibuprofen", 1),
        ("title", "Dosage", 2),
        ("paragraph", paragraph(8)),
        ("title", "Side effects", 2),
        ("paragraph", paragraph(8, "rash")),
    )
    dosage, effects = chunks_of(parsed)
    assert (dosage.section, effects.section) == ("Ibuprofen > Dosage", "Ibuprofen > Side effects")
    assert dosage.text.startswith("Ibuprofen\n\nDosage\n\nSentence")
    assert effects.text.startswith("Side effects\n\n")


def test_small_sections_share_a_chunk_and_no_heading_is_left_at_a_chunks_end() -> None:
    short = [(k, t, 2) for i in range(30) for k, t in (("title", f"Question {i}?"), ("paragraph", "Call the ward."))]
    chunks = chunks_of(document(*short))  # type: ignore[arg-type]
    assert 1 < len(chunks) < 30
    assert all(c.text.startswith("Question") and c.text.endswith("ward.") for c in chunks)


def test_the_documents_title_is_the_root_of_the_path() -> None:
    chunks = chunks_of(document(("title", "Dose", 1), ("paragraph", "Take one."), title="Metformin leaflet"))
    assert [c.section for c in chunks] == ["Metformin leaflet > Dose"]


def test_a_title_that_headings_already_say_is_not_said_twice() -> None:
    parsed = document(
        ("title", "METFORMIN", 1), ("title", "leaflet:", 2), ("paragraph", "Take one."), title="Metformin Leaflet"
    )
    assert [c.section for c in chunks_of(parsed)] == ["METFORMIN > leaflet:"]


def test_sentences_stay_whole_and_a_cut_paragraph_overlaps_by_a_sentence() -> None:
    chunks = chunks_of(document(("paragraph", paragraph(60))))
    assert len(chunks) >= 3
    assert all(c.text.startswith("Sentence") and c.text.endswith("adults.") for c in chunks)
    assert all(TARGET_TOKENS * 0.6 < c.tokens < TARGET_TOKENS * 1.5 for c in chunks)
    for a, b in pairwise(chunks):
        assert a.text.endswith(b.text[: b.text.index("adults.") + len("adults.")])


def test_rows_from_the_middle_of_a_table_carry_its_header_in_their_section() -> None:
    rows = "\n".join(f"Drug {i} | {i} mg | twice a day with meals" for i in range(80))
    parsed = document(("title", "Formulary", 1), ("table", "Name | Dose | How\n--- | --- | ---\n" + rows))
    first, *others = chunks_of(parsed)
    assert first.section == "Formulary"
    assert others
    assert {c.section for c in others} == {"Formulary > Name | Dose | How"}
    assert all(c.text.startswith("Drug ") and c.text.endswith("meals") for c in others)


def test_a_page_footer_is_never_quoted_and_pages_are_those_of_the_start() -> None:
    parsed = document(
        ("header", "Leaflet"),
        ("paragraph", paragraph(4)),
        ("footer", "Page 1 of 2"),
        ("paragraph", paragraph(4, "rash")),
    )
    chunks = chunks_of(parsed)
    assert [c.page for c in chunks] == [1, 2]
    assert not any("Page 1" in c.text or "Leaflet" in c.text for c in chunks)


def test_a_sentence_of_five_thousand_tokens_is_cut_between_words() -> None:
    parsed = document(("paragraph", " ".join(f"analgesic{i % 7}" for i in range(2500))))
    chunks = chunks_of(parsed)
    assert len(chunks) > 20
    assert all(c.text.startswith("analgesic") and c.text[-1].isdigit() for c in chunks)


def test_ids_change_with_the_parser_and_repeat_otherwise() -> None:
    parsed = document(("paragraph", "Take one."))
    again = document(("paragraph", "Take one."))
    other = ParsedDocument(parsed.text, parsed.elements, "test/2")
    assert chunks_of(parsed) == chunks_of(again)
    assert chunks_of(parsed)[0].chunk_id != chunks_of(other)[0].chunk_id


def test_a_text_without_elements_is_one_paragraph_and_one_of_footers_alone_has_no_content() -> None:
    assert chunks_of(ParsedDocument("Take one.", [], "test/1"))[0].text == "Take one."
    with pytest.raises(NoContent):
        chunks_of(document(("footer", "Page 1")))


def test_a_long_table_and_a_long_book_take_seconds() -> None:
    table = "\n".join(f"{i} | {i * 7}" for i in range(10_000))
    book = "\n".join([paragraph(50)] * 100)
    started = time.process_time()
    chunks_of(document(("table", table), ("paragraph", book)))
    assert time.process_time() - started < 20


def test_chunks_of_a_real_long_document_are_sound(shared_data: Path) -> None:
    import pypdfium2

    path = shared_data / "retrieval" / "health_pdf_qa" / "niddk_eating_diabetes_508.pdf"
    assembly = Assembly()
    for number, page in enumerate(pypdfium2.PdfDocument(path), start=1):
        text = page.get_textpage().get_text_range().replace("\r\n", "\n").replace("\ufffe", "").strip()
        if text:
            assembly.add("paragraph", text, page=number)
    parsed = ParsedDocument(assembly.text(), assembly.elements, "test/1")
    chunks = chunks_of(parsed)
    assert_sound(parsed, chunks, "bge-small-en-v1.5")
    assert 100 < sum(c.tokens for c in chunks) / len(chunks) < 300
    assert isinstance(parsed.elements[0], Element)
