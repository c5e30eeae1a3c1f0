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


@dg.sensor(
    job=transform_job,
    minimum_interval_seconds=5,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Starts dbt when the tables that the marts are built from have changed.",
)
def tables_changed(context: dg.SensorEvaluationContext, stores: StoresResource) -> dg.RunRequest | dg.SkipReason:
    at = stores.stores
    with transaction(at.engine) as connection:
        stale = marts_are_stale(connection)
        sources = sources_fingerprint(connection)
    if not stale:
        return dg.SkipReason("The marts are up to date.")
    if sources == context.cursor:
        return dg.SkipReason("dbt ran over these tables already; a test that fails keeps the marts as they were.")
    if any_run(context.instance, transform_job.name, IN_FLIGHT):
        return dg.SkipReason("dbt is running.")
    context.update_cursor(sources)
    return dg.RunRequest(tags={TRIGGER_TAG: "tables changed"})
