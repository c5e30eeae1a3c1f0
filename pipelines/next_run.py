"""The run that should follow this one at once, since this one has put documents of its own into the queue.

A worker asks for it when it is free again: asked for earlier, it would start a second worker. Where nobody asks, the
uploads sensor does.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import date

from foundation.errors import Unavailable
from foundation.nudge import Nudge
from foundation.registry.claims import ask_for_run
from foundation.registry.database import transaction
from foundation.stores import Stores

logger = logging.getLogger(__name__)
_days: set[date] = set()


def wanted_for(days: Iterable[date]) -> None:
    """Documents that arrived on these days wait."""
    _days.update(days)


def ask_for_next_run(stores: Stores) -> None:
    """Ask Dagster for a run of each day that waits."""
    nudge = Nudge(stores.settings.dagster)
    while _days:
        day = _days.pop()
        try:
            with transaction(stores.engine) as connection:
                wanted = ask_for_run(connection, day)
        except Unavailable as error:
            logger.warning("the run of %s is left to the sensor: %s", day, error.message)
            continue
        if wanted:
            nudge.ingest(day)
