"""postgres_copies: each typed table as a Postgres table, for row-level and fresh questions."""

from pathlib import Path
from typing import Any

import dagster as dg

from foundation.errors import StageFailed
from foundation.registry.database import transaction
from foundation.registry.datasets import column_from_json, datasets_of
from foundation.stores import Stores
from foundation.types import ClaimedVersion, Stage
from pipelines.assets.common import result, stage_asset
from pipelines.assets.tables import structured_tables
from pipelines.batch import Counts, one_by_one, run_stage, versions_of_run
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
    with transaction(stores.engine) as connection:
        found = datasets_of(connection, version.version_id)
    copied = 0
    for row in found:
        columns = tuple(column_from_json(column) for column in row["columns"])
        path = stores.derived_path(row["parquet_key"])
        copied += stores.relational.copy_parquet(row["postgres_table"], columns, Path(path))
        types = stores.relational.column_types(row["postgres_table"])
        wrong = [c.name for c in columns if types.get(c.name) != c.type]
        if wrong:
            raise StageFailed(f"{version.file_name}: columns {', '.join(wrong)} have another type in Postgres.")
    return {"copies": len(found), "copied_rows": copied}
