"""What every GraphStore does.

Inherit and give the fixtures `graph` and `corpus`; two stores on one database write at the same time.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import pytest

from foundation import ids
from foundation.errors import InvalidInput, NotFound
from foundation.ports.graph import GraphStore
from foundation.types import Edge, Mention, Node, Principal, VersionGraph

ANN, BOB = Principal("ann"), Principal("bob")
HOSTILE = "x}) MATCH (n) DETACH DELETE n //"


class Corpus(Protocol):
    """The documents that evidence refers to: one document, one version, chunks `VERSION-0` to `VERSION-9`."""

    def add(self, version_id: str, acl: Sequence[str] = ("user:ann",)) -> None: ...

    def deactivate(self, version_id: str) -> None:
        """The document has another active version from now on."""


def node(name: str, *aliases: str, type: str = "disease") -> Node:
    return Node(ids.node_id(type, name), type, name, aliases=aliases)


def edge(source: Node, type: str, target: Node) -> Edge:
    return Edge(ids.edge_id(source.node_id, type, target.node_id), source.node_id, target.node_id, type)


def seen(version_id: str, subject: Node | Edge, at: int = 0) -> Mention:
    place = (f"{version_id}-{at % 10}", version_id, at, at + 5, "found", "lexicon")
    if isinstance(subject, Node):
        return Mention(*place, node_id=subject.node_id)
    return Mention(*place, edge_id=subject.edge_id)


DIABETES = node("diabetes", "sugar disease")
METFORMIN = node("metformin", type="drug")
NEUROPATHY = node("neuropathy")
NUMBNESS = node("numbness", type="symptom")
TREATS = edge(METFORMIN, "treats", DIABETES)
CAUSES = edge(DIABETES, "causes", NEUROPATHY)
SYMPTOM = edge(NUMBNESS, "symptom_of", NEUROPATHY)


def write(graph: GraphStore, version_id: str, nodes: Sequence[Node], edges: Sequence[Edge] = ()) -> None:
    mentions = [seen(version_id, n) for n in nodes] + [seen(version_id, e) for e in edges]
    graph.write_versions([VersionGraph(version_id, nodes, edges, mentions)])


class GraphStoreContract:
    @pytest.fixture
    def graph(self) -> GraphStore:
        raise NotImplementedError

    @pytest.fixture
    def corpus(self) -> Corpus:
        raise NotImplementedError

    @pytest.fixture
    def chain(self, graph: GraphStore, corpus: Corpus) -> GraphStore:
        """metformin treats diabetes causes neuropathy, numbness is a symptom of neuropathy; Ann's document v1."""
        corpus.add("v1")
        write(graph, "v1", [DIABETES, METFORMIN, NEUROPATHY, NUMBNESS], [TREATS, CAUSES, SYMPTOM])
        return graph

    def test_following_a_relation_finds_every_edge_of_one_direction_that_may_be_seen(
        self, graph: GraphStore, corpus: Corpus
    ) -> None:
        corpus.add("v1")
        corpus.add("v2", acl=("user:bob",))
        others = [node(f"neuropathy {n}") for n in range(60)]
        ties = [edge(DIABETES, "causes", other) for other in others]
        write(graph, "v1", [DIABETES, *others, METFORMIN], [*ties, TREATS])
        write(graph, "v2", [DIABETES, NEUROPATHY], [CAUSES])
        nodes, found = graph.follow(ANN, [DIABETES.node_id], "causes", "source")
        assert {e.edge_id for e in found} == {e.edge_id for e in ties}
        assert {n.node_id for n in nodes} == {n.node_id for n in (DIABETES, *others)}
        assert graph.follow(ANN, [DIABETES.node_id], "causes", "target") == ([], [])
        assert graph.follow(ANN, [DIABETES.node_id], "causes", "source", method="declared") == ([], [])
        assert [e.edge_id for e in graph.follow(BOB, [DIABETES.node_id], "causes", "source")[1]] == [CAUSES.edge_id]
        with pytest.raises(InvalidInput):
            graph.follow(ANN, [DIABETES.node_id], "causes", "source", limit=59)

    def test_a_name_an_alias_and_other_spellings_find_one_node(self, chain: GraphStore) -> None:
        for name in ("diabetes", "DIABETES", "sugar-diseases"):
            assert [n.node_id for n in chain.find_nodes(ANN, [name])] == [DIABETES.node_id], name
        assert chain.get_node(ANN, DIABETES.node_id) == DIABETES
        assert chain.find_nodes(ANN, ["gout", "", "%"]) == []

    def test_an_exact_name_comes_before_a_longer_one(self, graph: GraphStore, corpus: Corpus) -> None:
        corpus.add("v1")
        write(graph, "v1", [node("asthma in children"), node("asthma"), node("acute asthma")])
        assert [n.name for n in graph.find_nodes(ANN, ["asthma"], limit=2)] == ["asthma", "acute asthma"]
        assert [n.name for n in graph.find_nodes(ANN, ["asthma", "acute"], exact=True)] == ["asthma"]
        assert [n.name for n in graph.search_nodes(ANN, "asth", None)] == [
            "asthma",
            "acute asthma",
            "asthma in children",
        ]

    def test_a_search_narrows_by_type_and_without_text_lists_the_best_proven(
        self, chain: GraphStore, corpus: Corpus
    ) -> None:
        corpus.add("v2")
        write(chain, "v2", [NEUROPATHY])
        assert [n.name for n in chain.search_nodes(ANN, None, "drug")] == ["metformin"]
        assert chain.search_nodes(ANN, None, None)[0].name == "neuropathy"
        assert chain.search_nodes(ANN, "100%", None) == []

    def test_a_neighbourhood_grows_by_hops(self, chain: GraphStore) -> None:
        names = []
        for hops in (1, 2, 3):
            nodes, edges = chain.neighbourhood(ANN, [METFORMIN.node_id], hops=hops)
            names.append({n.name for n in nodes})
            assert len(edges) == hops
        assert names[0] == {"metformin", "diabetes"}
        assert names[2] == {"metformin", "diabetes", "neuropathy", "numbness"}
        only_treats = chain.neighbourhood(ANN, [METFORMIN.node_id], hops=3, types=["treats"])
        assert only_treats[1] == [TREATS]
        with pytest.raises(InvalidInput):
            chain.neighbourhood(ANN, [METFORMIN.node_id], hops=4)

    def test_a_limited_neighbourhood_keeps_near_edges_with_most_evidence(
        self, graph: GraphStore, corpus: Corpus
    ) -> None:
        corpus.add("v1")
        drugs = [node(f"drug {n}", type="drug") for n in range(5)]
        ties = [edge(drug, "treats", DIABETES) for drug in drugs]
        evidence = [seen("v1", ties[n], at) for n in range(5) for at in range(3 if n == 3 else 1)]
        graph.write_versions([VersionGraph("v1", [*drugs, DIABETES], ties, evidence)])
        nodes, edges = graph.neighbourhood(ANN, [DIABETES.node_id], hops=2, limit=2)
        assert [len(edges), edges[0].edge_id] == [2, ties[3].edge_id]
        assert {n.node_id for n in nodes} == {DIABETES.node_id} | {e.source_id for e in edges}

    def test_evidence_comes_back_as_it_was_written_up_to_a_limit_each(self, graph: GraphStore, corpus: Corpus) -> None:
        corpus.add("v1")
        mentions = [seen("v1", s, at) for at in range(4) for s in (TREATS, DIABETES)]
        graph.write_versions([VersionGraph("v1", [DIABETES, METFORMIN], [TREATS], mentions)])
        assert graph.evidence(ANN, edge_ids=[TREATS.edge_id]) == mentions[::2]
        both = graph.evidence(ANN, node_ids=[DIABETES.node_id], edge_ids=[TREATS.edge_id], limit=3)
        assert sorted(m.start for m in both) == [0, 0, 1, 1, 2, 2]
        assert graph.evidence(ANN) == []

    def test_an_end_of_an_edge_needs_no_mention_of_its_own(self, graph: GraphStore, corpus: Corpus) -> None:
        corpus.add("v1")
        graph.write_versions([VersionGraph("v1", [DIABETES, METFORMIN], [TREATS], [seen("v1", TREATS)])])
        assert graph.get_node(ANN, METFORMIN.node_id).name == "metformin"
        assert graph.counts("v1") == {"nodes": 2, "edges": 1, "mentions": 1}

    @pytest.mark.parametrize(
        ("nodes", "edges", "mentions"),
        [
            ([DIABETES], [], []),
            ([DIABETES, METFORMIN], [TREATS], [seen("v1", DIABETES), seen("v1", METFORMIN)]),
            ([DIABETES], [TREATS], [seen("v1", TREATS)]),
            ([DIABETES], [], [seen("v1", DIABETES), seen("v1", METFORMIN)]),
            ([DIABETES], [], [seen("v2", DIABETES)]),
        ],
        ids=["node without mention", "edge without mention", "end not given", "mention of nothing", "other version"],
    )
    def test_what_no_mention_holds_is_refused_whole(
        self, graph: GraphStore, corpus: Corpus, nodes: list[Node], edges: list[Edge], mentions: list[Mention]
    ) -> None:
        corpus.add("v1")
        with pytest.raises(ValueError, match=r"mention|given|version"):
            graph.write_versions([VersionGraph("v1", nodes, edges, mentions)])
        assert graph.counts("v1") == {"nodes": 0, "edges": 0, "mentions": 0}

    def test_writing_again_changes_nothing_and_writing_less_takes_away(self, chain: GraphStore) -> None:
        before = chain.neighbourhood(ANN, [METFORMIN.node_id], hops=3)
        write(chain, "v1", [DIABETES, METFORMIN, NEUROPATHY, NUMBNESS], [TREATS, CAUSES, SYMPTOM])
        assert chain.neighbourhood(ANN, [METFORMIN.node_id], hops=3) == before
        assert chain.counts("v1") == {"nodes": 4, "edges": 3, "mentions": 7}
        write(chain, "v1", [node("diabetes"), METFORMIN], [TREATS])
        assert chain.neighbourhood(ANN, [METFORMIN.node_id], hops=3)[1] == [TREATS]
        assert chain.find_nodes(ANN, ["neuropathy", "sugar disease"]) == []

    def test_deleting_one_of_two_documents_keeps_what_the_other_says(self, chain: GraphStore, corpus: Corpus) -> None:
        corpus.add("v2")
        write(chain, "v2", [DIABETES, METFORMIN], [TREATS])
        assert chain.delete_versions(["v1", "unknown"]) == 7
        assert chain.neighbourhood(ANN, [METFORMIN.node_id], hops=3)[1] == [TREATS]
        assert {m.version_id for m in chain.evidence(ANN, edge_ids=[TREATS.edge_id])} == {"v2"}
        with pytest.raises(NotFound):
            chain.get_node(ANN, NUMBNESS.node_id)
        assert chain.delete_versions(["v2"]) == 3
        assert chain.search_nodes(ANN, None, None) == []
        assert chain.delete_versions([]) == 0

    def test_what_only_a_forbidden_document_says_does_not_exist(self, graph: GraphStore, corpus: Corpus) -> None:
        corpus.add("public", acl=["public"])
        corpus.add("secret", acl=["user:ann"])
        write(graph, "public", [DIABETES, METFORMIN], [TREATS])
        secret = node("diabetes", "project falcon")
        write(graph, "secret", [secret, METFORMIN, NEUROPATHY], [TREATS, CAUSES])
        assert graph.find_nodes(BOB, ["neuropathy"]) == graph.find_nodes(BOB, ["project falcon"]) == []
        assert graph.search_nodes(BOB, "neuro", None) == graph.search_nodes(BOB, "falcon", None) == []
        assert {n.name for n in graph.search_nodes(BOB, None, None)} == {"diabetes", "metformin"}
        assert graph.get_node(BOB, DIABETES.node_id).aliases == ("sugar disease",)
        for node_id in (NEUROPATHY.node_id, "unknown"):
            with pytest.raises(NotFound):
                graph.get_node(BOB, node_id)
            assert graph.neighbourhood(BOB, [node_id]) == ([], [])
        nodes, edges = graph.neighbourhood(BOB, [DIABETES.node_id], hops=3)
        assert ({n.name for n in nodes}, edges) == ({"diabetes", "metformin"}, [TREATS])
        assert graph.evidence(BOB, node_ids=[NEUROPATHY.node_id], edge_ids=[CAUSES.edge_id]) == []
        assert [m.version_id for m in graph.evidence(BOB, edge_ids=[TREATS.edge_id])] == ["public"]
        assert len(graph.neighbourhood(ANN, [DIABETES.node_id], hops=3)[1]) == 2
        assert graph.search_nodes(Principal("eve", groups=("ann",)), "neuro", None) == []

    def test_a_version_that_is_not_active_says_nothing(self, chain: GraphStore, corpus: Corpus) -> None:
        corpus.deactivate("v1")
        assert chain.find_nodes(ANN, ["diabetes"]) == []
        assert chain.search_nodes(ANN, None, None) == []
        assert chain.neighbourhood(ANN, [DIABETES.node_id]) == ([], [])
        assert chain.counts("v1")["mentions"] == 7

    def test_a_name_that_is_a_statement_is_only_a_name(self, chain: GraphStore, corpus: Corpus) -> None:
        corpus.add("v2")
        hostile = node(HOSTILE, "'; drop table nodes; --")
        write(chain, "v2", [hostile, DIABETES], [edge(hostile, HOSTILE, DIABETES)])
        assert chain.find_nodes(ANN, [HOSTILE])[0] == hostile
        assert chain.search_nodes(ANN, HOSTILE, HOSTILE) == []
        assert HOSTILE in {e.type for e in chain.neighbourhood(ANN, [DIABETES.node_id])[1]}
        assert len(chain.neighbourhood(ANN, [METFORMIN.node_id], hops=3)[1]) == 4

    def test_versions_that_share_nodes_are_written_and_deleted_at_once_without_loss(
        self, graph: GraphStore, corpus: Corpus
    ) -> None:
        """Half the nodes are common to all; odd versions go again while even ones are still being written."""
        versions = [f"w{n}" for n in range(8)]
        for version in versions:
            corpus.add(version)
        common = [node(f"common {n}") for n in range(30)]

        def work(n: int) -> None:
            own = [node(f"own {n}-{i}") for i in range(10)]
            order = common if n % 2 else common[::-1]
            ties = [edge(one, "causes", other) for one, other in zip(order, order[1:] + own[:1], strict=True)]
            for _ in range(3):
                write(graph, versions[n], [*order, *own], ties)
            if n % 2:
                graph.delete_versions([versions[n]])

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(work, range(8)))
        for n, version in enumerate(versions):
            assert graph.counts(version)["mentions"] == (0 if n % 2 else 70), version
            assert len(graph.find_nodes(ANN, [f"own {n}-3"])) == (0 if n % 2 else 1)
