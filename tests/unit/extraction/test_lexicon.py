from __future__ import annotations

from pathlib import Path

import pytest

from foundation.domain import load_domain
from foundation.errors import ConfigurationError
from foundation.lexicon import Lexicon, Term, load_lexicon, normalise, read_terms

HEALTHCARE = load_domain("healthcare").folder


@pytest.fixture(scope="module")
def lexicon() -> Lexicon:
    return load_lexicon(HEALTHCARE)


def named(lexicon: Lexicon, text: str) -> list[tuple[str, str]]:
    return [(text[m.start : m.end], lexicon.terms[m.term_ids[0]].name) for m in lexicon.find(text)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Type II diabetes", "type 2 diabetes"),
        ("non-Hodgkin's lymphoma", "Non Hodgkin lymphoma"),
        ("haemolytic anaemia", "hemolytic anemia"),
        ("oesophageal tumours", "esophageal tumor"),
        ("Infectious diseases", "infectious disease"),
        ("Guillain–Barré syndrome", "guillain-barre syndrome"),
        ("headaches and rashes", "headache and rash"),
        ("viruses cause sinuses", "virus causes sinus"),
        ("biopsies, diagnoses", "biopsy, diagnosis"),
        ("β-thalassemia", "beta thalassemia"),
    ],
)
def test_spellings_of_one_name_meet_in_one_key(one: str, other: str) -> None:
    assert normalise(one) == normalise(other)


def test_different_names_keep_different_keys() -> None:
    keys = {normalise(n) for n in ("type 1 diabetes", "type 2 diabetes", "hepatitis B", "hepatitis C", "pus", "pu")}
    assert len(keys) == 6


@pytest.mark.parametrize("text", ["T2DM", "type II diabetes", "type 2 diabetes mellitus", "Diabetes, type 2", "NIDDM"])
def test_every_name_of_type_2_diabetes_is_one_term(lexicon: Lexicon, text: str) -> None:
    ids = {term_id for match in lexicon.find(text.replace(",", "")) for term_id in match.term_ids}
    assert ids == {"DOID:9352"}


def test_the_longest_name_is_meant(lexicon: Lexicon) -> None:
    assert named(lexicon, "Chronic kidney disease and heart disease.") == [
        ("Chronic kidney disease", "chronic kidney disease"),
        ("heart disease", "heart disease"),
    ]


def test_an_abbreviation_counts_in_capitals_only_and_not_in_a_line_of_capitals(lexicon: Lexicon) -> None:
    assert named(lexicon, "She has AIDS.") == [("AIDS", "acquired immunodeficiency syndrome")]
    assert named(lexicon, "He wears hearing aids.") == []
    assert named(lexicon, "HEARING AIDS FOR SENIORS\n") == []
    assert [m.term_ids for m in lexicon.find("what is aids", fold_abbreviations=True)] == [("DOID:635",)]


def test_a_name_neither_crosses_a_blank_line_nor_starts_within_a_word(lexicon: Lexicon) -> None:
    assert named(lexicon, "the heart\n\nattack") == []
    assert named(lexicon, "heart\nattack") == [("heart\nattack", "myocardial infarction")]
    assert "Wiedemann" not in str(named(lexicon, "Stüve-Beckwith-Wiedemann syndrome"))


def test_a_possessive_is_not_part_of_the_span(lexicon: Lexicon) -> None:
    assert named(lexicon, "Asthma's triggers")[0][0] == "Asthma"


def test_ancestors_come_nearest_first(lexicon: Lexicon) -> None:
    names = [lexicon.terms[t].name for t in lexicon.ancestors("DOID:9352")]
    assert names.index("diabetes mellitus") < names.index("glucose metabolism disease")


def test_an_alias_of_two_terms_keeps_both() -> None:
    lexicon = Lexicon.of(
        [Term("a", "disease", "mitral stenosis", (), ("MS",)), Term("b", "disease", "sclerosis", (), ("MS",))]
    )
    assert lexicon.lookup("MS") == ("a", "b")


def test_later_files_add_to_take_away_from_and_drop_terms(tmp_path: Path) -> None:
    header = "id\ttype\tname\tparents\taliases\n"
    (tmp_path / "a.tsv").write_text(header + "1\tdisease\tgout\t\tpodagra|toe pain\n2\tdisease\tdisease\t\t\n")
    (tmp_path / "b.tsv").write_text(
        header + "# corrections\n1\tdisease\tgout\t9\turate arthritis|-toe pain\n2\t-\tdisease\t\t\n"
    )
    assert read_terms([tmp_path / "a.tsv", tmp_path / "b.tsv"]) == [
        Term("1", "disease", "gout", ("9",), ("podagra", "urate arthritis"))
    ]


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    (tmp_path / "lexicon.tsv").write_text("id\ttype\tname\tparents\taliases\n1\tdisease\tgout\n")
    with pytest.raises(ConfigurationError, match=r"lexicon\.tsv, line 2"):
        load_lexicon(tmp_path)


def test_the_shipped_lexicon_is_small_and_loads() -> None:
    files = [*HEALTHCARE.glob("lexicon*")]
    assert sum(f.stat().st_size for f in files) < 1_000_000
    assert len(Lexicon.of(read_terms(sorted(files, reverse=True))).terms) > 7_000
