"""Another embedding model: a new index beside the old, which answers until the evaluation lets the alias move."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from datetime import timedelta

import dagster as dg
import numpy as np
import pytest
from by_http import FERRY, SAMPLES, WHEN
from sqlalchemy import text

from foundation.access import local_principal
from foundation.registry import erasures, search_indexes
from foundation.registry.artefacts import chunks_of
from foundation.registry.database import transaction
from foundation.registry.intake import Received
from foundation.settings import EmbeddingSettings, SearchSettings, Settings
from foundation.stores import Stores
from foundation.types import Hit, SearchFilter
from pipelines import rebuild as rebuilding
from pipelines.resources import STORES
from pipelines.schedules import nightly_rebuild, nightly_reindex

LOCAL = local_principal("local")
OTHER = "all-MiniLM-L6-v2"
Run = Callable[..., dg.ExecuteInProcessResult]
Land = Callable[..., Received]
Want = Callable[..., Stores]


@pytest.fixture
def corpus(land: Land, run_job: Run) -> list[Received]:
    names = ("referral_policy.docx", "clinic_notice.txt")
    found = [land(name, (SAMPLES / name).read_bytes()) for name in names]
    assert run_job("ingest", scope="pending").success
    return found


@pytest.fixture
def want(settings: Settings, open_stores: Callable[[Settings], Stores]) -> Want:
    """New stores, as a restarted process has them, whose settings want the other model."""

    def make(**search: float) -> Stores:
        changed = {"embeddings": EmbeddingSettings(model=OTHER), "search": SearchSettings(**search)}
        return open_stores(settings.model_copy(update=changed))

    return make


def ask(stores: Stores, question: str) -> list[Hit]:
    return stores.search.search(question, stores.embedder.embed_query(question), SearchFilter(LOCAL.grants), k=3)


def test_a_new_model_answers_once_its_index_is_whole(
    stores: Stores, corpus: list[Received], run_job: Run, want: Want
) -> None:
    question = "How long is a referral valid?"
    (old_best, *_) = ask(stores, question)
    other = want()
    assert other.serving == stores.serving
    assert ask(other, question)[0].chunk_id == old_best.chunk_id  # the old index answers, with its own model
    evidence = _mentions(stores)
    assert evidence

    assert run_job("rebuild_index").success

    assert other.outdated()
    assert stores.outdated()
    new = want()
    assert new.serving == new.wanted
    assert new.embedder.model == OTHER
    best = ask(new, question)[0]
    assert best.chunk_id != old_best.chunk_id
    assert "180 days" in best.text
    with transaction(stores.engine) as connection:
        current = {row["chunk_id"]: row for row in chunks_of(connection, corpus[0].version_id)}
    assert best.chunk_id in current
    assert _mentions(stores) == evidence  # no evidence was lost, and all of it points to chunks that count
    assert ask(stores, question)[0].chunk_id == old_best.chunk_id  # whoever still holds the old one goes on

    assert rebuilding.drop_retired(new, timedelta(hours=1)) == []
    assert rebuilding.drop_retired(new, timedelta(0)) == [stores.serving.name]
    assert not (stores.settings.folder / "search" / stores.serving.name / "meta.json").exists()
    assert ask(new, question)[0].chunk_id == best.chunk_id


def test_what_arrives_and_what_goes_during_a_build_is_right_after_it(
    stores: Stores, corpus: list[Received], land: Land, run_job: Run, want: Want
) -> None:
    other = want()
    work = rebuilding.start(other, again=True)
    assert work is not None
    assert rebuilding.build(other, work) == len(corpus)
    late = land("ferry.txt", FERRY)
    assert run_job("ingest", scope="pending").success
    with transaction(stores.engine) as connection:
        erasures.request_erasure(connection, LOCAL, corpus[1].document_id)
    assert run_job("erase_job").success
    assert work.index.count(corpus[1].version_id) == 0  # the index in the making forgets it too

    rebuilding.switch(other, work, "run")

    new = want()
    assert {version for version in (corpus[0].version_id, late.version_id) if new.search.count(version)} == {
        corpus[0].version_id,
        late.version_id,
    }
    assert new.search.count(corpus[1].version_id) == 0
    assert "06:40" in ask(new, WHEN)[0].text


def test_an_index_that_finds_less_is_rejected_and_says_why(
    stores: Stores, corpus: list[Received], run_job: Run, want: Want, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = want(dense_weight=1.0)
    blind = other.embedder_of(OTHER)
    monkeypatch.setattr(blind, "embed_query", lambda text: _direction(zlib.crc32(text.encode())))

    run_job("rebuild_index")

    with transaction(stores.engine) as connection:
        found = search_indexes.get(connection, other.wanted)
    assert found is not None
    assert found.state == "rejected"
    assert "the new index finds" in found.reason
    assert found.report["new"] < found.report["serving"]
    assert not other.outdated()
    assert "180 days" in ask(stores, "How long is a referral valid?")[0].text
    assert rebuilding.start(other, again=False) is None  # the night leaves it at that


def test_the_night_builds_what_the_settings_want_and_redoes_nothing_else(
    stores: Stores, corpus: list[Received], want: Want
) -> None:
    def requests(schedule: dg.ScheduleDefinition) -> int:
        with dg.DagsterInstance.ephemeral() as instance:
            context = dg.build_schedule_context(instance, resources={"stores": STORES})
            return len(schedule.evaluate_tick(context).run_requests or [])

    assert requests(nightly_rebuild) == 0
    want()
    assert requests(nightly_rebuild) == 1
    assert requests(nightly_reindex) == 0


def _mentions(stores: Stores) -> list[tuple[str, int, int]]:
    """(version, start, end) of the evidence in chunks that count."""
    statement = (
        "select m.version_id, m.start_char, m.end_char from askline.mentions m"
        " join askline.chunks c using (chunk_id) where c.replaced_at is null order by 1, 2, 3, m.mention_id"
    )
    with transaction(stores.engine) as connection:
        return [tuple(row) for row in connection.execute(text(statement))]


def _direction(seed: int) -> np.ndarray:
    vector = np.random.default_rng(seed).normal(size=384).astype(np.float32)
    return vector / np.linalg.norm(vector)
