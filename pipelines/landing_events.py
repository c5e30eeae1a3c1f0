"""Takes what the landing bucket's queue tells into the registry: every event is a reason to look at its key, no more.

So duplicates and events out of order do no harm: what counts is the object as it is at that moment.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Container
from concurrent.futures import ThreadPoolExecutor
from itertools import chain

from foundation.card import described_by
from foundation.errors import AsklineError, NotFound
from foundation.ports.events import ObjectEvents, ObjectNotice
from foundation.registry.database import transaction
from foundation.registry.documents import LiveKey, live_keys
from foundation.registry.erasures import keys_in_erasure
from foundation.registry.members import holder_of_key
from foundation.stores import Stores
from pipelines.arrivals import Outcome, arrive, leave, take_sidecar

_AT_ONCE = 6
"""Receivers beside each other; each holds a connection to the registry, whose pool has ten."""

logger = logging.getLogger(__name__)


def take_events(stores: Stores, events: ObjectEvents, *, seconds: float) -> Counter[str]:
    """Empties the queue, or works on it for about so long. Returns how many messages, arrivals, deletions and so on.

    A message is deleted once the registry has what it tells of; one that met an error comes again by itself.
    Unavailable, ConfigurationError when the queue or the registry does not answer.
    """
    deadline = time.monotonic() + seconds

    def work(_: int) -> Counter[str]:
        done: Counter[str] = Counter()
        while time.monotonic() < deadline and (notices := events.receive()):
            done += _take(stores, events, notices)
        return done

    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="events") as pool:
        return sum(pool.map(work, range(_AT_ONCE)), Counter[str]())


def _take(stores: Stores, events: ObjectEvents, notices: list[ObjectNotice]) -> Counter[str]:
    keys = list(dict.fromkeys(chain.from_iterable(notice.keys for notice in notices)))
    with transaction(stores.engine) as connection:
        known, erasing = live_keys(connection, keys), keys_in_erasure(connection, keys)
    counts: Counter[str] = Counter(messages=len(notices))
    finished = set()
    for key in keys:
        try:
            outcome = _look_at(stores, key, known, erasing)
        except AsklineError as error:
            # By its code alone: a key may be a person's name.
            logger.warning("An event could not be taken (%s); it comes again. %s", error.code, error.fix)
            outcome = "failed"
        counts[outcome] += 1
        if outcome not in ("failed", Outcome.YOUNG.value):
            finished.add(key)
    events.done([notice for notice in notices if finished.issuperset(notice.keys)])
    return counts


def _look_at(stores: Stores, key: str, known: dict[str, LiveKey], erasing: Container[str]) -> str:
    """Brings the registry to what lies at this key now."""
    described = described_by(key)
    if described is not None:
        take_sidecar(stores, described)  # one beside a file that is to come is read with that
        return "sidecar"
    registered = known.get(key)
    try:
        version = stores.landing.head(key)
    except NotFound:
        return "deleted" if registered and leave(stores, key, registered.document_id) else Outcome.KNOWN.value
    if registered is not None and registered.object_version == version.version_id:
        return Outcome.KNOWN.value
    if registered is None and (key in erasing or holder_of_key(key) is not None):
        return Outcome.KNOWN.value  # going, or a member, which its holder's run registers
    return arrive(stores, version).value
