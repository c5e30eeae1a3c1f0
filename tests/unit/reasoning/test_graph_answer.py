from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from sqlalchemy import Engine, insert

from foundation.adapters.embedded.graph import PostgresGraph
from foundation.domain import load_domain
from foundation.graph_schema import GraphSchema, load_graph_schema
from foundation.lexicon import Lexicon, load_lexicon
from foundation.registry.tables import chunks, documents
from foundation.types import Chunk, Principal
from pipelines.extraction.extract import extract
from query_service.reasoning.graph_answer import GraphAnswer, answer_from_graph, personalised_pagerank

ANN, BOB = Principal("ann"), Principal("bob")
PUBLIC = """Metformin is used to treat type 2 diabetes. Semaglutide is also used to treat type 2 diabetes.

Type 2 diabetes can cause kidney disease. Obesity is a risk factor for type 2 diabetes. Obesity causes sleep apnea.

Symptoms of influenza include:
• fever
• cough

Fever is a common symptom of malaria. Malaria is diagnosed with a blood test.

The influenza vaccine helps prevent influenza. Hand hygiene helps prevent influenza.

Chronic kidney disease (CKD) is common. Asthma and gout were both discussed at the meeting. The nurse saw chronic
kidney disease (CKD) and gave ibuprofen. Ibuprofen, lisinopril and spirometry came up with gout.
People with gout, asthma, malaria, COPD, pneumonia, stroke or epilepsy come first.

Metformin can cause diarrhea. Asthma is a lung disease. Aspirin is not used to treat malaria.
"""
SECRET = "Morphine is used to treat gout. The new falcon protocol (NFP) applies to gout."
Ask = Callable[..., GraphAnswer]


@pytest.fixture(scope="module")
def lexicon() -> Lexicon:
    return load_lexicon(load_domain("healthcare").folder)


@pytest.fixture(scope="module")
def schema() -> GraphSchema:
    return load_graph_schema(load_domain("healthcare").file("graph.yaml"))


def ingest(engine: Engine, version: str, text: str, acl: Sequence[str], lexicon: Lexicon, schema: GraphSchema) -> None:
    chunk = Chunk(f"{version}-0", version, 0, 0, len(text), text, 1)
    document = {"landing_key": version, "file_name": "f", "media_type": "text/plain", "domain": "d", "owner": "o"}
    place = {"version_id": version, "ordinal": 0, "start_char": 0, "end_char": len(text), "tokens": 1}
    with engine.begin() as connection:
        connection.execute(
            insert(documents).values(document_id=version, active_version=version, acl=list(acl), **document)
        )
        connection.execute(insert(chunks).values(chunk_id=chunk.chunk_id, parser="p/1", chunker="c/1", **place))
    found = extract([chunk], lexicon=lexicon, graph_schema=schema)
    PostgresGraph(engine).write_versions([found])


@pytest.fixture
def ask(registry_engine: Engine, lexicon: Lexicon, schema: GraphSchema) -> Ask:
    ingest(registry_engine, "public", PUBLIC, ["public"], lexicon, schema)
    ingest(registry_engine, "secret", SECRET, ["user:ann"], lexicon, schema)
    store = PostgresGraph(registry_engine)
    return lambda question, who=BOB: answer_from_graph(question, store, who, lexicon, schema)


