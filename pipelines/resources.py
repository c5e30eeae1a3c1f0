"""The stores as a Dagster resource: one set for each process, made on first use."""

from __future__ import annotations

from functools import cache

from dagster import ConfigurableResource

from foundation.settings import get_settings
from foundation.stores import Stores


@cache
def process_stores() -> Stores:
    return Stores(get_settings())


class StoresResource(ConfigurableResource[None]):
    """Gives `.stores`, the process's own."""

    @property
    def stores(self) -> Stores:
        return process_stores()


STORES = StoresResource()
