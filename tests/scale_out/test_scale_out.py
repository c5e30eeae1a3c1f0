"""A day's files over two hosts: all there, nothing twice, also when one host dies in the middle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import select

from bench.common import until
from foundation.registry.database import transaction
from foundation.registry.tables import batch_versions, chunks, document_versions
from tests.engines.processes import EngineFailed
from tests.scale_out.deployment import Deployment, deployment

pytestmark = [pytest.mark.engines, pytest.mark.slow]
FILES = 2000
SHARDS = 4
_ALL_S = 600


@pytest.fixture
def deployed(tmp_path: Path) -> Iterator[Deployment]:
    try:
        with deployment(tmp_path) as made:
            yield made
    except EngineFailed as error:
        if "need root" in str(error):
            pytest.skip(str(error))
        raise


def text_of(number: int) -> bytes:
    return f"Leaflet {number}. Ward {number % 97} opens at {number % 12} and keeps {number * 7} doses.".encode()


def test_one_host_does_the_rest_when_the_other_dies(deployed: Deployment) -> None:
    hosts = [deployed.network.host(number) for number in (1, 2)]
    for host in hosts:
        deployed.add_worker(host)
    day = deployed.land({f"leaflet-{number}.txt": text_of(number) for number in range(FILES)})
    deployed.launch(day, SHARDS)
    deployed.start_daemon()
    until(lambda: len({run for run, _ in _claimed(deployed)}) >= 2, "both hosts work", _ALL_S)
    until(lambda: deployed.indexed() >= FILES // 10, "the first files answer", _ALL_S)
    before = deployed.indexed()
    hosts[1].crash()
    assert before < FILES
    until(lambda: deployed.indexed() == FILES, "every file answers", _ALL_S)

    stores = deployed.stores
    with transaction(stores.engine) as connection:
        versions = connection.scalars(select(document_versions.c.version_id)).all()
        cut = connection.execute(select(chunks.c.chunk_id, chunks.c.version_id)).all()
    assert len(set(versions)) == len(versions) == FILES
    assert {row.version_id for row in cut} == set(versions)
    assert stores.search.count() == len(cut)
    assert all(stores.search.count(row.version_id) == 1 for row in cut[::100])
    # Each has the same artefacts, and there is none of anything else.
    artefacts = Counter(key.split("/")[1] for key, _ in stores.derived.listing("versions/"))
    kinds = Counter(key.partition("/")[2].partition("/")[2] for key, _ in stores.derived.listing("versions/"))
    assert len(artefacts) == FILES and len(set(artefacts.values())) == 1, artefacts.most_common(3)
    assert set(kinds.values()) == {FILES}, kinds
    # What the dead host's run had, a shard by hash of about 500, is the only thing that two runs have claimed.
    claimed: dict[str, set[str]] = {}
    for run, version in _claimed(deployed):
        claimed.setdefault(run, set()).add(version)
    claims = Counter(version for held in claimed.values() for version in held)
    twice = {version for version, runs in claims.items() if runs > 1}
    assert twice and any(twice <= held for held in claimed.values())
    assert max(claims.values()) <= 2


def _claimed(deployed: Deployment) -> list[tuple[str, str]]:
    """(run, version) of everything that a run has claimed."""
    with transaction(deployed.stores.engine) as connection:
        rows = connection.execute(select(batch_versions.c.run_id, batch_versions.c.version_id))
        return [(run, version) for run, version in rows]