def test_relations_are_listed_with_the_sentence_that_states_each(ask: Ask) -> None:
    cases = {
        "Which drugs treat T2DM?": {"metformin", "semaglutide"},
        "What is metformin used for?": {"type 2 diabetes mellitus"},
        "What are the symptoms of the flu?": {"fever", "cough"},
        "What is fever a symptom of?": {"influenza", "malaria"},
        "What causes kidney disease?": {"type 2 diabetes mellitus"},
        "What does type II diabetes cause?": {"kidney disease"},
        "How is malaria diagnosed?": {"blood test"},
        "How can influenza be prevented?": {"influenza vaccine", "hand hygiene"},
        "Which vaccines prevent influenza?": {"influenza vaccine"},
        "What are the side effects of metformin?": {"diarrhea"},
        "What raises the risk of type 2 diabetes?": {"obesity"},
        "Which symptoms do influenza and malaria have in common?": {"fever"},
        "What kind of disease is asthma?": {"lung disease"},
    }
    for question, expected in cases.items():
        answer = ask(question)
        assert answer.status == "answered", question
        named = {n.name for n in answer.nodes}
        assert expected <= named, question
        assert len(named - expected) <= (2 if "common" in question else 1), (question, named)
        for statement in answer.statements:
            assert statement.mentions, statement
            for mention in statement.mentions:
                assert PUBLIC[mention.start : mention.end] == mention.surface


def test_a_statement_says_which_way_the_relation_goes(ask: Ask) -> None:
    answer = ask("What is metformin used for?")
    assert [s.text for s in answer.statements] == ["Metformin treats type 2 diabetes mellitus."]
    assert [m.surface for m in answer.statements[0].mentions] == ["Metformin is used to treat type 2 diabetes."]
    assert answer.statements[0].basis == "stated"


@pytest.mark.parametrize(
    "question",
    [
        "What treats malaria?",  # only a denial stands there
        "Does aspirin treat malaria?",
        "Does metformin treat influenza?",
        "What are the symptoms of type 2 diabetes?",
        "Which drugs treat lupus?",  # nothing names it
        "What treats metformin overdose in lupus?",
        "What is the capital of France?",
        "What dose of metformin should I take?",
        "",
    ],
)
def test_what_is_not_stated_is_no_evidence_rather_than_neighbours(ask: Ask, question: str) -> None:
    answer = ask(question)
    assert (answer.status, answer.statements, answer.edges) == ("no_evidence", [], [])


def test_a_yes_no_question_is_answered_by_the_edge_between_the_two_only(ask: Ask) -> None:
    answer = ask("Does metformin treat type 2 diabetes?")
    assert [s.text for s in answer.statements] == ["Metformin treats type 2 diabetes mellitus."]


def test_what_is_only_named_together_is_offered_as_such_and_is_no_answer(ask: Ask) -> None:
    answer = ask("Does gout cause asthma?")
    assert answer.status == "no_evidence"
    assert [(s.basis, s.mentions[0].surface) for s in answer.weaker] == [
        ("co_occurrence", "Asthma and gout were both discussed at the meeting.")
    ]


def test_two_things_are_related_through_a_third(ask: Ask) -> None:
    answer = ask("How is sleep apnea related to type 2 diabetes?")
    assert {s.text for s in answer.statements} == {
        "Obesity can cause sleep apnea.",
        "Obesity raises the risk of type 2 diabetes mellitus.",
    }


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which drugs are connected to gout?", {"ibuprofen", "lisinopril"}),
        ("What are the medicines that are mentioned together with gout?", {"ibuprofen", "lisinopril"}),
        ("Which drugs and tests are associated with gout?", {"ibuprofen", "lisinopril", "spirometry"}),
        ("List the tests linked to gout.", {"spirometry"}),
        ("Are any drugs related to chronic kidney disease?", {"ibuprofen"}),
        ("Which medications are connected to chronic kidney disease and gout?", {"ibuprofen"}),
        (
            "Which conditions are mentioned alongside COPD?",
            {"gout", "asthma", "malaria", "pneumonia", "stroke", "epilepsy"},
        ),
        ("Which diseases are related to type 2 diabetes?", {"kidney disease", "obesity"}),
        ("Which vaccines are connected to influenza?", {"influenza vaccine"}),
        ("Which symptoms are associated with influenza?", {"fever", "cough"}),
    ],
)
def test_a_question_for_a_type_lists_that_type_by_any_tie_with_a_span_that_names_both(
    ask: Ask, lexicon: Lexicon, question: str, expected: set[str]
) -> None:
    answer = ask(question)
    assert answer.status == "answered"
    names = {node.node_id: node.name for node in answer.nodes}
    asked = {t for match in lexicon.find(question) for t in match.term_ids}
    given = {lexicon.terms[term_id].name for term_id in asked}
    assert set(names.values()) - given == expected - given
    assert expected <= set(names.values())
    for statement, edge in zip(answer.statements, answer.edges, strict=True):
        assert ("mentioned together" in statement.text) == (statement.basis == "co_occurrence")
        for mention in statement.mentions:
            assert PUBLIC[mention.start : mention.end] == mention.surface
            found = {lexicon.terms[t].name for m in lexicon.find(mention.surface) for t in m.term_ids}
            assert {names[edge.source_id], names[edge.target_id]} <= found


