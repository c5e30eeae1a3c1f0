"""The second code location: dbt. Apart from the ingest, whose runs would wait 2.5 CPU-seconds for dbt's imports."""

from __future__ import annotations

import dagster as dg

from pipelines.assets.dbt import dbt_models
from pipelines.resources import STORES
from pipelines.transform.automation import tables_changed, transform_job
from pipelines.transform.dbt_cli import dbt_resource

defs = dg.Definitions(
    assets=[dbt_models],
    jobs=[transform_job],
    sensors=[tables_changed],
    resources={"stores": STORES, "dbt": dbt_resource()},
    executor=dg.in_process_executor,
)
