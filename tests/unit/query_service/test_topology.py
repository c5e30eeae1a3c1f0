from syrupy.assertion import SnapshotAssertion

from foundation.settings import Settings
from foundation.stores import Stores
from query_service.prompts.router_prompt import ROUTES
from query_service.question_graph import AGENTS, build_graph, topology
from query_service.services import Services


def test_the_question_graph_is_what_the_snapshot_says(snapshot: SnapshotAssertion) -> None:
    settings = Settings()
    assert topology(build_graph(Services(settings, Stores(settings)))) == snapshot


def test_every_route_has_its_agent_and_no_agent_lacks_a_route() -> None:
    assert set(AGENTS) == set(ROUTES)
