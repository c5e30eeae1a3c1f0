"""The stores as a Dagster resource: one set for each process, made on first use, anew when the alias has moved."""

from __future__ import annotations

from dagster import ConfigurableResource, InitResourceContext

from foundation.errors import Unavailable
from foundation.settings import get_settings
from foundation.stores import Stores
from pipelines.embed_ahead import EmbedAhead
from pipelines.handed_on import HandedOn

_held: list[Stores] = []
AHEAD = EmbedAhead()
HANDED_ON = HandedOn()
"""A process executes one run at a time."""


def forget_run() -> None:
    """Let go of what the run before this one left."""
    AHEAD.clear()
    HANDED_ON.clear()


def process_stores() -> Stores:
    if not _held:
        _held.append(Stores(get_settings()))
    return _held[0]


def _let_go_of_outdated() -> None:
    """A warm worker outlives a change of the search index; each of its runs works for the one that answers."""
    try:
        outdated = bool(_held) and _held[0].outdated()
    except Unavailable:
        return  # whoever works with the stores says so
    if outdated:
        _held.pop().close()


class StoresResource(ConfigurableResource[None]):
    """Gives `.stores`, the process's own, and `.ahead` and `.handed_on`, of which each run begins with none."""

    def setup_for_execution(self, context: InitResourceContext) -> None:
        _let_go_of_outdated()
        forget_run()

    @property
    def stores(self) -> Stores:
        return process_stores()

    @property
    def ahead(self) -> EmbedAhead:
        return AHEAD

    @property
    def handed_on(self) -> HandedOn:
        return HANDED_ON


STORES = StoresResource()
