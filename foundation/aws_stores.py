"""The AWS adapters as the settings describe them, each imported when it is asked for: the embedded profile needs none.

The registry, the Postgres copies and the graph have one adapter for both profiles: they are Postgres.
"""

from __future__ import annotations

from foundation.errors import ConfigurationError
from foundation.ports.cache import Cache
from foundation.ports.catalog import Catalog
from foundation.ports.embeddings import Embedder
from foundation.ports.objects import ObjectStore
from foundation.ports.search import SearchIndex
from foundation.ports.warehouse import Warehouse
from foundation.settings import Settings


def landing(settings: Settings) -> ObjectStore:
    raise _absent("objects")


def derived(settings: Settings) -> ObjectStore:
    raise _absent("objects")


def embedder(settings: Settings, model: str) -> Embedder:
    raise _absent("embeddings")


def search_index(settings: Settings, name: str, dimension: int) -> SearchIndex:
    raise _absent("search")


def warehouse(settings: Settings) -> Warehouse:
    raise _absent("warehouse")


def catalog(settings: Settings) -> Catalog:
    raise _absent("catalog")


def cache(settings: Settings) -> Cache:
    raise _absent("cache")


def _absent(port: str) -> ConfigurationError:
    return ConfigurationError(
        f"ASKLINE_ADAPTERS__{port.upper()}: this version has the embedded adapter only.",
        fix="Leave it and ASKLINE_PROFILE at `embedded`.",
    )
