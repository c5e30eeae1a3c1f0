"""What every GraphStore with a resolver does about nodes that are one thing.

Inherit and give the fixtures `graph` (with a resolver over `lexicon()` and `schema()`) and `corpus`.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from foundation import ids
from foundation.contracts.graph import ANN, BOB, METFORMIN, Corpus, edge, node, seen
from foundation.errors import InvalidInput, NotFound
from foundation.graph_schema import GraphSchema
from foundation.lexicon import Lexicon, Term, node_id_of
from foundation.ports.graph import GraphStore
from foundation.types import Edge, Merge, Node, VersionGraph


def lexicon() -> Lexicon:
    """Kidney and renal are one in three terms, so that a fourth can be told by them."""
    terms = [
        Term(f"T:{n}", "disease", f"kidney {what}", aliases=(f"renal {what}",))
        for n, what in enumerate(("failure", "cyst", "colic"))
    ]
    return Lexicon.of([*terms, Term("T:9", "disease", "kidney abscess"), Term("T:10", "disease", "kidney cancer")])


def schema() -> GraphSchema:
    return GraphSchema(
        node_types=("disease", "drug", "person", "place", "concept"),
        free_type="concept",
        relations={},
        person_type="person",
        place_type="place",
        exclusive_types=("person", "place"),
    )


def person(name: str, born: str | None = None, version: str = "v1") -> Node:
    """As extraction makes them: known by the birth date, or by the version."""
    known = f"born:{born}:{name.casefold()}" if born else None
    return Node(ids.node_id("person", known or f"{name.casefold()}@{version}"), "person", name, known)


def known(term_id: str, name: str) -> Node:
    return Node(node_id_of(Term(term_id, "disease", name)), "disease", name, term_id)


def say(
    graph: GraphStore, corpus: Corpus, version: str, *nodes: Node, edges: Sequence[Edge] = (), acl: str = ""
) -> None:
    corpus.add(version, [acl or "user:ann"])
    mentions = [seen(version, n) for n in nodes] + [seen(version, e) for e in edges]
    graph.write_versions([VersionGraph(version, nodes, edges, mentions)])


def one(graph: GraphStore, *nodes: Node) -> bool:
    """Whether Ann is shown these as one."""
    found = {graph.get_node(ANN, n.node_id).node_id for n in nodes}
    assert len(found) in (1, len(nodes))
    return len(found) == 1


def decision(graph: GraphStore, left: Node, right: Node) -> Merge | None:
    ends = {left.node_id, right.node_id}
    return next((m for m in graph.merges(ANN) if {m.left.node_id, m.right.node_id} == ends), None)


class GraphMergesContract:
    @pytest.fixture
    def graph(self) -> GraphStore:
        raise NotImplementedError

    @pytest.fixture
    def corpus(self) -> Corpus:
        raise NotImplementedError

    @pytest.mark.parametrize(
        ("left", "right", "same", "rule"),
        [
            (person("John Doe", "1970-05-01"), person("John T. Doe", "1970-05-01"), True, "birth_date"),
            (person("J. Doe", "1970-05-01"), person("John Doe", "1970-05-01"), True, "birth_date"),
            (person("Johan Meyer", "1970-05-01"), person("Johan Meier", "1970-05-01"), True, "birth_date"),
            (person("John Doe", "1970-05-01"), person("John Doe", "1970"), True, "birth_date"),
            (person("John Doe", "1970-01-05~1970-05-01"), person("John Doe", "1970-05-01"), True, "birth_date"),
            (person("John Doe", "1970-05-01"), person("John Doe", "1982-01-02"), False, "birth_date"),
            (person("John A. Doe", "1970-05-01"), person("John B. Doe", "1970-05-01"), False, None),
            (person("Anna Doe", "1970-05-01"), person("John Doe", "1970-05-01"), False, None),
            (person("John Doe", "1970-05-01"), person("John Doe"), True, "same_name"),
            (person("John Doe", version="a"), person("John Doe", version="b"), True, "same_name"),
            (person("John Doe", version="a"), person("John T. Doe", version="b"), False, "no_birth_date"),
            (person("Paris Hill"), node("Paris Hill", type="place"), False, "types"),
            (person("Paris Hill"), node("Paris Hill", type="concept"), True, "same_name"),
            (node("blue serum", type="drug"), node("Blue Serum", type="concept"), True, "same_name"),
            (node("anti-zorbolin serum", type="drug"), node("antizorbolin serum", type="concept"), True, "same_name"),
            (known("T:9", "kidney abscess"), node("renal abscess", type="concept"), True, "variant"),
            (known("T:0", "kidney failure"), node("kidney failur", type="concept"), True, "variant"),
            (node("renal abscess", type="concept"), node("abscess of the kidney", type="concept"), True, "variant"),
            (known("T:9", "kidney abscess"), node("heart abscess", type="concept"), False, None),
            (known("T:0", "kidney failure"), known("T:1", "kidney cyst"), False, None),
            (node("serum alpha 1"), node("serum alpha 2"), False, None),
            (node("zorbolin serum"), node("zorbollin serum"), True, "spelling"),
            (node("serum of zorbolin"), node("zorbolin serum"), True, "word_order"),
            (node("zorbolin serum", "ZS"), node("ZS", type="concept"), True, "abbreviation"),
            (node("zorbolin serum", "ZS"), node("zombie syndrome", "ZS"), False, "alias"),
        ],
        ids=lambda value: value.name if isinstance(value, Node) else str(value),
    )
    def test_each_pair_is_decided_by_its_rule(
        self, graph: GraphStore, corpus: Corpus, left: Node, right: Node, same: bool, rule: str | None
    ) -> None:
        say(graph, corpus, "v1", left)
        say(graph, corpus, "v2", right)
        assert one(graph, left, right) is same
        found = decision(graph, left, right)
        assert (found.same, found.rule) == (same, rule) if found else rule is None
        assert found is None or len(found.reason) > 10

    def test_a_person_without_a_date_is_nobody_of_two_who_have_one(self, graph: GraphStore, corpus: Corpus) -> None:
        old, young, any_of_them = person("Ann Lee", "1950-01-01"), person("Ann Lee", "1990-01-01"), person("Ann Lee")
        say(graph, corpus, "v1", old)
        say(graph, corpus, "v2", any_of_them)
        assert one(graph, old, any_of_them)
        say(graph, corpus, "v3", young)
        assert not one(graph, old, any_of_them, young)
        found = decision(graph, old, any_of_them)
        assert found is not None and (found.same, found.rule) == (False, "ambiguous")
        graph.delete_versions(["v3"])
        assert one(graph, old, any_of_them)

    def test_an_abbreviation_that_two_documents_define_otherwise_means_neither(
        self, graph: GraphStore, corpus: Corpus
    ) -> None:
        serum, syndrome, short = node("zorbolin serum", "ZS"), node("zombie syndrome", "ZS"), node("ZS", type="concept")
        say(graph, corpus, "v1", serum)
        say(graph, corpus, "v2", short)
        assert one(graph, serum, short)
        say(graph, corpus, "v3", syndrome)
        assert not one(graph, serum, short, syndrome)

    def test_what_is_one_has_the_facts_names_and_evidence_of_both(self, graph: GraphStore, corpus: Corpus) -> None:
        term, spelt = known("T:9", "kidney abscess"), node("renal abscess", type="concept")
        ties = [edge(METFORMIN, "treats", term), edge(METFORMIN, "treats", spelt), edge(spelt, "causes", term)]
        say(graph, corpus, "v1", term, METFORMIN, edges=ties[:1])
        say(graph, corpus, "v2", spelt, METFORMIN, term, edges=ties[1:])
        merged = graph.get_node(ANN, spelt.node_id)
        assert (merged.node_id, merged.aliases, merged.same_as) == (term.node_id, ("renal abscess",), (spelt.node_id,))
        for start in (spelt, term, METFORMIN):
            nodes, edges = graph.neighbourhood(ANN, [start.node_id], hops=2)
            assert {n.node_id for n in nodes} == {term.node_id, METFORMIN.node_id}
            assert [(e.source_id, e.type, e.target_id) for e in edges] == [(METFORMIN.node_id, "treats", term.node_id)]
            assert {m.version_id for m in graph.evidence(ANN, edge_ids=[edges[0].edge_id])} == {"v1", "v2"}
        assert {m.version_id for m in graph.evidence(ANN, node_ids=[term.node_id])} == {"v1", "v2"}
        assert len(graph.evidence(ANN, node_ids=[spelt.node_id], limit=1)) == 1
        assert graph.find_nodes(ANN, ["renal abscess"]) == graph.find_nodes(ANN, ["kidney abscess"]) == [merged]
        graph.delete_versions(["v1"])
        assert graph.neighbourhood(ANN, [METFORMIN.node_id])[1][0].type == "treats"

    def test_a_merge_tells_nothing_of_what_is_forbidden(self, graph: GraphStore, corpus: Corpus) -> None:
        open_, secret = person("John Doe", "1970-05-01"), person("John Thaddeus Doe", "1970-05-01")
        say(graph, corpus, "v1", open_, acl="public")
        say(graph, corpus, "v2", secret)
        assert one(graph, open_, secret)
        assert graph.get_node(BOB, open_.node_id) == replace(open_)
        with pytest.raises(NotFound):
            graph.get_node(BOB, secret.node_id)
        assert graph.find_nodes(BOB, ["John Thaddeus Doe"]) == []
        assert graph.merges(BOB) == []
        assert {m.version_id for m in graph.evidence(BOB, node_ids=[open_.node_id])} == {"v1"}
        with pytest.raises(NotFound):
            graph.pin_merge(BOB, open_.node_id, secret.node_id, same=False, reason="guess")

    def test_a_pin_outdoes_the_rules_until_it_is_taken_back_and_survives_the_documents(
        self, graph: GraphStore, corpus: Corpus
    ) -> None:
        left, right = person("John Doe", "1970-05-01"), person("John T. Doe", "1970-05-01")
        say(graph, corpus, "v1", left)
        say(graph, corpus, "v2", right)
        graph.pin_merge(ANN, right.node_id, left.node_id, same=False, reason="Two cousins.")
        assert not one(graph, left, right)
        found = decision(graph, left, right)
        assert found is not None and (found.rule, found.reason, found.pinned_by) == ("pinned", "Two cousins.", "ann")
        graph.delete_versions(["v2"])
        graph.write_versions([VersionGraph("v2", [right], [], [seen("v2", right)])])
        assert not one(graph, left, right)
        graph.unpin_merge(ANN, left.node_id, right.node_id)
        assert one(graph, left, right)
        with pytest.raises(NotFound):
            graph.unpin_merge(ANN, left.node_id, right.node_id)
        with pytest.raises(InvalidInput):
            graph.pin_merge(ANN, left.node_id, left.node_id, same=True, reason="itself")

    def test_a_pin_joins_what_shares_nothing(self, graph: GraphStore, corpus: Corpus) -> None:
        left, right = node("zorbolin serum"), node("the blue stuff")
        say(graph, corpus, "v1", left)
        say(graph, corpus, "v2", right)
        assert not one(graph, left, right)
        graph.pin_merge(ANN, left.node_id, right.node_id, same=True, reason="The ward calls it so.")
        assert one(graph, left, right)

    def test_nothing_joins_by_a_detour_what_is_two(self, graph: GraphStore, corpus: Corpus) -> None:
        """J. Doe could be John or James: the first stays apart from the other two, who are not one."""
        john, james, initial = (person(f"{given} Doe", "1970-05-01") for given in ("John", "James", "J."))
        for n, who in enumerate((john, james, initial)):
            say(graph, corpus, f"v{n}", who)
        graph.pin_merge(ANN, john.node_id, james.node_id, same=False, reason="Twins.")
        ids_shown = [graph.get_node(ANN, who.node_id).node_id for who in (john, james, initial)]
        assert ids_shown[0] != ids_shown[1]
        assert "conflict" in {m.rule for m in graph.merges(ANN, same=False)}

    def test_the_order_of_documents_decides_nothing(self, graph: GraphStore, corpus: Corpus) -> None:
        people = [
            *(person("Ann Lee", born) for born in ("1950-01-01", "1990-01-01")),
            *(person("Ann Lee", version=f"v{n}") for n in (2, 3)),
            *(person(name, "1970-05-01") for name in ("John Doe", "John T. Doe", "J. Doe", "John S. Doe")),
            *(node(name, type="concept") for name in ("renal abscess", "abscess of the kidney", "zorbolin serum")),
        ]
        for n, who in enumerate(people):
            say(graph, corpus, f"v{n}", who)

        def decided() -> list[tuple[str, str, bool, str]]:
            return sorted((m.left.node_id, m.right.node_id, m.same, m.rule) for m in graph.merges(ANN))

        first, draw = decided(), random.Random(4)
        assert len(first) >= 8
        for _ in range(3):
            order = draw.sample(range(len(people)), len(people))
            for n in order[:6]:
                graph.delete_versions([f"v{n}"])
            for n in order[:6][::-1]:
                graph.write_versions([VersionGraph(f"v{n}", [people[n]], [], [seen(f"v{n}", people[n])])])
            assert decided() == first

    def test_merges_are_listed_by_verdict_and_name(self, graph: GraphStore, corpus: Corpus) -> None:
        say(graph, corpus, "v1", person("John Doe", "1970-05-01"), person("Mary Poe", "1980-01-01"))
        say(graph, corpus, "v2", person("John T. Doe", "1970-05-01"), person("Mary Poe", "1981-01-01"))
        assert [m.same for m in graph.merges(ANN, text="poe")] == [False]
        assert [m.left.name.startswith("John") for m in graph.merges(ANN, same=True)] == [True]
        assert len(graph.merges(ANN, limit=1)) == 1
        assert graph.merges(ANN, text="%") == []
