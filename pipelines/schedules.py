"""Nightly work: re-index of what is stale, a reconciling scan, retention."""

from collections.abc import Iterator

import dagster as dg

from foundation.registry.database import transaction
from foundation.registry.stages import recorded_codes
from foundation.types import Stage
from pipelines.assets.raw_files import TRIGGER_TAG
from pipelines.code_versions import code_version
from pipelines.jobs import reconcile_job, reindex_job, retention_job
from pipelines.resources import StoresResource


@dg.schedule(
    job=reindex_job,
    cron_schedule="15 2 * * *",
    execution_timezone="UTC",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Re-indexes the days that hold something made by older code.",
)
def nightly_reindex(
    context: dg.ScheduleEvaluationContext, stores: StoresResource
) -> Iterator[dg.RunRequest | dg.SkipReason]:
    at = stores.stores
    days = set()
    with transaction(at.engine) as connection:
        for version, stage, code in recorded_codes(connection):
            if code != code_version(Stage(stage), version, at.embedder, at.domain):
                days.add(version.arrival_day)
    if not days:
        yield dg.SkipReason("Nothing is stale.")
    for day in sorted(days):
        yield dg.RunRequest(partition_key=day.isoformat(), tags={TRIGGER_TAG: "nightly re-index"})


nightly_reconcile = dg.ScheduleDefinition(
    name="nightly_reconcile",
    job=reconcile_job,
    cron_schedule="0 1 * * *",
    execution_timezone="UTC",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="A reconciling scan, whatever the sensor saw.",
)
nightly_retention = dg.ScheduleDefinition(
    name="nightly_retention",
    job=retention_job,
    cron_schedule="0 3 * * *",
    execution_timezone="UTC",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Deletes Dagster's old events.",
)
