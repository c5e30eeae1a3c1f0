"""Files of terms: what their rows and lines declare, and what they do not."""

from __future__ import annotations

from itertools import pairwise

import pytest

from foundation.domain import load_domain
from foundation.graph_schema import GraphSchema, load_graph_schema
from foundation.lexicon import Lexicon, Term
from foundation.types import Chunk, VersionGraph
from pipelines.extraction.extract import extract, extract_table

OBO = """format-version: 1.2

[Term]
id: DOID:1
name: red fever
synonym: "crimson ague" EXACT []
synonym: "warm thing" BROAD []
xref: ICD10CM:R01.2
xref: SNOMEDCT_US_2025_09_01:12345
xref: SOMETHING:9
is_a: DOID:2 {source="x"} ! colour fever
relationship: has_symptom SYMP:3 ! itchy nose

[Term]
id: DOID:2
name: colour fever

[Term]
id: DOID:4
name: old fever
is_obsolete: true
is_a: DOID:2 ! colour fever

[Typedef]
id: has_symptom
name: has symptom
"""


@pytest.fixture(scope="module")
def schema() -> GraphSchema:
    return load_graph_schema(load_domain("healthcare").file("graph.yaml"))


def said(graph: VersionGraph) -> dict[tuple[str, str, str], str]:
    """Source, relation and target of each declared edge, and its evidence."""
    names = {node.node_id: node.name for node in graph.nodes}
    quotes = {m.edge_id: m.surface for m in graph.mentions if m.edge_id and m.method == "declared"}
    return {
        (names[e.source_id], e.type, names[e.target_id]): quotes[e.edge_id] for e in graph.edges if e.edge_id in quotes
    }


def cut(text: str, *places: int) -> list[Chunk]:
    bounds = [0, *places, len(text)]
    pairs = pairwise(bounds)
    return [Chunk(f"v-{n}", "v", n, a, b, text[a:b].rstrip(), 1) for n, (a, b) in enumerate(pairs)]


def test_lines_of_an_obo_file_are_the_evidence_of_what_they_declare(schema: GraphSchema) -> None:
    graph = extract(cut(OBO, OBO.index("is_a: DOID:2 {")), lexicon=Lexicon.of([]), graph_schema=schema)
    assert said(graph) == {
        ("red fever", "has_code", "R01.2"): "xref: ICD10CM:R01.2",
        ("red fever", "has_code", "SNOMEDCT_US 12345"): "xref: SNOMEDCT_US_2025_09_01:12345",
        ("red fever", "is_a", "colour fever"): 'is_a: DOID:2 {source="x"} ! colour fever',
        ("itchy nose", "symptom_of", "red fever"): "relationship: has_symptom SYMP:3 ! itchy nose",
    }
    by_name = {node.name: node for node in graph.nodes}
    assert by_name["red fever"].aliases == ("crimson ague",)
    assert (by_name["itchy nose"].type, by_name["R01.2"].type) == ("symptom", "icd10_code")
    assert all(m.surface == OBO[m.start : m.end] for m in graph.mentions)


def test_a_term_that_the_lexicon_knows_by_another_id_is_that_term(schema: GraphSchema) -> None:
    lexicon = Lexicon.of([Term("DOID:9", "disease", "eczema", aliases=("itchy skin",))])
    text = "disease_id | disease_label | symptom_id | symptom_label\nDOID:1 | red fever | SYMP:7 | itchy skin"
    graph = extract_table(cut(text), lexicon, schema)
    assert list(said(graph)) == [("eczema", "symptom_of", "red fever")]


def test_tables_of_other_things_declare_nothing(schema: GraphSchema) -> None:
    for text in (
        "Table of 2 rows with the columns id, label.",
        "id | label\nDOID:1 | red fever",
        "id | label | subClassOf\nDOID:1 | red fever | one | more",
        "id | label | xrefs\n1 | red fever | 2",
    ):
        assert said(extract_table(cut(text), Lexicon.of([]), schema)) == {}, text


def test_a_definition_states_what_it_says_with_the_name_of_a_tag(schema: GraphSchema) -> None:
    lexicon = Lexicon.of([Term("SYMP:1", "symptom", "itchy nose"), Term("SYMP:2", "symptom", "slow blink")])
    text = (
        "format-version: 1.2\n\n[Term]\nid: DOID:1\nname: red fever\n"
        'def: "A fever. It has_symptom itchy nose, has symptom slow blink and has_symptom something else." []'
    )
    graph = extract(cut(text), lexicon=lexicon, graph_schema=schema)
    names = {node.node_id: node.name for node in graph.nodes}
    found = {(names[e.source_id], e.type, names[e.target_id]) for e in graph.edges if e.type == "symptom_of"}
    assert found == {(symptom, "symptom_of", "red fever") for symptom in ("itchy nose", "slow blink")}
    assert said(graph) == {}