def test_of_a_type_nothing_is_listed_where_only_other_types_are_tied(ask: Ask) -> None:
    for question in ("Which vaccines are connected to gout?", "Which drugs prevent influenza?"):
        assert ask(question).status == "no_evidence", question
    weaker = ask("Which drugs cause gout?").weaker
    assert {s.text for s in weaker} == {
        "Gout and ibuprofen are mentioned together.",
        "Gout and lisinopril are mentioned together.",
    }


def test_a_type_that_only_explains_what_a_name_is_narrows_nothing(ask: Ask) -> None:
    for question in ("What is the drug metformin connected to?", "What is metformin connected to?"):
        named = {node.name for node in ask(question).nodes}
        assert {"type 2 diabetes mellitus", "diarrhea"} <= named, question


def test_what_only_the_lexicon_says_is_said_to_come_from_there(ask: Ask) -> None:
    answer = ask("How are kidney disease and chronic kidney disease related?")
    assert [(s.text, s.basis) for s in answer.statements] == [
        ("According to the disease ontology, chronic kidney disease is a kind of kidney disease.", "lexicon")
    ]


def test_an_abbreviation_is_explained_by_the_place_that_defines_it(ask: Ask) -> None:
    for question in ("What does CKD stand for?", "What is CKD?", "What is the meaning of CKD?"):
        answer = ask(question)
        assert [s.text for s in answer.statements] == ["CKD stands for chronic kidney disease."], question
        surfaces = {" ".join(m.surface.split()) for m in answer.statements[0].mentions}
        assert surfaces == {"Chronic kidney disease (CKD)", "chronic kidney disease (CKD)"}
    assert ask("What does NFP stand for?", ANN).status == "answered"


def test_what_another_principal_may_see_leaves_no_trace(ask: Ask) -> None:
    assert [s.text for s in ask("What treats gout?", ANN).statements] == ["Morphine treats gout."]
    for question in ("What treats gout?", "What is morphine used for?", "What does NFP stand for?"):
        assert ask(question) == GraphAnswer("no_evidence") or not ask(question).statements, question
        assert "orphine" not in repr(ask(question))


def test_hostile_questions_are_only_words(ask: Ask) -> None:
    for question in (
        "x}) MATCH (n) DETACH DELETE n // treats malaria",
        "'; drop table nodes; -- causes <0> <1>",
        "{entity}" * 50,
    ):
        assert ask(question).status == "no_evidence"
    assert ask("Which drugs treat T2DM?").status == "answered"


def test_pagerank_prefers_what_more_evidence_ties_to_the_start() -> None:
    weights = {"a": {"b": 3, "c": 1}, "b": {"a": 3}, "c": {"a": 1, "d": 1}, "d": {"c": 1}}
    rank = personalised_pagerank(weights, ["a"])
    assert sum(rank.values()) == pytest.approx(1)
    assert sorted(rank, key=lambda n: -rank[n]) == ["a", "b", "c", "d"]
    assert personalised_pagerank({"a": {}}, ["a"]) == {"a": pytest.approx(1)}
