from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from foundation.domain import load_domain
from foundation.errors import ConfigurationError
from foundation.graph_schema import GraphSchema, load_graph_schema
from foundation.lexicon import Lexicon, load_lexicon
from foundation.types import Chunk, VersionGraph
from pipelines.extraction import abbreviations
from pipelines.extraction.extract import draft_version, extract, finish, tag
from pipelines.extraction.units import split

DOMAIN = load_domain("healthcare")
Triple = tuple[str, str, str]
Read = Callable[..., VersionGraph]


@pytest.fixture(scope="module")
def lexicon() -> Lexicon:
    return load_lexicon(DOMAIN.folder)


@pytest.fixture(scope="module")
def schema() -> GraphSchema:
    return load_graph_schema(DOMAIN.file("graph.yaml"))


def chunk(text: str, start: int = 0, ordinal: int = 0) -> Chunk:
    return Chunk(f"c{ordinal}", "v1", ordinal, start, start + len(text), text, 1)


@pytest.fixture
def read(lexicon: Lexicon, schema: GraphSchema) -> Read:
    return lambda *texts: extract(
        [chunk(t, n * 10_000, n) for n, t in enumerate(texts)], lexicon=lexicon, graph_schema=schema
    )


def triples(extraction: VersionGraph, *, weak: bool = False) -> set[Triple]:
    """Stated relations by name; with `weak` what is only named together."""
    names = {node.node_id: node.name for node in extraction.nodes}
    return {
        (names[e.source_id], e.type, names[e.target_id])
        for e in extraction.edges
        if (e.type == "co_occurs_with") == weak
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Metformin is used to treat type 2 diabetes.", {("metformin", "treats", "type 2 diabetes mellitus")}),
        ("Pneumonia is usually treated with antibiotics.", {("antibiotic", "treats", "pneumonia")}),
        (
            "Treatment of asthma may include inhaled corticosteroids and montelukast.",
            {("inhaled corticosteroid", "treats", "asthma"), ("montelukast", "treats", "asthma")},
        ),
        ("The influenza vaccine protects against the flu.", {("influenza vaccine", "prevents", "influenza")}),
        ("Exercise lowers your risk of stroke.", {("physical activity", "prevents", "stroke")}),
        ("Smoking causes lung cancer.", {("smoking", "causes", "lung cancer")}),
        (
            "Tuberculosis is caused by Mycobacterium tuberculosis.",
            {("Mycobacterium tuberculosis", "causes", "tuberculosis")},
        ),
        ("Fever is a common symptom of malaria.", {("fever", "symptom_of", "malaria")}),
        (
            "The symptoms of malaria are fever, chills, and headache.",
            {
                ("fever", "symptom_of", "malaria"),
                ("chills", "symptom_of", "malaria"),
                ("headache", "symptom_of", "malaria"),
            },
        ),
        ("Asthma is diagnosed with spirometry.", {("asthma", "diagnosed_by", "spirometry")}),
        ("High blood pressure is a risk factor for stroke.", {("hypertension", "risk_factor_for", "stroke")}),
        ("People with gout should not take aspirin.", {("aspirin", "contraindicated_with", "gout")}),
        ("Smoking causes asthma and raises the risk of gout.", {("smoking", "causes", "asthma")}),
        ("Smoking causes asthma and raises the risk of gout.", {("smoking", "risk_factor_for", "gout")}),
        ("Metformin treats type 2 diabetes.", {("metformin", "treats", "type 2 diabetes mellitus")}),
        ("Gout is a type of arthritis.", {("gout", "is_a", "arthritis")}),
    ],
)
def test_a_stated_relation_is_found_with_its_direction(read: Read, text: str, expected: set[Triple]) -> None:
    assert expected <= triples(read(text))
    relation = next(iter(expected))[1]
    assert {t for t in triples(read(text)) if t[1] == relation} == expected


@pytest.mark.parametrize(
    "text",
    [
        "Metformin does not treat asthma.",
        "Antibiotics are not used to treat influenza.",
        "There is no evidence that smoking causes gout.",
        "Neither aspirin nor ibuprofen cures influenza.",
        "Does metformin treat asthma?",
        "Aspirin does not treat asthma and causes no gout.",
        "Lack of insulin causes hyperglycemia.",
        "The herb interferes with drugs used to treat asthma.",
        "Aspirin was studied, but doctors treat asthma with something else.",
    ],
)
def test_what_is_denied_asked_or_said_of_something_else_is_not_stated(read: Read, text: str) -> None:
    wrong = {"metformin", "antibiotic", "smoking", "aspirin", "ibuprofen", "insulin"}
    assert [t for t in triples(read(text)) if t[0] in wrong] == []


