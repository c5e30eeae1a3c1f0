from __future__ import annotations

import re
from pathlib import Path

import pytest
from parsing_checks import assert_exact, kinds
from pdf_files import lines, write_pdf

from foundation.errors import DamagedFile, EmptyFile, EncryptedFile, NoContent
from pipelines.parsing import pdf


def parse(path: Path) -> pdf.ParsedDocument:
    document = pdf.parse(path, path.name)
    assert_exact(document)
    return document


def body(*texts: str, y: float = 600) -> str:
    return lines(*texts, y=y)


LONG = "the patient was seen in the clinic and given the usual advice about diet and exercise"


def test_wrapped_lines_become_a_paragraph_and_larger_ones_headings_with_levels(tmp_path: Path) -> None:
    page = " ".join(
        [
            lines("Discharge guide", y=740, size=22),
            lines("Medicines", y=700, size=15),
            body("Take one tablet of warfarin each day with water, at the same hour, and", "never two at once.", y=670),
            lines("After meals", y=620, font="F2"),
            body("Rest for " + LONG, y=600),
        ]
    )
    document = parse(write_pdf(tmp_path / "a.pdf", [page]))
    assert kinds(document) == [
        ("title", "Discharge guide"),
        ("title", "Medicines"),
        ("paragraph", "Take one tablet of warfarin each day with water, at the same hour, and never two at once."),
        ("title", "After meals"),
        ("paragraph", "Rest for " + LONG),
    ]
    assert [e.level for e in document.elements if e.kind == "title"] == [1, 2, 3]
    assert document.title == "Discharge guide"
    assert (document.page_count, document.page_sizes) == (1, [(612, 792)])


def test_list_items_stand_alone_and_short_lines_keep_their_ends(tmp_path: Path) -> None:
    page = body("Name: Ann Example", "Born: 1 May 1950", y=700) + " " + body("1. ECG", "2. Troponin", "- rest", y=600)
    assert kinds(parse(write_pdf(tmp_path / "a.pdf", [page]))) == [
        ("paragraph", "Name: Ann Example\nBorn: 1 May 1950"),
        ("list_item", "1. ECG"),
        ("list_item", "2. Troponin"),
        ("list_item", "- rest"),
    ]


def test_an_item_with_a_small_bullet_keeps_its_wrapped_lines(tmp_path: Path) -> None:
    page = " ".join(
        [
            lines("-", x=90, y=600, size=7),
            lines("one serving of glucose gel, which is the amount equal to", "15 grams of sugar", x=102, y=600),
            lines("-", x=90, y=570, size=7),
            lines("a cup of milk", x=102, y=570),
            body("After 15 minutes, check again.", y=550),
        ]
    )
    assert kinds(parse(write_pdf(tmp_path / "a.pdf", [page]))) == [
        ("list_item", "- one serving of glucose gel, which is the amount equal to 15 grams of sugar"),
        ("list_item", "- a cup of milk"),
        ("paragraph", "After 15 minutes, check again."),
    ]


def test_a_broken_word_is_mended_and_a_compound_keeps_its_hyphen(tmp_path: Path) -> None:
    page = body(
        f"{LONG} of exam-",
        f"ple and of long-term care; {LONG} and long-",
        "term use with COVID-",
        "19 cases.",
    )
    document = parse(write_pdf(tmp_path / "a.pdf", [page]))
    text = document.text
    assert "of example and" in text
    assert text.count("long-term") == 2
    assert "COVID-19 cases" in text
    halves = [w for w in document.word_boxes if text[w.start : w.end] in ("exam", "ple")]
    assert len(halves) == 2 and halves[0].end == halves[1].start
    assert halves[1].box[1] > halves[0].box[3] - 1


RULES = "1 w " + " ".join(f"72 {y} m 372 {y} l S" for y in (700, 680, 660, 640)) + " "
RULES += " ".join(f"{x} 640 m {x} 700 l S" for x in (72, 172, 272, 372)) + " "
CELLS = [("Drug", "Dose", "Route"), ("Warfarin", "5 mg", "oral"), ("Heparin", "", "s.c.")]


def ruled_table() -> str:
    cells = [
        (x, y, t)
        for y, row in zip((685, 665, 645), CELLS, strict=True)
        for x, t in zip((76, 176, 276), row, strict=True)
    ]
    return RULES + " ".join(lines(t, x=x, y=y) for x, y, t in cells if t)


def test_a_ruled_table_is_one_element_of_rows_and_its_text_stands_nowhere_else(tmp_path: Path) -> None:
    page = body("Before " + LONG, y=730) + " " + ruled_table() + " " + body("After " + LONG, y=600)
    document = parse(write_pdf(tmp_path / "a.pdf", [page]))
    assert [kind for kind, _ in kinds(document)] == ["paragraph", "table", "paragraph"]
    assert kinds(document)[1][1] == "Drug | Dose | Route\nWarfarin | 5 mg | oral\nHeparin | | s.c."
    assert document.text.count("Warfarin") == 1
    [box] = [w.box for w in document.word_boxes if document.text[w.start : w.end] == "Warfarin"]
    assert 76 <= box[0] < box[2] < 172 and 112 < box[1] < box[3] < 132


