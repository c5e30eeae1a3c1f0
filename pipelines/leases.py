"""Keeps a run's claims alive while it works; when the process dies, the leases run out by themselves."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from foundation.errors import Unavailable
from foundation.registry import claims
from foundation.registry.database import transaction
from foundation.stores import Stores

logger = logging.getLogger(__name__)


@contextmanager
def kept_leases(stores: Stores, run_id: str) -> Iterator[None]:
    """Renew the leases of this run every third of their time, in a thread, until the block ends."""
    lease = timedelta(seconds=stores.settings.ingestion.lease_s)
    over = threading.Event()

    def keep() -> None:
        while not over.wait(lease.total_seconds() / 3):
            try:
                with transaction(stores.engine) as connection:
                    claims.renew(connection, run_id, lease)
            except Unavailable as error:
                logger.warning("leases of run %s not renewed this time: %s", run_id, error)

    thread = threading.Thread(target=keep, name="leases", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
