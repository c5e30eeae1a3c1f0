"""What sensors ask of Dagster."""

import dagster as dg

WAITING = [dg.DagsterRunStatus.QUEUED, dg.DagsterRunStatus.NOT_STARTED, dg.DagsterRunStatus.STARTING]
IN_FLIGHT = [*WAITING, dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.CANCELING]


def any_run(instance: dg.DagsterInstance, job: str, statuses: list[dg.DagsterRunStatus]) -> bool:
    return bool(instance.get_runs(dg.RunsFilter(job_name=job, statuses=statuses), limit=1))
