"""postgres_copies: each typed table as a Postgres table, for row-level and fresh questions."""

from typing import Any

import dagster as dg

from foundation.types import Stage
from pipelines.assets.common import result, stage_asset
from pipelines.assets.tables import structured_tables
from pipelines.batch import one_by_one, run_stage, versions_of_run
from pipelines.datasets import copy_tables
from pipelines.partitions import day_of
from pipelines.resources import StoresResource


@stage_asset(
    group="tables",
    kinds={"postgres"},
    deps=[structured_tables],
    description="A copy of each typed table in Postgres by COPY, with column types and row counts read back.",
)
def postgres_copies(context: dg.AssetExecutionContext, stores: StoresResource) -> dg.MaterializeResult[Any]:
    at = stores.stores
    versions = versions_of_run(at, context.run.run_id, day_of(context))
    work = one_by_one(lambda version: copy_tables(at, version.version_id, version.file_name))
    report = run_stage(context, at, Stage.POSTGRES_COPIES, versions, work)
    return result(report, {"copies": "copies", "dagster/row_count": "copied_rows"})
