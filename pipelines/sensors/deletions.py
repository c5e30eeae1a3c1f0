"""deletions: what was deleted is gone from answers already; this starts its erasure from the stores."""

import dagster as dg

from foundation.registry.database import transaction
from foundation.registry.erasures import open_erasures
from pipelines.assets.raw_files import TRIGGER_TAG
from pipelines.jobs import erase_job
from pipelines.resources import StoresResource
from pipelines.sensors.common import IN_FLIGHT, any_run


@dg.sensor(
    job=erase_job,
    minimum_interval_seconds=1,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Starts the erasure of deleted documents.",
)
def deletions(context: dg.SensorEvaluationContext, stores: StoresResource) -> dg.RunRequest | dg.SkipReason:
    at = stores.stores
    with transaction(at.engine) as connection:
        waiting = open_erasures(connection, at.settings.ingestion.max_attempts)
    if not waiting:
        return dg.SkipReason("Nothing is to be erased.")
    if any_run(context.instance, erase_job.name, IN_FLIGHT):
        return dg.SkipReason("An erasure is under way.")
    return dg.RunRequest(tags={TRIGGER_TAG: "deletion", "askline/erasures": str(len(waiting))})
