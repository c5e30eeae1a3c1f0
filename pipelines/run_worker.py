"""The warm run worker: `celery -A pipelines.run_worker worker`; `askline up` starts one beside Dagster."""

from __future__ import annotations

import ctypes
import multiprocessing.process
import os
import signal
from typing import Any

import dagster as dg
from celery import signals
from celery.exceptions import WorkerLostError
from dagster._grpc.types import ExecuteRunArgs, ResumeRunArgs
from dagster._serdes import unpack_value
from dagster_celery.tasks import create_execute_job_task, create_resume_job_task

from foundation.freed_memory import give_back, settle
from pipelines.run_launcher import WarmRunLauncher
from pipelines.run_pool import use_kernel_locks

_MAIN_PROCESS = multiprocessing.process.current_process()
"""Celery puts a process of its own kind in its place in the children, a daemon, which could not start parsers."""
_PR_SET_PDEATHSIG = 1
_CHILD_START_S = 120
_RUNS_PER_CHILD = 50
_CHILD_MEMORY_KB = 1_500_000
"""After so many runs, or once it has grown to this, a child is replaced: what leaks is bounded."""


def _launcher() -> WarmRunLauncher:
    with dg.DagsterInstance.get() as instance:
        launcher = instance.run_launcher
    if not isinstance(launcher, WarmRunLauncher):
        raise SystemExit("DAGSTER_HOME's dagster.yaml names no pipelines.run_launcher.WarmRunLauncher.")
    return launcher


use_kernel_locks()
app = _launcher().celery
app.conf.update(
    task_acks_late=True,  # with a prefetch of one: a busy child holds no further run
    worker_prefetch_multiplier=1,
    worker_proc_alive_timeout=_CHILD_START_S,
    worker_max_tasks_per_child=_RUNS_PER_CHILD,
    worker_max_memory_per_child=_CHILD_MEMORY_KB,
    worker_redirect_stdouts=False,  # Dagster captures a run's output by file descriptor
    worker_hijack_root_logger=False,
    worker_cancel_long_running_tasks_on_connection_loss=False,
    broker_connection_retry_on_startup=True,
)
create_execute_job_task(app)
create_resume_job_task(app)


@signals.worker_init.connect
def _load_for_all(**_: Any) -> None:
    """In the parent, before it forks: a child begins with what every ingest needs, and shares its memory."""
    # Read as numpy loads: a second thread for the tagger's small matrices mostly waits, at the cost of a whole core;
    # and no thread of the parent may hold a lock while it forks.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    import pipelines.definitions  # noqa: F401
    from pipelines.graph_artefact import load_extractor
    from pipelines.resources import process_stores

    stores = process_stores()
    load_extractor(stores)
    stores.resolver.load_ahead()


@signals.worker_process_init.connect
def _load_ahead(**_: Any) -> None:
    """The rest, in the child: threads of native libraries and connections do not survive a fork."""
    from pipelines.parsing.workers import start_server
    from pipelines.resources import process_stores

    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # no run outlives the worker that answers for it
    multiprocessing.process._current_process = _MAIN_PROCESS  # type: ignore[attr-defined]
    process_stores().embedder.embed_passages(["warm"])
    start_server()
    settle()


@signals.task_postrun.connect
def _after_run(**_: Any) -> None:
    """A run may have held a large file's worth of memory, left the model at work by failing, or found files in files
    that wait for the next one."""
    from pipelines.next_run import ask_for_next_run
    from pipelines.resources import forget_run, process_stores

    forget_run()
    ask_for_next_run(process_stores())
    give_back()


@signals.task_failure.connect
def _tell_of_a_lost_run(exception: Exception, kwargs: dict[str, Any], **_: Any) -> None:
    """In the parent, once a child has died: the run ends at once, also one that had not begun, for which Dagster would
    wait for a minute. While Postgres is away this fails, and the launcher's look at the worker's health finds it."""
    if not isinstance(exception, WorkerLostError):
        return
    for packed in kwargs.values():
        handed = unpack_value(packed, (ExecuteRunArgs, ResumeRunArgs))
        with dg.DagsterInstance.get() as instance:
            run = instance.get_run_by_id(handed.run_id)
            if run is not None and not run.is_finished:
                instance.report_run_failed(run, "The process that executed the run has died.")