def test_a_list_below_its_lead_in_is_one_statement_with_the_span_down_to_the_item(read: Read) -> None:
    text = "Read this.\n\nSymptoms of malaria include:\n• fever\n• severe headache\n\nSee a doctor about gout."
    found = read(text)
    assert triples(found) == {("fever", "symptom_of", "malaria"), ("severe headache", "symptom_of", "malaria")}
    spans = sorted(m.surface for m in found.mentions if m.method == "pattern")
    assert spans == [
        "Symptoms of malaria include:\n• fever",
        "Symptoms of malaria include:\n• fever\n• severe headache",
    ]


def test_a_phrase_of_its_own_is_a_node_when_it_stands_in_a_relation_only(read: Read) -> None:
    found = read("Mold spores can trigger asthma. The mold remediation contract concerns asthma.")
    assert ("mold spores", "causes", "asthma") in triples(found)
    assert {n.name for n in found.nodes if n.type == "concept"} == {"mold spores"}


def test_what_is_only_named_together_is_the_weakest_tie_and_yields_to_a_stated_one(read: Read) -> None:
    together = "We discussed metformin and gout."
    assert triples(read(together)) == set()
    assert {frozenset((s, t)) for s, _, t in triples(read(together), weak=True)} == {frozenset(("metformin", "gout"))}
    assert triples(read("Malaria and fever were studied.", "Fever is a symptom of malaria."), weak=True) == set()


def test_a_long_enumeration_ties_none_of_its_things_together(read: Read) -> None:
    few = "asthma, gout, malaria, COPD, pneumonia, stroke or epilepsy"
    many = f"{few}, influenza, tuberculosis, hypertension, diabetes mellitus, measles"
    assert len(triples(read(f"People with {few} come first."), weak=True)) == 21
    assert triples(read(f"People with {many} come first."), weak=True) == set()


def test_hierarchy_comes_from_the_lexicon_to_the_nearest_named_ancestor(read: Read) -> None:
    found = read("Type 2 diabetes is common. Diabetes is a glucose metabolism disease.")
    assert ("type 2 diabetes mellitus", "is_a", "diabetes mellitus") in triples(found)
    assert ("type 2 diabetes mellitus", "is_a", "glucose metabolism disease") not in triples(found)


def test_every_name_of_one_thing_is_one_node(read: Read) -> None:
    found = read("T2DM is common.", "Type II diabetes differs.", "Type 2 diabetes mellitus too.")
    assert [n.external_id for n in found.nodes] == ["DOID:9352"]
    assert {"T2DM", "Type II diabetes"} <= set(found.nodes[0].aliases)
    assert len([m for m in found.mentions if m.node_id]) == 3


def test_an_abbreviation_means_what_the_text_defines(read: Read) -> None:
    found = read(
        "The visitor escort policy (VEP) applies. VEP forms are kept.", "Mitral stenosis (MS) is rare. MS is treated."
    )
    names = {n.name: n for n in found.nodes}
    assert names["visitor escort policy"].aliases == ("VEP",)
    assert "multiple sclerosis" not in names
    surfaces = [m.surface for m in found.mentions if m.node_id == names["visitor escort policy"].node_id]
    assert sorted(surfaces) == ["VEP", "VEP", "visitor escort policy", "visitor escort policy (VEP)"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("chronic kidney disease (CKD)", ("chronic kidney disease", "CKD")),
        ("non-small cell lung cancer (NSCLC)", ("non-small cell lung cancer", "NSCLC")),
        ("heat shock transcription factor (HSF)", ("heat shock transcription factor", "HSF")),
        ("the Centers for Disease Control and Prevention (CDC)", ("Centers for Disease Control and Prevention", "CDC")),
        ("patients (see below)", None),
        ("insulin (2 units)", None),
        ("the report (XYZ)", None),
    ],
)
def test_definitions_follow_schwartz_and_hearst(text: str, expected: tuple[str, str] | None) -> None:
    found = abbreviations.find(f"We saw {text} here.")
    assert [(d.long, d.short) for d in found] == ([expected] if expected else [])


