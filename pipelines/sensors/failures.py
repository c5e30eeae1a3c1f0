"""failures: what a failed or cancelled run held goes back to the queue, or ends failed with its stage named."""

import dagster as dg

from foundation.registry import claims
from foundation.registry.database import transaction
from pipelines.resources import process_stores

_INTERVAL_S = 10
"""A look costs 60 ms of CPU in four programs, and runs fail seldom."""


def _free(run: dg.DagsterRun, reason: str) -> str:
    at = process_stores()
    with transaction(at.engine) as connection:
        requeued, failed = claims.free_lost(
            connection, at.settings.ingestion.max_attempts, run_id=run.run_id, reason=reason
        )
    return f"{requeued} versions wait again, {failed} failed"


@dg.run_failure_sensor(
    default_status=dg.DefaultSensorStatus.RUNNING,
    minimum_interval_seconds=_INTERVAL_S,
    description="Frees the versions of a run that failed; after the last attempt they end failed, with the stage.",
)
def run_failures(context: dg.RunFailureSensorContext) -> None:
    context.log.info(_free(context.dagster_run, "The run that held it failed"))


@dg.run_status_sensor(
    run_status=dg.DagsterRunStatus.CANCELED,
    default_status=dg.DefaultSensorStatus.RUNNING,
    minimum_interval_seconds=_INTERVAL_S,
    description="Frees the versions of a run that was cancelled.",
)
def run_cancellations(context: dg.RunStatusSensorContext) -> None:
    context.log.info(_free(context.dagster_run, "The run that held it was cancelled"))
