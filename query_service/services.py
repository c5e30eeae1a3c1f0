"""What one process of the query service holds: the stores, the reasoning's parts, the compiled question graph."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from foundation.freed_memory import give_back
from foundation.graph_schema import GraphSchema, load_graph_schema
from foundation.lexicon import Lexicon, load_lexicon
from foundation.nudge import Nudge
from foundation.registry.database import transaction
from foundation.registry.datasets import visible_tables
from foundation.settings import Settings
from foundation.stores import Stores
from foundation.types import Principal, TableInfo
from query_service.reasoning.demands import WordVectors
from query_service.reasoning.evidence_model import Thresholds
from query_service.reasoning.planner_terms import Terms, load_terms
from query_service.reasoning.router import OfflineRouter, load_examples


@dataclass
class Services:
    settings: Settings
    stores: Stores

    def warm_up(self) -> None:
        """Load what the first question would wait for: model, examples, terms, lexicon, graph schema."""
        self.stores.embedder.embed_query("ready")
        _ = (self.router, self.terms, self.lexicon, self.graph_schema, self.stores.relational, self.stores.warehouse)
        give_back()

    @cached_property
    def router(self) -> OfflineRouter:
        return OfflineRouter(load_examples(self.stores.domain.file("router_examples.yaml")), self.stores.embedder)

    @cached_property
    def terms(self) -> Terms:
        return load_terms(self.stores.domain.file("table_terms.yaml"))

    @cached_property
    def lexicon(self) -> Lexicon:
        return load_lexicon(self.stores.domain.folder)

    @cached_property
    def graph_schema(self) -> GraphSchema:
        return load_graph_schema(self.stores.domain.file("graph.yaml"))

    @cached_property
    def evidence(self) -> Thresholds:
        """When a passage is evidence, fitted for the embedding model."""
        return Thresholds.for_model(self.stores.embedder.model)

    @cached_property
    def word_vectors(self) -> WordVectors:
        return WordVectors(self.stores.embedder)

    @cached_property
    def nudge(self) -> Nudge:
        return Nudge(self.settings.dagster)

    def read_tables(self, principal: Principal) -> list[TableInfo]:
        """The tables that the principal may read."""
        with transaction(self.stores.engine) as connection:
            return visible_tables(connection, principal)