def test_every_mention_is_verbatim_inside_its_chunk_and_everything_has_one(
    lexicon: Lexicon, schema: GraphSchema, shared_data: Path
) -> None:
    import pypdfium2

    document = pypdfium2.PdfDocument(shared_data / "retrieval/health_pdf_qa/niddk_eating_diabetes_508.pdf")
    text = "\n\n".join(page.get_textpage().get_text_range().replace("\r\n", "\n") for page in document)
    # Overlapping chunks, as a chunker makes them.
    chunks = [chunk(text[at : at + 1500], at, n) for n, at in enumerate(range(0, len(text), 1200))]
    found = extract(chunks, lexicon=lexicon, graph_schema=schema)
    by_id = {c.chunk_id: c for c in chunks}
    assert len(found.edges) > 5
    for mention in found.mentions:
        owner = by_id[mention.chunk_id]
        assert owner.start <= mention.start < mention.end <= owner.end
        assert text[mention.start : mention.end] == mention.surface
    places = [(m.node_id or m.edge_id, m.start, m.end) for m in found.mentions]
    assert len(places) == len(set(places))
    assert {n.node_id for n in found.nodes} == {m.node_id for m in found.mentions if m.node_id}
    assert {e.edge_id for e in found.edges} == {m.edge_id for m in found.mentions if m.edge_id}
    assert {end for e in found.edges for end in (e.source_id, e.target_id)} <= {n.node_id for n in found.nodes}
    assert extract(chunks, lexicon=lexicon, graph_schema=schema) == found


def test_units_are_sentences_and_lists_with_their_lead_in() -> None:
    text = "One. Two:\n- a\n- b\n\nSigns may include:   - Fever   - Chills."
    units = split(text)
    assert [text[u.start : u.end] for u in units] == [
        "One.",
        "Two:\n- a\n- b",
        "Signs may include:   - Fever   - Chills.",
    ]
    assert [[text[a:b] for a, b in u.items] for u in units] == [[], ["a", "b"], ["Fever", "Chills."]]


def test_nothing_comes_of_nothing(read: Read) -> None:
    for found in (read(), read("The committee meets on Mondays.")):
        assert (found.nodes, found.edges, found.mentions) == ([], [], [])


def test_a_schema_that_names_an_unknown_type_or_breaks_a_pattern_is_refused(tmp_path: Path) -> None:
    text = DOMAIN.file("graph.yaml").read_text()
    for wrong, named in (
        (text.replace("[disease, organism]", "[disease, organsim]"), "organsim"),
        (text.replace("risk factors? (for|of) ~ {target}", "risk ( ~ {target}"), "risk_factor_for"),
    ):
        (tmp_path / f"{named}.yaml").write_text(wrong)
        with pytest.raises(ConfigurationError, match=named):
            load_graph_schema(tmp_path / f"{named}.yaml")


def test_versions_that_are_tagged_together_say_what_each_says_alone(lexicon: Lexicon, schema: GraphSchema) -> None:
    texts = ["Metformin treats type 2 diabetes.", "Nothing here.", "Smoking causes lung cancer."]
    versions = [[Chunk(f"c{n}", f"v{n}", 0, 0, len(t), t, 1)] for n, t in enumerate(texts)]
    drafts = [draft_version(chunks, lexicon, schema) for chunks in versions]
    together = [finish(d, found, lexicon, schema) for d, found in zip(drafts, tag(drafts), strict=True)]
    assert together == [extract(chunks, lexicon=lexicon, graph_schema=schema) for chunks in versions]
    assert [len(graph.edges) for graph in together] == [1, 0, 1]


@pytest.mark.parametrize(
    "pattern",
    ["{source} ~ (causes?|leads to) ~ {target}", "{source}? causes {target}", "causes {target}|{source} treats"],
    ids=["plain", "optional end", "alternatives"],
)
def test_a_sentence_that_a_pattern_matches_is_never_passed_over(pattern: str) -> None:
    relation = {"label": "causes", "source": ["drug", "free"], "target": ["disease"], "statement": "", "cues": ""}
    schema = GraphSchema.model_validate(
        {
            "node_types": ["drug", "disease", "free"],
            "free_type": "free",
            "relations": {"causes": {**relation, "patterns": [pattern]}},
        }
    )
    for text in ("It causes asthma.", "It often causes severe asthma."):
        at = text.index("asthma")
        assert schema.may_state(text, [(at, at + 6, "disease")])
    assert schema.may_state("Asthma comes before causes.", [(0, 6, "disease")]) is not pattern.endswith("~ {target}")
