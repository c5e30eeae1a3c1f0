"""transform: the job that runs dbt, and the sensor that starts it."""

import dagster as dg

from foundation.registry.database import transaction
from pipelines.assets.dbt import dbt_models
from pipelines.assets.raw_files import TRIGGER_TAG
from pipelines.marts import marts_are_stale, sources_fingerprint
from pipelines.resources import StoresResource
from pipelines.sensors.common import IN_FLIGHT, any_run

transform_job = dg.define_asset_job(
    "transform", selection=dg.AssetSelection.assets(dbt_models), description="dbt: staging, marts and their tests."
)
SOURCES_TAG = "askline/sources"
_TRIES = 3


@dg.sensor(
    job=transform_job,
    minimum_interval_seconds=10,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Starts dbt when the tables that the marts are built from have changed.",
)
def tables_changed(context: dg.SensorEvaluationContext, stores: StoresResource) -> dg.RunRequest | dg.SkipReason:
    at = stores.stores
    with transaction(at.engine) as connection:
        sources = sources_fingerprint(connection) if marts_are_stale(connection) else None
    if sources is None:
        return dg.SkipReason("The marts are up to date.")
    if any_run(context.instance, transform_job.name, IN_FLIGHT):
        return dg.SkipReason("dbt is running.")
    # Runs and not a cursor: a run that died has built nothing.
    over_these = dg.RunsFilter(job_name=transform_job.name, tags={SOURCES_TAG: sources})
    earlier = context.instance.get_runs(over_these, limit=_TRIES)
    if any(run.is_success for run in earlier):
        return dg.SkipReason("dbt ran over these tables already; a test that fails keeps the marts as they were.")
    if len(earlier) == _TRIES:
        return dg.SkipReason(f"dbt failed over these tables {_TRIES} times; its runs say why.")
    return dg.RunRequest(tags={TRIGGER_TAG: "tables changed", SOURCES_TAG: sources})
