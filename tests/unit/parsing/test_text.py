from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from parsing_checks import assert_exact, kinds

from foundation.errors import AsklineError, DamagedFile, EmptyFile, NoContent
from pipelines.parsing import text

GERMAN = "Der Patient klagt über Übelkeit und Schmerzen in der Brust. Ärztliche Prüfung nötig."
JAPANESE = "患者は胸の痛みを訴えています。検査が必要です。薬を毎日飲んでください。"


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        (GERMAN, "utf-8"),
        (GERMAN, "utf-8-sig"),
        (GERMAN, "cp1252"),
        ("naïve café", "cp1252"),
        (GERMAN, "utf-16"),
        (GERMAN, "utf-16-le"),
        (GERMAN, "utf-16-be"),
        (JAPANESE, "shift-jis"),
        (JAPANESE, "euc-jp"),
        ("Пациент жалуется на боль в груди. Необходимо обследование.", "cp1251"),
        ("Pacjent skarży się na ból w klatce piersiowej, żeby wykluczyć zawał.", "cp1250"),
    ],
)
def test_text_is_read_in_the_encoding_that_it_has(tmp_path: Path, content: str, encoding: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(content.encode(encoding))
    document = text.parse(path, "a.txt")
    assert document.text == content
    assert bool(document.warnings) != encoding.startswith("utf")


def test_headings_lists_and_paragraphs_of_a_clinical_note(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(
        b"CHIEF COMPLAINT:\r\nChest pain since\r\nMonday.\r\n\r\n"
        b"Plan\r\n====\r\n1. ECG\r\n2. Troponin\r\n   at 3 h\x00\x07\r\n"
    )
    document = text.parse(path, "a.txt")
    assert_exact(document)
    assert kinds(document) == [
        ("title", "CHIEF COMPLAINT:"),
        ("paragraph", "Chest pain since\nMonday."),
        ("title", "Plan"),
        ("list_item", "1. ECG"),
        ("list_item", "2. Troponin\n   at 3 h"),
    ]


def test_markdown_headings_have_levels_and_code_has_none(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("# Guide #\n\nIntro.\n### Dose\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```\n# no heading\n\nx\n```\n")
    document = text.parse(path, "a.md")
    assert_exact(document)
    assert document.title == "Guide"
    assert [e.level for e in document.elements if e.kind == "title"] == [1, 3]
    assert kinds(document)[3:] == [
        ("table", "| a | b |\n|---|---|\n| 1 | 2 |"),
        ("paragraph", "```\n# no heading\n\nx\n```"),
    ]


def test_bytes_that_are_wrong_show_and_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"good " * 20_000 + b"\xff\xfe bad")
    document = text.parse(path, "a.txt")
    assert document.text.endswith("\ufffd\ufffd bad")
    assert [w.code for w in document.warnings] == ["encoding_damaged"]


@pytest.mark.parametrize(
    ("data", "error"), [(b"", EmptyFile), (b" \n\t\n", NoContent), (b"\x7fELF\2\1\1\0" + bytes(60), DamagedFile)]
)
def test_what_is_no_text_is_told_apart(tmp_path: Path, data: bytes, error: type[AsklineError]) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(data)
    with pytest.raises(error, match=r"a\.txt"):
        text.parse(path, "a.txt")


@given(st.text(min_size=1), st.sampled_from(["a.txt", "a.md"]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
def test_offsets_are_exact_for_any_text(tmp_path: Path, content: str, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(content.encode("utf-8", "surrogatepass"))
    try:
        document = text.parse(path, name)
    except AsklineError:
        return
    assert_exact(document)