@pytest.mark.parametrize("repeated", [True, False])
def test_a_table_over_a_page_break_is_one_with_one_header(tmp_path: Path, repeated: bool) -> None:
    first = body("Before " + LONG, y=730) + " " + ruled_table() + " " + lines("Page 1 of 2", y=30)
    second = ruled_table().replace("(Warfarin)", "(Aspirin)").replace("(Heparin)", "(Digoxin)")
    if not repeated:
        second = second.replace("(Drug)", "(Naproxen)").replace("(Dose)", "(9 mg)").replace("(Route)", "(oral)")
    document = parse(write_pdf(tmp_path / "a.pdf", [first, second + " " + lines("Page 2 of 2", y=30)]))
    [table] = [text for kind, text in kinds(document) if kind == "table"]
    middle = [] if repeated else ["Naproxen | 9 mg | oral"]
    assert table.split("\n") == [
        "Drug | Dose | Route",
        "Warfarin | 5 mg | oral",
        "Heparin | | s.c.",
        *middle,
        "Aspirin | 5 mg | oral",
        "Digoxin | | s.c.",
    ]
    pages = {document.text[w.start : w.end]: w.page for w in document.word_boxes}
    assert (pages["Warfarin"], pages["Aspirin"]) == (1, 2)


def test_a_frame_around_text_is_no_table(tmp_path: Path) -> None:
    frame = "1 w 60 500 400 200 re S " + body("One " + LONG, y=650)
    assert [kind for kind, _ in kinds(parse(write_pdf(tmp_path / "a.pdf", [frame])))] == ["paragraph"]


def test_running_headers_and_footers_are_marked_whatever_their_page_number(tmp_path: Path) -> None:
    pages = [
        " ".join(
            [lines("Ward manual 2024", y=770, size=9), body(f"Text of page {n} {LONG}"), lines(f"Page {n} of 4", y=30)]
        )
        for n in range(1, 5)
    ]
    document = parse(write_pdf(tmp_path / "a.pdf", pages))
    assert [kind for kind, _ in kinds(document)] == ["header", "paragraph", "footer"] * 4
    assert [e.page for e in document.elements] == [n for n in range(1, 5) for _ in range(3)]


def test_a_page_without_text_is_a_warning_and_none_with_text_a_failure(tmp_path: Path) -> None:
    drawing = " ".join(f"{x} {y} m {x + 30} {y + 20} l S" for x in range(50, 550, 50) for y in range(50, 650, 100))
    square = "10 10 200 200 re f"
    mixed = parse(write_pdf(tmp_path / "mixed.pdf", [body(LONG), drawing, square, ""]))
    assert [(w.code, w.page) for w in mixed.warnings] == [("no_text_found", 2)]
    with pytest.raises(NoContent, match=r"scan\.pdf .* pages 1 to 2"):
        parse(write_pdf(tmp_path / "scan.pdf", [drawing, drawing]))


def test_a_file_that_is_cut_off_or_no_pdf_is_damaged(tmp_path: Path, shared_data: Path) -> None:
    whole = (shared_data / "documents/pdf_health/clario__doc_004.pdf").read_bytes()
    for name, data in [("half.pdf", whole[: len(whole) // 2]), ("noise.pdf", b"%PDF-1.7\n" + bytes(9000) + b"%%EOF")]:
        (tmp_path / name).write_bytes(data)
        with pytest.raises(DamagedFile, match=name):
            pdf.parse(tmp_path / name, name)
    (tmp_path / "none.pdf").write_bytes(b"")
    with pytest.raises(EmptyFile):
        pdf.parse(tmp_path / "none.pdf", "none.pdf")


def test_a_password_to_open_is_refused_and_one_to_copy_is_not(shared_data: Path) -> None:
    with pytest.raises(EncryptedFile, match="password"):
        parse(shared_data / "documents/hostile/plumb__password-example.pdf")
    assert "LayoutParser" in parse(shared_data / "documents/pdf_text/unst__copy-protected.pdf").text


def test_form_values_are_read(shared_data: Path) -> None:
    document = parse(shared_data / "documents/pdf_text/pdfjs__prefilled_f1040.pdf")
    at = document.text.index("foobar")
    assert [w.page for w in document.word_boxes if w.start == at] == [2]


def test_arabic_is_in_reading_order(shared_data: Path) -> None:
    assert "حَبيبي" in parse(shared_data / "documents/pdf_text/pypdf__habibi.pdf").text


def test_rows_between_two_rules_come_apart(shared_data: Path) -> None:
    document = parse(shared_data / "documents/pdf_text/plumb__nics-background-checks-2015-11.pdf")
    [table] = [text for kind, text in kinds(document) if kind == "table"]
    assert re.search(r"^Alabama \| 18,870 \| 23,022 \| .* \| 71,137$", table, re.MULTILINE)
    assert re.search(r"^Iowa \| .*$", table, re.MULTILINE)


def test_every_word_of_a_real_guide_is_in_the_text_once_and_has_a_box(shared_data: Path) -> None:
    document = parse(shared_data / "retrieval/health_pdf_qa/cdc_outpatient_guide_508.pdf")
    boxed = sum(w.end - w.start for w in document.word_boxes)
    # Nothing stands in the text beside the words but white space and the bars of tables.
    rest = re.sub(r"[\s|]", "", document.text)
    assert boxed >= len(rest)
    assert "injection safety" in document.text.lower()
