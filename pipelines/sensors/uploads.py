"""uploads: the guarantee that what arrived is ingested, whether or not the upload's nudge got through."""

from collections.abc import Iterator
from datetime import timedelta

import dagster as dg

from foundation.errors import Unavailable
from foundation.registry import claims
from foundation.registry.database import transaction
from foundation.settings import get_settings
from pipelines.assets.raw_files import TRIGGER_TAG
from pipelines.jobs import ingest_job, reconcile_job
from pipelines.landing_events import take_events
from pipelines.reconcile import differs, signature
from pipelines.resources import StoresResource
from pipelines.sensors.common import IN_FLIGHT, any_run, run_waits

# No run_key anywhere: it dedupes for ever, and a run that failed before its claim would never be asked for again.


@dg.sensor(
    job=ingest_job,
    minimum_interval_seconds=1,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Starts a run for each day that holds unclaimed arrivals; frees what dead runs held.",
)
def uploads(context: dg.SensorEvaluationContext, stores: StoresResource) -> Iterator[dg.RunRequest | dg.SkipReason]:
    at = stores.stores
    try:
        with transaction(at.engine) as connection:
            claims.free_lost(connection, at.settings.ingestion.max_attempts)
            days = claims.days_with_work(connection, timedelta(seconds=at.settings.dagster.sensor_grace_s))
    except Unavailable as error:
        yield dg.SkipReason(f"The registry does not answer: {error.message}")
        return
    if not days:
        yield dg.SkipReason("Nothing is waiting.")
        return
    # At most one run waits; it takes everything that is pending when it starts.
    if run_waits(context.instance, ingest_job.name):
        yield dg.SkipReason("A run is waiting already.")
        return
    for day, pending in days[:5]:
        yield dg.RunRequest(
            partition_key=day.isoformat(),
            tags={TRIGGER_TAG: "sensor", "askline/pending": str(pending)},
            run_config={"ops": {"raw_files": {"config": {"scope": "pending"}}}},
        )


_EVENTS_S = 30.0
"""Less than Dagster gives a look of a sensor, which is 60 s."""


@dg.sensor(
    minimum_interval_seconds=1,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Takes the landing bucket's events out of their queue into the registry; `uploads` starts the runs.",
)
def landing_events(stores: StoresResource) -> dg.SkipReason:
    at = stores.stores
    try:
        if at.landing_events is None:
            return dg.SkipReason("ASKLINE_SQS__UPLOADS_QUEUE_URL names no queue; the nightly listing finds new files.")
        taken = take_events(at, at.landing_events, seconds=_EVENTS_S)
    except Unavailable as error:
        return dg.SkipReason(error.message)
    return dg.SkipReason(", ".join(f"{count} {what}" for what, count in sorted(taken.items())) or "No event waits.")


@dg.sensor(
    job=reconcile_job,
    minimum_interval_seconds=get_settings().ingestion.scan_interval_s,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Starts a reconciling scan when a file of the landing folder appears, changes or goes.",
)
def landing_folder(context: dg.SensorEvaluationContext, stores: StoresResource) -> dg.RunRequest | dg.SkipReason:
    at = stores.stores
    now, settling = signature(at.settings.landing_folder)
    if now == context.cursor:
        return dg.SkipReason("The landing folder has not changed.")
    if any_run(context.instance, reconcile_job.name, IN_FLIGHT):
        return dg.SkipReason("A scan is under way.")
    if not differs(at):
        if settling:  # what is not listed yet must be looked at again
            return dg.SkipReason("A file has changed just now.")
        context.update_cursor(now)
        return dg.SkipReason("The registry knows everything that is there.")
    return dg.RunRequest(tags={TRIGGER_TAG: "landing folder"})
