"""What sensors ask of Dagster."""

from datetime import UTC, datetime, timedelta

import dagster as dg

from foundation.settings import get_settings

WAITING = [dg.DagsterRunStatus.QUEUED, dg.DagsterRunStatus.NOT_STARTED, dg.DagsterRunStatus.STARTING]
IN_FLIGHT = [*WAITING, dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.CANCELING]


def any_run(instance: dg.DagsterInstance, job: str, statuses: list[dg.DagsterRunStatus]) -> bool:
    return bool(instance.get_runs(dg.RunsFilter(job_name=job, statuses=statuses), limit=1))


def run_waits(instance: dg.DagsterInstance, job: str) -> bool:
    """Whether a run of the job is about to start. One that has not started by the start timeout was lost on the way."""
    recent = datetime.now(UTC) - timedelta(seconds=get_settings().dagster.start_timeout_s)
    waiting = dg.RunsFilter(job_name=job, statuses=WAITING, created_after=recent)
    queued = dg.RunsFilter(job_name=job, statuses=[dg.DagsterRunStatus.QUEUED])
    return bool(instance.get_runs(waiting, limit=1) or instance.get_runs(queued, limit=1))
