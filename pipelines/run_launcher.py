"""Runs in warm workers: Dagster's Celery launcher over a broker that is a folder, or Redis for several machines.

A warm worker has imported the code and loaded the models before a run comes (docs/adr/0008).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dagster import DagsterRun
from dagster._core.launcher import CheckRunHealthResult, WorkerStatus
from dagster._serdes import ConfigurableClassData
from dagster_celery.launcher import CeleryRunLauncher
from dagster_celery.tags import DAGSTER_CELERY_TASK_ID_TAG

from foundation.settings import get_settings
from pipelines.run_broker import SCHEME

_POLL_S = 0.1
_ANSWER_S = 2.0
_MISSES = 2
"""A worker that does not have its run at so many looks in a row has lost it: one look may fall into its restart, into
the writing of a result, or between the end of the task and that of the run."""


class WarmRunLauncher(CeleryRunLauncher):
    """CeleryRunLauncher that also sees the death of a whole worker, of which no result is ever written."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._missed: Counter[str] = Counter()

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData, config_value: Mapping[str, Any]) -> WarmRunLauncher:
        """Without a broker's URL it is a folder in the data folder."""
        given = {name: value for name, value in config_value.items() if value is not None}
        if "broker" not in given:
            given |= _folder_broker(get_settings().folder.resolve() / "dagster" / "runs")
        return cls(inst_data=inst_data, **given)

    def terminate(self, run_id: str) -> bool:
        run = self._instance.get_run_by_id(run_id)
        if run is None or run.is_finished or DAGSTER_CELERY_TASK_ID_TAG not in run.tags:
            return False
        self._instance.report_run_canceling(run)  # so that the interrupted run ends as canceled, not as failed
        return super().terminate(run_id)

    def check_run_worker_health(self, run: DagsterRun) -> CheckRunHealthResult:
        if DAGSTER_CELERY_TASK_ID_TAG not in run.tags:
            return CheckRunHealthResult(WorkerStatus.UNKNOWN, "The run was never handed to a worker.")
        found = super().check_run_worker_health(run)
        at_work = found.status is WorkerStatus.RUNNING and self._is_at_work(run.tags[DAGSTER_CELERY_TASK_ID_TAG])
        if at_work or found.status is WorkerStatus.FAILED:
            self._missed.pop(run.run_id, None)
            return found
        self._missed[run.run_id] += 1
        if self._missed[run.run_id] < _MISSES:
            return CheckRunHealthResult(WorkerStatus.RUNNING)
        del self._missed[run.run_id]
        if found.status is WorkerStatus.SUCCESS:  # Postgres was away when the run wanted to say how it ended
            return CheckRunHealthResult(WorkerStatus.FAILED, "The run's worker ended without telling how.")
        return CheckRunHealthResult(WorkerStatus.NOT_FOUND, "The run's worker has died.")

    def _is_at_work(self, task_id: str) -> bool:
        """Whether the worker that took the task says that it still has it."""
        worker = (self.celery.AsyncResult(task_id).info or {}).get("hostname")
        answer = self.celery.control.inspect(destination=[worker], timeout=_ANSWER_S).query_task(task_id)
        return task_id in (answer or {}).get(worker, {})


def _folder_broker(folder: Path) -> dict[str, Any]:
    """Messages and results as files: one machine needs no server for them."""
    for name in ("queue", "control", "results"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    return {
        "broker": f"{SCHEME}://",
        "backend": f"file://{folder}/results",
        "config_source": {
            "broker_transport_options": {
                "data_folder_in": f"{folder}/queue",
                "data_folder_out": f"{folder}/queue",
                "control_folder": f"{folder}/control",
                "polling_interval": _POLL_S,
            },
        },
    }
