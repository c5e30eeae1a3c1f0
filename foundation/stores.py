"""Every port with the adapter that the settings choose, made on first use and shared by one process."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from sqlalchemy import Engine

from foundation import aws_stores
from foundation.adapters.embedded.cache import InProcessCache
from foundation.adapters.embedded.catalog import RegistryCatalog
from foundation.adapters.embedded.embeddings import OnnxEmbedder
from foundation.adapters.embedded.graph import PostgresGraph
from foundation.adapters.embedded.model_files import SOURCES
from foundation.adapters.embedded.objects import LocalObjects
from foundation.adapters.embedded.relational import PostgresRelational
from foundation.adapters.embedded.search import EmbeddedSearchIndex
from foundation.adapters.embedded.turns import of_machine
from foundation.adapters.embedded.warehouse import DuckDbWarehouse
from foundation.artefacts import Artefacts
from foundation.domain import Domain, load_domain
from foundation.errors import ConfigurationError
from foundation.graph_schema import GraphSchema, load_graph_schema
from foundation.ids import chunker
from foundation.lexicon import Lexicon, load_lexicon
from foundation.ports.cache import Cache
from foundation.ports.catalog import Catalog
from foundation.ports.embeddings import Embedder
from foundation.ports.events import ObjectEvents
from foundation.ports.graph import GraphStore
from foundation.ports.image_embeddings import ImageEmbedder
from foundation.ports.objects import ObjectStore
from foundation.ports.relational import Relational
from foundation.ports.search import SearchIndex
from foundation.ports.warehouse import Warehouse
from foundation.registry import search_indexes
from foundation.registry.address import passwords, registry_url
from foundation.registry.database import create_registry_engine, migrate, transaction
from foundation.registry.search_indexes import PhysicalIndex
from foundation.resolution import Resolver
from foundation.search_alias import AliasedSearch
from foundation.settings import Settings

if TYPE_CHECKING:  # its packages are there on AWS only
    from foundation.adapters.aws.warehouse_dbt import DbtLake


class Stores:
    """The stores of one process. `close` gives back what they hold."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._embedders: dict[str, Embedder] = {}
        self._indexes: dict[PhysicalIndex, SearchIndex] = {}

    @cached_property
    def database_url(self) -> str:
        """The registry's Postgres. Unavailable when the embedded server does not run (`askline up` starts it)."""
        return registry_url(self.settings, start=False)

    @cached_property
    def engine(self) -> Engine:
        database = self.settings.database
        engine = create_registry_engine(
            self.database_url,
            pool_size=database.pool_size,
            connect_timeout_s=database.connect_timeout_s,
            password=passwords(self.settings),
        )
        migrate(engine)
        return engine

    @cached_property
    def landing(self) -> ObjectStore:
        if self._on_aws("objects"):
            return aws_stores.landing(self.settings)
        return LocalObjects(self.settings.landing_folder, versioned=True)

    @cached_property
    def landing_events(self) -> ObjectEvents | None:
        """What tells of new landing objects; None where only a look at the landing store does."""
        return aws_stores.landing_events(self.settings) if self._on_aws("objects") else None

    @cached_property
    def derived(self) -> ObjectStore:
        if self._on_aws("objects"):
            return aws_stores.derived(self.settings)
        return LocalObjects(self.settings.folder / "derived", versioned=False)

    @cached_property
    def artefacts(self) -> Artefacts:
        return Artefacts(self.derived)

    @cached_property
    def serving(self) -> PhysicalIndex:
        """The index that answers, as it was when these stores first asked; see `outdated`."""
        with transaction(self.engine) as connection:
            return search_indexes.serving(connection, self.wanted)

    @cached_property
    def wanted(self) -> PhysicalIndex:
        """The index that the settings and this code would build."""
        model = self.embedder_of(self.settings.embedding_model)
        return PhysicalIndex(model.model, model.revision, model.dimension, chunker(model.max_tokens))

    def outdated(self) -> bool:
        """Whether the alias has moved since: whoever holds these stores takes new ones."""
        with transaction(self.engine) as connection:
            return search_indexes.serving(connection, self.serving) != self.serving

    @cached_property
    def embedder(self) -> Embedder:
        """The model of the index that answers. ConfigurationError when its weights are not those of the index."""
        found = self.embedder_of(self.serving.model)
        if found.revision != self.serving.revision:
            raise ConfigurationError(
                f"The search index {self.serving.name} was built with other weights of {found.model}.",
                fix="Point ASKLINE_EMBEDDINGS__MODEL_DIR at those weights, and run the job rebuild_index for new ones.",
            )
        return found

    @cached_property
    def chunker(self) -> str:
        """The chunker that ingest uses: this code's, for what the embedding model reads."""
        return chunker(self.embedder.max_tokens)

    def embedder_of(self, model: str) -> Embedder:
        """By its name alone: the index that answers may have been built by the other adapter's model."""
        if model not in self._embedders:
            chosen = self.settings.embeddings
            folder = chosen.model_dir if model == chosen.model else None
            self._embedders[model] = (
                OnnxEmbedder(model, folder, chosen.threads, turns=of_machine())
                if model in SOURCES
                else aws_stores.embedder(self.settings, model)
            )
        return self._embedders[model]

    @cached_property
    def image_embedder(self) -> ImageEmbedder:
        """ConfigurationError where the adapter of embeddings is the embedded one."""
        if not self._on_aws("embeddings"):
            raise ConfigurationError(
                "Image vectors need the AWS adapter of embeddings until an embedded model of images is there.",
                fix="Set ASKLINE_ADAPTERS__EMBEDDINGS to `aws`, or do without image vectors.",
            )
        return aws_stores.image_embedder(self.settings)

    @cached_property
    def search(self) -> AliasedSearch:
        return AliasedSearch(self.index_of(self.serving), self._beside)

    def index_of(self, index: PhysicalIndex) -> SearchIndex:
        if index not in self._indexes:
            self._indexes[index] = (
                aws_stores.search_index(self.settings, index.name, index.dimension)
                if self._on_aws("search")
                else EmbeddedSearchIndex(self.settings.folder / "search", index.name, index.dimension)
            )
        return self._indexes[index]

    def drop_index(self, index: PhysicalIndex) -> None:
        self.index_of(index).remove()
        del self._indexes[index]

    def _beside(self) -> list[SearchIndex]:
        with transaction(self.engine) as connection:
            found = search_indexes.others(connection)
        return [self.index_of(index) for index in found if index != self.serving]

    @cached_property
    def relational(self) -> Relational:
        reader = self.settings.database.reader_password
        relational = PostgresRelational(
            self.database_url,
            reader_password=reader.get_secret_value() if reader else None,
            password=passwords(self.settings),
            timeout_seconds=self.settings.query.statement_timeout_s,
        )
        relational.prepare()
        return relational

    @cached_property
    def warehouse(self) -> Warehouse:
        if self._on_aws("warehouse"):
            return aws_stores.warehouse(self.settings)
        return DuckDbWarehouse(locate=self.derived.local_path, timeout_seconds=self.settings.query.statement_timeout_s)

    @cached_property
    def query_results(self) -> ObjectStore | None:
        """Where the warehouse keeps the results of statements until they are read; None where it keeps none."""
        if not self._on_aws("warehouse"):
            return None
        return aws_stores.folder(self.settings, aws_stores.results_location(self.settings))

    @cached_property
    def dbt_lake(self) -> DbtLake | None:
        """Where dbt builds, if that is the warehouse itself."""
        return aws_stores.dbt_lake(self.settings) if self._on_aws("warehouse") else None

    @cached_property
    def catalog(self) -> Catalog:
        if self._on_aws("catalog"):
            return aws_stores.catalog(self.settings)
        return RegistryCatalog(self.engine)

    @cached_property
    def graph(self) -> GraphStore:
        return PostgresGraph(self.engine, self.resolver)

    @cached_property
    def resolver(self) -> Resolver:
        return Resolver(lambda: (self.lexicon, self.graph_schema))

    @cached_property
    def lexicon(self) -> Lexicon:
        return load_lexicon(self.domain.folder)

    @cached_property
    def graph_schema(self) -> GraphSchema:
        return load_graph_schema(self.domain.file("graph.yaml"))

    @cached_property
    def cache(self) -> Cache:
        if self._on_aws("cache"):
            return aws_stores.cache(self.settings)
        return InProcessCache()

    @cached_property
    def domain(self) -> Domain:
        return load_domain(self.settings.domain)

    def close(self) -> None:
        made: dict[str, Any] = self.__dict__
        for index in self._indexes.values():
            index.close()
        for name in ("relational", "warehouse", "cache"):
            close = getattr(made.get(name), "close", None)
            if close is not None:
                close()
        if "engine" in made:
            self.engine.dispose()

    def _on_aws(self, port: str) -> bool:
        chosen = self.settings.adapter(port) == "aws"
        if chosen:
            aws_stores.require_packages()
        return chosen
