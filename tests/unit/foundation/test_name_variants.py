from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from foundation.contracts.entity_pairs import f1, judge_pairs, without_synonyms
from foundation.domain import load_domain
from foundation.graph_schema import load_graph_schema
from foundation.lexicon import Lexicon, Term, load_lexicon
from foundation.name_variants import NameVariants, words_of
from foundation.person_names import DATE, compare_names, parse_name, read_birth_date, same_date

DATA = Path(os.environ.get("ASKLINE_TEST_DATA", Path(__file__).parents[4] / "shared" / "data"))
ER_PAIRS = DATA / "graph" / "disease_ontology" / "er_pairs_dev.tsv"
SCHEMA = load_graph_schema(load_domain("healthcare").file("graph.yaml"))
needs_pairs = pytest.mark.skipif(not ER_PAIRS.exists(), reason="the shared test data is not here")


@pytest.fixture(scope="module")
def whole() -> Lexicon:
    return load_lexicon(load_domain("healthcare").folder)


@needs_pairs
def test_names_are_told_apart_with_the_whole_lexicon(whole: Lexicon) -> None:
    assert f1((ours, truth) for ours, _, truth, _ in judge_pairs(whole, SCHEMA, ER_PAIRS)) >= 0.90


@needs_pairs
@pytest.mark.parametrize("seed", [1, 2])
def test_names_that_the_lexicon_lost_are_resolved_and_not_looked_up(whole: Lexicon, seed: int) -> None:
    judged = list(judge_pairs(without_synonyms(whole, 0.2, seed), SCHEMA, ER_PAIRS))
    ours = f1((said, truth) for said, _, truth, _ in judged)
    looked_up = f1((found, truth) for _, found, truth, _ in judged)
    assert ours >= 0.75
    assert ours > looked_up + 0.02
    assert f1((said, truth) for said, _, truth, known in judged if not known) >= 0.35
    assert sum(said and not truth for said, _, truth, _ in judged) <= 5


def test_terms_that_the_lexicon_lacks_are_not_taken_for_others(whole: Lexicon) -> None:
    """Every tenth term is taken out; of its name nothing is left to find, whatever it resembles."""
    gone = list(whole.terms.values())[::10]
    rest = Lexicon.of(term for n, term in enumerate(whole.terms.values()) if n % 10)
    variants = NameVariants(rest)
    unknown = [term for term in gone if not rest.lookup(term.name)]
    wrong = [term.name for term in unknown if variants.resolve(term.name)]
    assert len(unknown) > 1000
    assert len(wrong) / len(unknown) < 0.015


@pytest.fixture(scope="module")
def variants() -> NameVariants:
    parts = ("failure", "cyst", "colic", "stone", "abscess")
    terms = [Term(f"T{n}", "d", f"kidney {part} {n}", aliases=(f"renal {part} {n}",)) for n, part in enumerate(parts)]
    series = [Term(f"S{n}", "d", f"spastic palsy {n}", aliases=(f"SPG{n}",)) for n in range(1, 5)]
    others = [("dominant palsy", "hereditary palsy"), ("recessive fever", "hereditary fever")] * 3
    inherited = [Term(f"H{n}", "d", f"{a} {n}", aliases=(f"{b} {n}",)) for n, (a, b) in enumerate(others)]
    alone = [Term("A", "d", "kidney sclerosis"), Term("B", "d", "spastic palsy 9"), Term("C", "d", "dominant chill")]
    return NameVariants(Lexicon.of([*terms, *series, *inherited, *alone]))


@pytest.mark.parametrize(
    ("name", "term", "rule"),
    [
        ("renal sclerosis", "A", "exchange"),
        ("sclerosis of the kidney", "A", "word_order"),
        ("kidney sclerossis", "A", "spelling"),
        ("SPG9", "B", "exchange"),
        ("SPG8", None, None),
        ("renal", None, None),
        ("heart sclerosis", None, None),
        ("recessive chill", None, None),
        ("", None, None),
    ],
)
def test_a_name_means_the_term_from_which_it_differs_as_synonyms_do(
    variants: NameVariants, name: str, term: str | None, rule: str | None
) -> None:
    found = variants.resolve(name)
    assert (found.term_id, found.rule) == (term, rule) if found else term is None


def test_what_stands_before_and_behind_due_to_is_not_turned_round() -> None:
    assert words_of("anemia due to cancer") != words_of("cancer due to anemia")
    assert words_of("cancer of the lung") == words_of("lung cancer")


@pytest.mark.parametrize(
    ("one", "other", "likeness"),
    [
        ("John Doe", "Dr. John Doe", "equal"),
        ("Doe, John T.", "John T. Doe", "equal"),
        ("José Núñez", "Jose Nunez", "equal"),
        ("John Doe", "John T. Doe", "compatible"),
        ("J. Doe", "John Doe", "compatible"),
        ("Ludwig van der Berg", "L. van der Berg", "compatible"),
        ("John Meyer", "John Meier", "misspelt"),
        ("John T. Doe", "John S. Doe", "different"),
        ("Jan Doe", "Jon Doe", "different"),
        ("John Doe Jr.", "John Doe Sr.", "different"),
        ("John Doe", "Mary Doe", "different"),
    ],
)
def test_names_of_people_are_compared_part_by_part(one: str, other: str, likeness: str) -> None:
    names = parse_name(one), parse_name(other)
    assert names[0] and names[1]
    assert compare_names(names[0], names[1]) == compare_names(names[1], names[0]) == likeness


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("1970-05-01", "1970-05-01"),
        ("1 May 1970", "1970-05-01"),
        ("May 1st, 1970", "1970-05-01"),
        ("01.05.1970", "1970-05-01"),
        ("05/01/1970", "1970-01-05~1970-05-01"),
        ("13/05/1970", "1970-05-13"),
        ("1970", "1970"),
        ("31 February 1970", None),
    ],
)
def test_birth_dates_are_read_as_people_write_them(written: str, read: str | None) -> None:
    match = re.search(DATE, written, re.IGNORECASE)
    assert match is not None
    assert read_birth_date(match) == read


def test_dates_are_one_when_one_reading_is() -> None:
    assert same_date("1970-01-05~1970-05-01", "1970-05-01")
    assert same_date("1970", "1970-05-01")
    assert not same_date("1970-05-01", "1970-05-02")
