"""Every port with the adapter that the settings choose, made on first use and shared by one process."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from foundation.adapters.embedded import postgres
from foundation.adapters.embedded.cache import InProcessCache
from foundation.adapters.embedded.catalog import RegistryCatalog
from foundation.adapters.embedded.embeddings import OnnxEmbedder
from foundation.adapters.embedded.graph import PostgresGraph
from foundation.adapters.embedded.objects import LocalObjects
from foundation.adapters.embedded.relational import PostgresRelational
from foundation.adapters.embedded.search import EmbeddedSearchIndex
from foundation.adapters.embedded.warehouse import DuckDbWarehouse
from foundation.artefacts import Artefacts
from foundation.domain import Domain, load_domain
from foundation.errors import ConfigurationError, Unavailable
from foundation.graph_schema import GraphSchema, load_graph_schema
from foundation.ids import CHUNKER
from foundation.lexicon import Lexicon, load_lexicon
from foundation.ports.cache import Cache
from foundation.ports.catalog import Catalog
from foundation.ports.embeddings import Embedder
from foundation.ports.graph import GraphStore
from foundation.ports.objects import ObjectStore
from foundation.ports.relational import Relational
from foundation.ports.search import SearchIndex
from foundation.ports.warehouse import Warehouse
from foundation.registry.database import create_registry_engine, migrate
from foundation.resolution import Resolver
from foundation.settings import Settings


class Stores:
    """The stores of one process. `close` gives back what they hold."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    @cached_property
    def database_url(self) -> str:
        """The registry's Postgres. Unavailable when the embedded server does not run (`askline up` starts it)."""
        return registry_url(self.settings, start=False)

    @cached_property
    def engine(self) -> Engine:
        database = self.settings.database
        engine = create_registry_engine(
            self.database_url, pool_size=database.pool_size, connect_timeout_s=database.connect_timeout_s
        )
        migrate(engine)
        return engine

    @cached_property
    def landing(self) -> ObjectStore:
        self._embedded("objects")
        return LocalObjects(self.settings.landing_folder, versioned=True)

    @cached_property
    def derived(self) -> ObjectStore:
        self._embedded("objects")
        return LocalObjects(self.settings.folder / "derived", versioned=False)

    @cached_property
    def artefacts(self) -> Artefacts:
        return Artefacts(self.derived)

    @cached_property
    def embedder(self) -> Embedder:
        self._embedded("embeddings")
        chosen = self.settings.embeddings
        return OnnxEmbedder(chosen.model, folder=chosen.model_dir, threads=chosen.threads)

    @cached_property
    def search(self) -> SearchIndex:
        self._embedded("search")
        model = self.embedder
        name = f"{model.model}-{model.revision[:12]}-{model.dimension}-{CHUNKER.replace('/', '-')}"
        return EmbeddedSearchIndex(self.settings.folder / "search", name, model.dimension)

    @cached_property
    def relational(self) -> Relational:
        self._embedded("relational")
        relational = PostgresRelational(self.database_url, timeout_seconds=self.settings.query.statement_timeout_s)
        relational.prepare()
        return relational

    @cached_property
    def warehouse(self) -> Warehouse:
        self._embedded("warehouse")
        return DuckDbWarehouse(locate=self.derived.local_path, timeout_seconds=self.settings.query.statement_timeout_s)

    @cached_property
    def catalog(self) -> Catalog:
        self._embedded("catalog")
        return RegistryCatalog(self.engine)

    @cached_property
    def graph(self) -> GraphStore:
        self._embedded("graph")
        return PostgresGraph(self.engine, Resolver(self._domain_data))

    def _domain_data(self) -> tuple[Lexicon, GraphSchema]:
        return load_lexicon(self.domain.folder), load_graph_schema(self.domain.file("graph.yaml"))

    @cached_property
    def cache(self) -> Cache:
        self._embedded("cache")
        return InProcessCache()

    @cached_property
    def domain(self) -> Domain:
        return load_domain(self.settings.domain)

    def derived_path(self, key: str) -> str:
        """Where the warehouse finds a Parquet file of the derived store."""
        with self.derived.local_path(key) as path:
            return str(path)

    def close(self) -> None:
        made: dict[str, Any] = self.__dict__
        for name in ("search", "relational", "warehouse"):
            close = getattr(made.get(name), "close", None)
            if close is not None:
                close()
        if "engine" in made:
            self.engine.dispose()

    def _embedded(self, port: str) -> None:
        if self.settings.adapter(port) != "embedded":
            raise ConfigurationError(
                f"ASKLINE_ADAPTERS__{port.upper()}: this version has the embedded adapter only.",
                fix="Leave it and ASKLINE_PROFILE at `embedded`.",
            )


def postgres_folder(settings: Settings) -> Path:
    return settings.folder / "postgres"


def registry_url(settings: Settings, *, start: bool) -> str:
    """The registry's URL; with `start`, the embedded server is started unless it runs."""
    if settings.database.url is not None:
        return settings.database.url.get_secret_value()
    folder = postgres_folder(settings)
    url = postgres.start(folder) if start else postgres.running_url(folder)
    if url is None:
        raise Unavailable(f"The embedded Postgres in {folder} does not run.", fix="Start it with `askline up`.")
    return url
