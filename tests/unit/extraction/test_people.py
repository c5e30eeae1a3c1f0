from __future__ import annotations

import pytest

from foundation.domain import load_domain
from foundation.graph_schema import load_graph_schema
from foundation.lexicon import load_lexicon
from foundation.types import Chunk
from pipelines.extraction.people import find_people

DOMAIN = load_domain("healthcare")


def found(*texts: str) -> list[tuple[str, str, str]]:
    """Method, id and written name of each person and place, in order."""
    chunks = [Chunk(f"c{n}", "v1", n, n * 1000, n * 1000 + len(text), text, 1) for n, text in enumerate(texts)]
    schema = load_graph_schema(DOMAIN.file("graph.yaml"))
    rows = find_people(chunks, [[] for _ in chunks], load_lexicon(DOMAIN.folder), schema)
    return [
        (e.method, e.term.term_id, chunk.text[e.start : e.end])
        for chunk, row in zip(chunks, rows, strict=True)
        for e in row
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Alan Turing, born 23 June 1912, was seen.",
        "Patient: Alan Turing (b. 23 June 1912)",
        "Name: Alan Turing, D.O.B. 23 June 1912",
        "Name: Alan Turing, d o b 23 June 1912",
        "Alan Turing, date of birth: 23 June 1912",
        "Alan Turing BIRTHDATE 23 June 1912",
        "Patient name | Alan Turing\nDOB | 23 June 1912",
    ],
)
def test_a_name_with_a_birth_date_is_a_person_however_the_date_is_marked(text: str) -> None:
    ((method, term_id, name),) = found(text)
    assert (method, name) == ("person", "Alan Turing")
    assert "1912-06-23" in term_id


@pytest.mark.parametrize(
    "text",
    [
        "CLIENT : Alan Turing",
        "The resident Alan Turing has asthma.",
        "Dr. Alan Turing was there.",
        "Name:\nAlan Turing",
    ],
)
def test_a_name_is_a_person_by_a_label_or_a_title(text: str) -> None:
    ((method, _, name),) = found(text)
    assert method == "person"
    assert name.endswith("Alan Turing")


@pytest.mark.parametrize(
    "text",
    ["She lives in Brookfield.", "Residing in Brookfield.", "He Travelled to Brookfield.", "The City of Brookfield."],
)
def test_a_place_is_where_somebody_lives_or_goes(text: str) -> None:
    assert [(method, name) for method, _, name in found(text)] == [("place", "Brookfield")]


def test_a_birth_date_holds_for_the_name_in_the_whole_version_unless_there_are_two() -> None:
    dated = "Alan Turing, born 23 June 1912, was seen."
    assert [term_id for _, term_id, _ in found(dated, "Dr. Alan Turing came.", "So Alan Turing left.")] == [
        "born:1912-06-23:alan turing"
    ] * 3
    other = "Alan Turing, born 1 May 1950, was seen."
    assert len({term_id for _, term_id, _ in found(dated, other, "Patient Alan Turing came.")}) == 3


def test_what_no_text_marks_is_no_person() -> None:
    assert found("The named symptoms of Alan Turing and Crohn Disease.", "Problems in Brookfield.") == []
