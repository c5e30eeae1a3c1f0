"""The ingest's code location. dbt's is `pipelines.transform.definitions`."""

from __future__ import annotations

import dagster as dg

from foundation.settings import get_settings
from pipelines.assets import INGEST_ASSETS
from pipelines.assets.search_alias import INDEX_ASSETS
from pipelines.checks.ingest import INGEST_CHECKS
from pipelines.jobs import erase_job, ingest_job, rebuild_index_job, reconcile_job, reindex_job, retention_job
from pipelines.resources import STORES
from pipelines.schedules import nightly_rebuild, nightly_reconcile, nightly_reindex, nightly_retention
from pipelines.sensors.deletions import deletions
from pipelines.sensors.failures import run_cancellations, run_failures
from pipelines.sensors.uploads import landing_events, landing_folder, uploads

# A folder is looked at; a bucket tells.
_landing = landing_events if get_settings().adapter("objects") == "aws" else landing_folder

defs = dg.Definitions(
    assets=[*INGEST_ASSETS, *INDEX_ASSETS],
    asset_checks=INGEST_CHECKS,
    jobs=[ingest_job, reindex_job, rebuild_index_job, erase_job, reconcile_job, retention_job],
    sensors=[uploads, _landing, deletions, run_failures, run_cancellations],
    schedules=[nightly_reindex, nightly_rebuild, nightly_reconcile, nightly_retention],
    resources={"stores": STORES},
    # A process per step costs five times the CPU; a day that needs more hands is sharded over runs.
    executor=dg.in_process_executor,
)
