"""Arrival, claim, lease, failure, activation and deletion, on a real registry."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import IntegrityError

from foundation.access import local_principal
from foundation.errors import DamagedFile, NotFound
from foundation.registry import claims, documents, erasures, stages
from foundation.registry.activation import activate_complete
from foundation.registry.database import transaction
from foundation.registry.intake import Arrival, Received, register_arrival
from foundation.registry.version_keys import key_of
from foundation.types import ClaimedVersion, Principal, Stage

LOCAL = local_principal("local")
LEASE = timedelta(seconds=60)
ALL = tuple(Stage)


def arrive(engine: Engine, name: str, data: bytes, owner: str = "local", key: str | None = None) -> Received:
    sha256 = hashlib.sha256(data).hexdigest()
    arrival = Arrival(
        landing_key=key or f"uploads/{owner}/{name}",
        file_name=name,
        media_type="text/plain",
        sha256=sha256,
        size_bytes=len(data),
        object_version=f"obj_{sha256[:8]}",
        owner=owner,
        acl=(f"user:{owner}",),
        domain="healthcare",
        source="api",
    )
    with transaction(engine) as connection:
        return register_arrival(connection, arrival)


def claim(engine: Engine, run_id: str, day: date, shard: claims.Shard | None = None) -> list[ClaimedVersion]:
    with transaction(engine) as connection:
        return claims.claim(connection, run_id, day, shard=shard or claims.Shard(), limit=100, lease=LEASE)


def finish(engine: Engine, run_id: str, version: ClaimedVersion) -> str | None:
    for stage in ALL:
        with transaction(engine) as connection:
            stages.finish_stage(connection, run_id, stage, [stages.Finished(version, "x/1", 0.1, {"n": 1})])
    with transaction(engine) as connection:
        return activate_complete(connection, run_id, [version], ALL).get(key_of(version))


def state(engine: Engine, document_id: str) -> dict[str, object]:
    with transaction(engine) as connection:
        return dict(documents.get_document(connection, LOCAL, document_id))


def test_the_same_file_uploaded_many_times_at_once_is_one_document(registry_engine: Engine) -> None:
    with ThreadPoolExecutor(8) as pool:
        got = list(pool.map(lambda _: arrive(registry_engine, "a.txt", b"same"), range(8)))
    assert len({r.document_id for r in got}) == 1
    assert [r.queued for r in got].count(True) == 1


def test_the_same_bytes_under_another_name_are_a_document_that_names_its_original(registry_engine: Engine) -> None:
    first, second = arrive(registry_engine, "a.txt", b"same"), arrive(registry_engine, "b.txt", b"same")
    assert first.document_id != second.document_id
    assert second.duplicate_of == first.document_id


def test_an_original_that_the_uploader_may_not_see_is_not_named(registry_engine: Engine) -> None:
    arrive(registry_engine, "a.txt", b"same", owner="alice")
    assert arrive(registry_engine, "b.txt", b"same", owner="bob").duplicate_of is None


def test_two_runs_never_hold_the_same_version(registry_engine: Engine) -> None:
    day = [arrive(registry_engine, f"{n}.txt", f"text {n}".encode()).arrival_day for n in range(40)][-1]
    with ThreadPoolExecutor(4) as pool:
        taken = list(pool.map(lambda n: claim(registry_engine, f"run{n}", day), range(4)))
    ids = [version.document_id for batch in taken for version in batch]
    assert len(ids) == len(set(ids)) == 40


def test_shards_share_a_day_without_gap_or_overlap(registry_engine: Engine) -> None:
    day = [arrive(registry_engine, f"{n}.txt", f"text {n}".encode()).arrival_day for n in range(40)][-1]
    parts = [claim(registry_engine, f"run{i}", day, claims.Shard(i, 3)) for i in (1, 2, 3)]
    assert sum(map(len, parts)) == 40
    assert all(parts)


def test_equal_bytes_are_in_work_once_and_the_twin_follows(registry_engine: Engine) -> None:
    first = arrive(registry_engine, "a.txt", b"same")
    second = arrive(registry_engine, "b.txt", b"same")
    (one,) = claim(registry_engine, "run1", first.arrival_day)
    assert one.document_id == first.document_id
    assert claim(registry_engine, "run2", first.arrival_day) == []
    finish(registry_engine, "run1", one)
    (two,) = claim(registry_engine, "run2", first.arrival_day)
    assert two.document_id == second.document_id


def test_a_version_answers_only_when_every_stage_is_recorded(registry_engine: Engine) -> None:
    got = arrive(registry_engine, "a.txt", b"one")
    (version,) = claim(registry_engine, "run1", got.arrival_day)
    with transaction(registry_engine) as connection:
        assert activate_complete(connection, "run1", [version], ALL) == {}
    assert finish(registry_engine, "run1", version) == ""
    assert state(registry_engine, got.document_id)["active_version"] == got.version_id


def test_the_old_version_answers_until_the_new_one_is_whole_and_after_it_failed(registry_engine: Engine) -> None:
    old = arrive(registry_engine, "a.txt", b"one")
    (version,) = claim(registry_engine, "run1", old.arrival_day)
    finish(registry_engine, "run1", version)
    new = arrive(registry_engine, "a.txt", b"two")
    assert new.document_id == old.document_id
    (version,) = claim(registry_engine, "run2", new.arrival_day)
    assert state(registry_engine, old.document_id)["active_version"] == old.version_id
    with transaction(registry_engine) as connection:
        claims.fail(connection, "run2", version, Stage.PARSED_TEXT, DamagedFile("a.txt is damaged."))
    after = state(registry_engine, old.document_id)
    assert (after["status"], after["error_code"]) == ("failed", "damaged_file")
    assert after["active_version"] == old.version_id


def test_a_lost_lease_is_tried_again_and_ends_failed_with_its_stage(registry_engine: Engine) -> None:
    got = arrive(registry_engine, "a.txt", b"one")
    for attempt in range(1, 4):
        (version,) = claim(registry_engine, f"run{attempt}", got.arrival_day)
        with transaction(registry_engine) as connection:
            stages.start_stage(connection, f"run{attempt}", [version], Stage.EMBEDDINGS)
            connection.execute(text("update askline.document_versions set lease_until = now() - interval '1 s'"))
            freed = claims.free_lost(connection, 3)
        assert freed == ((1, 0) if attempt < 3 else (0, 1))
    after = state(registry_engine, got.document_id)
    assert after["status"] == "failed"
    assert "embeddings" in str(after["error_message"])
    assert got.document_id in str(after["error_fix"])


def test_a_run_that_lost_its_lease_cannot_finish(registry_engine: Engine) -> None:
    got = arrive(registry_engine, "a.txt", b"one")
    (version,) = claim(registry_engine, "dead", got.arrival_day)
    with transaction(registry_engine) as connection:
        claims.free_lost(connection, 3, run_id="dead")
    claim(registry_engine, "alive", got.arrival_day)
    assert finish(registry_engine, "dead", version) is None
    assert state(registry_engine, got.document_id)["status"] == "processing"


def test_a_document_that_was_deleted_in_work_never_answers(registry_engine: Engine) -> None:
    got = arrive(registry_engine, "a.txt", b"one")
    (version,) = claim(registry_engine, "run1", got.arrival_day)
    with transaction(registry_engine) as connection:
        erasures.request_erasure(connection, LOCAL, got.document_id)
    with transaction(registry_engine) as connection:
        assert not stages.start_stage(connection, "run1", [version], Stage.CHUNKS)
    assert finish(registry_engine, "run1", version) is None
    assert state(registry_engine, got.document_id)["status"] == "deleted"


def test_a_document_is_not_found_by_whom_its_acl_does_not_name(registry_engine: Engine) -> None:
    got = arrive(registry_engine, "a.txt", b"one", owner="alice")
    with transaction(registry_engine) as connection, pytest.raises(NotFound):
        documents.get_document(connection, Principal("bob"), got.document_id)
    with transaction(registry_engine) as connection, pytest.raises(NotFound):
        erasures.request_erasure(connection, Principal("bob"), got.document_id)
    with transaction(registry_engine) as connection:
        assert documents.list_documents(connection, Principal("bob")) == []


def test_one_caller_asks_for_a_run_until_it_has_claimed(registry_engine: Engine) -> None:
    day = arrive(registry_engine, "a.txt", b"one").arrival_day
    with transaction(registry_engine) as connection:
        assert claims.ask_for_run(connection, day)
        assert not claims.ask_for_run(connection, day)
    claim(registry_engine, "run1", day)
    with transaction(registry_engine) as connection:
        assert claims.ask_for_run(connection, day)


@pytest.mark.parametrize(
    "statement",
    [
        "update askline.document_versions set status = 'failed'",
        "update askline.document_versions set status = 'processing'",
        "update askline.document_versions set status = 'indexed'",
        "update askline.document_versions set status = 'lost'",
        "update askline.documents set deleted_at = now(), active_version = 'x'",
    ],
)
def test_the_database_refuses_states_that_cannot_be(registry_engine: Engine, statement: str) -> None:
    arrive(registry_engine, "a.txt", b"one")
    with pytest.raises(IntegrityError), transaction(registry_engine) as connection:
        connection.execute(text(statement))
