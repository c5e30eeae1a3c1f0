"""Nightly work: re-index of what is stale, a reconciling scan, retention."""

from collections.abc import Iterator

import dagster as dg

from foundation.registry.database import transaction
from foundation.registry.stages import recorded_codes
from foundation.types import Stage
from pipelines.assets.raw_files import TRIGGER_TAG
from pipelines.code_versions import code_version
from pipelines.jobs import rebuild_index_job, reconcile_job, reindex_job, retention_job
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
            # Another chunker alone makes nothing stale: rebuild_index changes all chunks at once, beside the index.
            good = {
                code_version(Stage(stage), version, at.embedder, at.domain, cut_by=cut_by)
                for cut_by in (None, at.serving.chunker)
            }
            if code not in good:
                days.add(version.arrival_day)
    if not days:
        yield dg.SkipReason("Nothing is stale.")
    for day in sorted(days):
        yield dg.RunRequest(partition_key=day.isoformat(), tags={TRIGGER_TAG: "nightly re-index"})


@dg.schedule(
    job=rebuild_index_job,
    cron_schedule="45 2 * * *",
    execution_timezone="UTC",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Builds a new search index when the settings or the code want another embedding model or chunker.",
)
def nightly_rebuild(
    context: dg.ScheduleEvaluationContext, stores: StoresResource
) -> Iterator[dg.RunRequest | dg.SkipReason]:
    at = stores.stores
    if at.wanted == at.serving:
        yield dg.SkipReason("The index that answers is the one that the settings want.")
        return
    config = {"ops": {"rebuilt_index": {"config": {"again": False}}}}
    yield dg.RunRequest(tags={TRIGGER_TAG: "nightly rebuild"}, run_config=config)


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
