"""Warm run workers over a folder: runs share a process that has loaded ahead; a dead worker is noticed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import dagster as dg
import psutil
import pytest
import yaml
from dagster._core.launcher import WorkerStatus
from dagster._core.workspace.context import WorkspaceProcessContext
from dagster._core.workspace.load_target import PythonFileTarget

from foundation.settings import get_settings

pytestmark = pytest.mark.slow
T = TypeVar("T")
ROOT = Path(__file__).parents[2]
JOBS = """
import os, time
import dagster as dg

@dg.op
def work(context):
    seconds = float(context.run.tags.get("seconds", "0"))
    with open(os.environ["DAGSTER_HOME"] + "/" + context.run.run_id, "w") as file:
        file.write(str(os.getpid()))
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        time.sleep(0.05)

@dg.job(executor_def=dg.in_process_executor)
def some_job():
    work()

defs = dg.Definitions(jobs=[some_job])
"""


class House:
    """A Dagster instance with our launcher, and one run worker."""

    def __init__(self, home: Path, env: dict[str, str]) -> None:
        self.home, self.env = home, env
        self.instance = dg.DagsterInstance.from_config(str(home))
        self.file = home / "jobs.py"
        self.file.write_text(JOBS)
        self.start_worker()

    def start_worker(self) -> None:
        self.log = (self.home / "worker.log").open("ab")
        self.worker = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "celery",
                "-A",
                "pipelines.run_worker",
                "worker",
                "--autoscale",
                "1,1",
                "-n",
                "a@%h",
            ],
            env=self.env,
            cwd=ROOT,
            stdout=self.log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def launch(self, seconds: float = 0) -> str:
        target = PythonFileTarget(str(self.file), None, str(self.home), "jobs")
        with WorkspaceProcessContext(self.instance, target) as process:
            context = process.create_request_context()
            location = context.code_locations[0]
            repository = next(iter(location.get_repositories().values()))
            job = repository.get_full_job("some_job")
            run = self.instance.create_run_for_job(
                _definition(self.file),
                run_id=str(uuid.uuid4()),
                tags={"seconds": str(seconds)},
                remote_job_origin=job.get_remote_origin(),
                job_code_origin=job.get_python_origin(),
            )
            self.instance.launch_run(run.run_id, context)
        return run.run_id

    def status(self, run_id: str) -> dg.DagsterRunStatus:
        run = self.instance.get_run_by_id(run_id)
        assert run is not None
        return run.status

    def worker_of(self, run_id: str) -> int:
        path = self.home / run_id
        return int(until(lambda: path.read_text() if path.exists() else None))

    def stop(self) -> None:
        for process in [*psutil.Process(self.worker.pid).children(recursive=True), self.worker]:
            process.kill()
        self.worker.wait()
        self.log.close()


def _definition(file: Path) -> dg.JobDefinition:
    names: dict[str, object] = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    job = names["some_job"]
    assert isinstance(job, dg.JobDefinition)
    return job


def until(function: Callable[[], T | None], seconds: float = 120) -> T:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = function()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError("it did not happen")


@pytest.fixture
def house(tmp_path: Path, empty_database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    home = tmp_path / "data" / "dagster"
    home.mkdir(parents=True)
    monkeypatch.setenv("ASKLINE_DATA_DIR", str(home.parent))
    monkeypatch.setenv("ASKLINE_DATABASE__URL", empty_database)
    monkeypatch.setenv("DAGSTER_HOME", str(home))
    get_settings.cache_clear()
    launcher = {"module": "pipelines.run_launcher", "class": "WarmRunLauncher", "config": {}}
    (home / "dagster.yaml").write_text(yaml.safe_dump({"run_launcher": launcher, "telemetry": {"enabled": False}}))
    made = House(home, {**os.environ})
    yield made
    made.stop()
    made.instance.dispose()
    get_settings.cache_clear()


def test_runs_share_a_process_that_has_loaded_ahead(house: House) -> None:
    first, second = house.launch(), house.launch()
    for run_id in (first, second):
        until(lambda run_id=run_id: house.status(run_id) is dg.DagsterRunStatus.SUCCESS)
    assert house.worker_of(first) == house.worker_of(second)


def test_a_terminated_run_ends_as_canceled_and_the_worker_takes_the_next(house: House) -> None:
    run_id = house.launch(seconds=600)
    house.worker_of(run_id)
    assert house.instance.run_launcher.terminate(run_id)
    until(lambda: house.status(run_id) is dg.DagsterRunStatus.CANCELED)
    after = house.launch()
    until(lambda: house.status(after) is dg.DagsterRunStatus.SUCCESS)


def test_a_killed_child_is_reported_and_replaced(house: House) -> None:
    run_id = house.launch(seconds=600)
    os.kill(house.worker_of(run_id), signal.SIGKILL)
    until(lambda: house.status(run_id) is dg.DagsterRunStatus.FAILURE)
    assert health(house, run_id) is WorkerStatus.FAILED
    after = house.launch()
    until(lambda: house.status(after) is dg.DagsterRunStatus.SUCCESS)


def test_the_death_of_a_whole_worker_is_seen_although_it_left_no_result(house: House) -> None:
    run_id = house.launch(seconds=600)
    child = house.worker_of(run_id)
    assert health(house, run_id) is WorkerStatus.RUNNING
    house.worker.kill()
    house.worker.wait()
    until(lambda: not psutil.pid_exists(child))  # no run outlives the worker that answers for it
    house.start_worker()
    until(lambda: health(house, run_id) is WorkerStatus.NOT_FOUND)
    after = house.launch()
    until(lambda: house.status(after) is dg.DagsterRunStatus.SUCCESS)


def health(house: House, run_id: str) -> WorkerStatus:
    run = house.instance.get_run_by_id(run_id)
    assert run is not None
    return house.instance.run_launcher.check_run_worker_health(run).status
