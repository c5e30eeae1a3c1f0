"""postgres_copies: each typed table as a Postgres table, for row-level and fresh questions."""

from typing import Any

import dagster as dg

from foundation.stores import Stores
from foundation.types import ClaimedVersion, Stage
from pipelines.assets.common import result, stage_asset
from pipelines.assets.tables import structured_tables
from pipelines.batch import Counts, one_by_one, run_stage, versions_of_run
from pipelines.code_versions import is_table
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
    report = run_stage(context, at, Stage.POSTGRES_COPIES, versions, one_by_one(lambda version: _copy(at, version)))
    return result(report, {"copies": "copies", "dagster/row_count": "copied_rows"})


def _copy(stores: Stores, version: ClaimedVersion) -> Counts:
    if not is_table(version):
        return {"copies": 0, "copied_rows": 0}
    return copy_tables(stores, version.version_id, version.file_name)
