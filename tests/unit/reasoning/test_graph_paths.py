"""Questions over paths: what their words compile to, and the exact set over files of terms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from bench import multihop
from foundation.adapters.embedded.graph import PostgresGraph
from foundation.domain import load_domain
from foundation.graph_schema import GraphSchema, load_graph_schema, mask
from foundation.lexicon import load_lexicon
from foundation.resolution import Resolver
from foundation.types import Mention, Node
from query_service.reasoning.graph_answer import GraphAnswer, answer_from_graph
from query_service.reasoning.graph_paths import Branch, Step, compile_paths, name_in

UP, DOWN = Step("is_a", "source"), Step("is_a", "target")
SYMPTOM, OF = Step("symptom_of", "target"), Step("symptom_of", "source")

CLASSES = """id\tlabel\tsubClassOf
DOID:1\tred fever\tcolour fever
DOID:2\tblue fever\tcolour fever
DOID:3\tdark blue fever\tblue fever
DOID:4\tcolour fever\tvisible illness
DOID:5\tvisible illness\tdisease
"""
SYMPTOMS = """disease_id\tdisease_label\tsymptom_id\tsymptom_label
DOID:1\tred fever\tSYMP:1\titchy nose
DOID:1\tred fever\tSYMP:2\tslow blink
DOID:2\tblue fever\tSYMP:2\tslow blink
DOID:3\tdark blue fever\tSYMP:2\tslow blink
"""
CODES = """id\tlabel\txrefs
DOID:1\tred fever\tICD10CM:R01.2, ICD10CM:R01.3
DOID:2\tblue fever\tMESH:D0001
DOID:6\tgreen fever type 5\tICD10CM:R05
DOID:7\tgreen fever type V\tICD10CM:R06
"""


@pytest.fixture(scope="module")
def schema() -> GraphSchema:
    return load_graph_schema(load_domain("healthcare").file("graph.yaml"))


@pytest.fixture
def graph(registry_engine: Engine, schema: GraphSchema) -> PostgresGraph:
    domain = load_domain("healthcare")
    return PostgresGraph(registry_engine, Resolver(lambda: (load_lexicon(domain.folder), schema)))


@pytest.fixture
def ask(
    registry_engine: Engine, graph: PostgresGraph, schema: GraphSchema, tmp_path: Path
) -> Callable[..., GraphAnswer]:
    for name, text in (("classes.tsv", CLASSES), ("symptoms.tsv", SYMPTOMS), ("codes.tsv", CODES)):
        (tmp_path / name).write_text(text)
        multihop.ingest(registry_engine, graph, tmp_path / name, tmp_path / f"{name}.tables")
    lexicon = load_lexicon(load_domain("healthcare").folder)
    return lambda question: answer_from_graph(question, graph, multihop.READER, lexicon, schema)


def compiled(question: str, schema: GraphSchema, types: tuple[str, ...] = ("disease", "symptom", "symptom")) -> object:
    names = [question.index(f"@{n}") for n in range(question.count("@"))]
    query = compile_paths(mask(question, [(at, at + 2) for at in names]), types, schema)
    return query and query.branches


def test_phrases_compile_to_steps_from_the_entity_outwards(schema: GraphSchema) -> None:
    cases = {
        "What is the parent class of the parent class of @0?": (Branch(0, (UP, UP)),),
        "What is the grandparent of @0 in the Disease Ontology?": (Branch(0, (UP, UP)),),
        "What are the symptoms of the parent class of the @0?": (Branch(0, (UP, SYMPTOM)),),
        'Which kinds of @0 are linked to the symptom "@1"?': (Branch(0, (DOWN,)), Branch(1, (OF,))),
        "List the subtypes of @0 that have the symptom @1 and the symptom @2.": (
            *(Branch(0, (DOWN,)), Branch(1, (OF,)), Branch(2, (OF,))),
        ),
        "Name all kinds of @0 with @1": (Branch(0, (Step("is_a", "target", transitive=True),)), Branch(1, (OF,))),
        "Which diseases share a symptom with @0?": (Branch(0, (SYMPTOM, OF)),),
        "How is @0 treated?": None,
        "@0": None,
    }
    for question, expected in cases.items():
        assert compiled(question, schema) == expected, question


def test_an_answer_is_called_what_its_row_calls_it() -> None:
    row = "DOID:1 | atopic dermatitis | SYMP:1 | eczema"
    node = Node("n", "disease", "dermatitis", None, ("eczema", "skin rash"))
    for text, name in ((row, "eczema"), ("Atopic dermatitis means skin rash.", "dermatitis"), ("Gout.", "dermatitis")):
        assert name_in([Mention("c", "v", 0, len(text), text, "declared", edge_id="e")], node) == name


def test_answers_are_exact_sets_each_with_every_step_as_evidence(ask: Callable[..., GraphAnswer]) -> None:
    cases = {
        "What is the parent class of the parent class of dark blue fever?": ["colour fever"],
        "What is the parent class of red fever?": ["colour fever"],
        'Which kinds of colour fever are linked to the symptom "slow blink"?': ["blue fever", "red fever"],
        "Name all kinds of colour fever with the symptom slow blink": ["blue fever", "dark blue fever", "red fever"],
        "Which symptoms do red fever and blue fever have in common?": ["slow blink"],
        "Which diseases share a symptom with red fever?": ["blue fever", "dark blue fever"],
        "Which symptoms does the Disease Ontology link to red fever?": ["itchy nose", "slow blink"],
        "Which ICD-10-CM codes does the Disease Ontology give for red fever?": ["R01.2", "R01.3"],
        "Which ICD-10-CM code does the Disease Ontology give for blue fever?": [],
        "Which ICD-10-CM code does the Disease Ontology give for green fever type 5?": ["R05"],
        "Which ICD-10-CM code does the Disease Ontology give for green fever type V?": ["R06"],
        'Which kinds of blue fever are linked to the symptom "itchy nose"?': [],
    }
    for question, expected in cases.items():
        answer = ask(question)
        assert answer.answers == expected, question
        assert (answer.status == "answered") == bool(expected), question
    answer = ask("What is the parent class of the parent class of dark blue fever?")
    quoted = [mention.surface for mention in answer.statements[0].mentions]
    assert quoted == ["DOID:3 | dark blue fever | blue fever", "DOID:2 | blue fever | colour fever"]


@pytest.mark.slow
def test_answer_sets_of_multihop_dev_are_exact(registry_engine: Engine, graph: PostgresGraph, tmp_path: Path) -> None:
    for name in multihop.TABLES:
        multihop.ingest(registry_engine, graph, multihop.QUESTIONS.parent / name, tmp_path / name)
    judged: Iterator[bool] = (right == ours for _, _, right, ours, _ in multihop.exact(graph))
    hits = list(judged)
    assert sum(hits) / len(hits) >= 0.95
