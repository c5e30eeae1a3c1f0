"""Sensors: what arrived is asked for, once; what a dead run held is freed; nothing depends on a run key."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import dagster as dg
import pytest
from by_http import record
from sqlalchemy import text

from foundation.access import local_principal
from foundation.registry import claims, erasures
from foundation.registry.database import transaction
from foundation.registry.intake import Received
from foundation.stores import Stores
from pipelines.definitions import defs
from pipelines.resources import STORES
from pipelines.sensors.deletions import deletions
from pipelines.sensors.failures import _free
from pipelines.sensors.uploads import landing_folder, uploads

LOCAL = local_principal("local")
Land = Callable[..., Received]


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as made:
        yield made


def look(sensor: Any, instance: dg.DagsterInstance, cursor: str | None = None) -> dg.SensorExecutionData:
    context = dg.build_sensor_context(
        instance=instance, cursor=cursor, resources={"stores": STORES}, repository_def=defs.get_repository_def()
    )
    found: dg.SensorExecutionData = sensor.evaluate_tick(context)
    return found


def age(stores: Stores) -> None:
    with transaction(stores.engine) as connection:
        connection.execute(text("update askline.inbox set arrived_at = now() - interval '1 minute'"))


def test_an_arrival_gets_a_run_for_its_day_without_a_run_key(
    stores: Stores, land: Land, instance: dg.DagsterInstance
) -> None:
    assert look(uploads, instance).run_requests == []
    got = land("a.txt", b"one")
    assert look(uploads, instance).run_requests == []  # young: the nudge may be on its way
    age(stores)
    (request,) = look(uploads, instance).run_requests
    assert request.partition_key == got.arrival_day.isoformat()
    assert request.run_key is None
    assert look(uploads, instance).run_requests  # asked for again, until a run has claimed it


def test_at_most_one_run_waits(stores: Stores, land: Land, instance: dg.DagsterInstance) -> None:
    land("a.txt", b"one")
    age(stores)
    instance.add_run(dg.DagsterRun(job_name="ingest", status=dg.DagsterRunStatus.NOT_STARTED))
    assert look(uploads, instance).run_requests == []


def test_four_files_of_one_second_are_all_pending(stores: Stores, land: Land, instance: dg.DagsterInstance) -> None:
    for number in range(4):
        land(f"{number}.txt", f"text {number}".encode())
    age(stores)
    (request,) = look(uploads, instance).run_requests
    assert request.tags["askline/pending"] == "4"


def test_what_a_failed_run_held_waits_again_and_ends_failed_with_the_stage(
    stores: Stores, land: Land, instance: dg.DagsterInstance
) -> None:
    got = land("a.txt", b"one")
    run = dg.DagsterRun(job_name="ingest", run_id="0" * 8 + "-0000-4000-8000-" + "0" * 12)
    for attempt in range(stores.settings.ingestion.max_attempts):
        with transaction(stores.engine) as connection:
            claims.claim(
                connection,
                run.run_id,
                got.arrival_day,
                shard=claims.Shard(),
                limit=10,
                lease=timedelta(seconds=60),
            )
        message = _free(run, "The run that held it failed")
        assert message == ("1 versions wait again, 0 failed" if attempt < 2 else "0 versions wait again, 1 failed")
    row = record(stores, got.document_id)
    assert row["status"] == "failed"
    assert "raw_files" in row["error_message"]


def test_a_deletion_gets_its_erasure(stores: Stores, land: Land, instance: dg.DagsterInstance) -> None:
    got = land("a.txt", b"one")
    assert look(deletions, instance).run_requests == []
    with transaction(stores.engine) as connection:
        erasures.request_erasure(connection, LOCAL, got.document_id)
    assert len(look(deletions, instance).run_requests) == 1
    instance.add_run(dg.DagsterRun(job_name="erase_job", status=dg.DagsterRunStatus.STARTED))
    assert look(deletions, instance).run_requests == []


def test_the_landing_folder_is_scanned_when_it_holds_what_the_registry_does_not_know(
    stores: Stores, land: Land, instance: dg.DagsterInstance
) -> None:
    land("a.txt", b"one")
    young = look(landing_folder, instance)
    assert young.run_requests == []
    assert young.cursor is None  # it must look again, since what was just copied is not listed yet
    time.sleep(3.1)
    first = look(landing_folder, instance)
    assert first.run_requests == []
    assert look(landing_folder, instance, first.cursor).skip_message == "The landing folder has not changed."
    copied = stores.settings.landing_folder / "copied.txt"
    copied.write_text("two")
    again = look(landing_folder, instance, first.cursor)
    assert again.run_requests == []
    assert again.cursor == first.cursor
    time.sleep(1.1)  # a file that is younger may still be being written
    assert len(look(landing_folder, instance, first.cursor).run_requests) == 1
