"""structured_tables and table_links: typed Parquet, the catalog, and the stored tie to the version."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import dagster as dg

from foundation.errors import StageFailed
from foundation.held_files import scratch_folder
from foundation.registry.database import transaction
from foundation.registry.datasets import column_from_json, datasets_of, link
from foundation.stores import Stores
from foundation.table_catalog import is_catalogued
from foundation.types import ClaimedVersion, Stage
from pipelines.activation import show_again
from pipelines.assets.common import result, stage_asset
from pipelines.assets.raw_files import raw_files
from pipelines.batch import Counts, Outcome, one_by_one, run_stage, versions_of_run
from pipelines.code_versions import is_table
from pipelines.datasets import save_tables
from pipelines.parse import parse_files
from pipelines.parsing.column_profile import profile_line
from pipelines.parsing.dispatch import parse_tables
from pipelines.partitions import day_of
from pipelines.resources import StoresResource


@stage_asset(
    group="tables",
    kinds={"parquet"},
    deps=[raw_files],
    description="Each CSV file and each sheet of a workbook as typed Parquet with an entry in the catalog.",
)
def structured_tables(context: dg.AssetExecutionContext, stores: StoresResource) -> dg.MaterializeResult[Any]:
    at = stores.stores
    versions = versions_of_run(at, context.run.run_id, day_of(context))
    report = run_stage(context, at, Stage.STRUCTURED_TABLES, versions, lambda todo: _parse_tables(at, todo))
    shown = tuple(islice(_schema(at, report.done), 200))
    return result(report, {"tables": "tables", "dagster/row_count": "rows"}, columns=shown)


def _parse_tables(stores: Stores, versions: Sequence[ClaimedVersion]) -> Iterator[Outcome]:
    for version in versions:
        if not is_table(version):
            yield Outcome(version, 0.0, {"tables": 0, "rows": 0})
    with scratch_folder() as folder:
        yield from parse_files(
            stores,
            [version for version in versions if is_table(version)],
            parse_tables,
            lambda version, workbook: save_tables(stores, version.version_id, workbook),
            lambda version: (folder / version.version_id,),
        )


def _schema(stores: Stores, outcomes: Iterable[Outcome]) -> Iterator[tuple[str, str, str]]:
    """(column, type, which file and table and what its profile says) of what was parsed.

    Each with the document's id, by which an erasure finds it among Dagster's events.
    """
    with transaction(stores.engine) as connection:
        for outcome in (one for one in outcomes if is_table(one.version)):
            for row in datasets_of(connection, outcome.version.version_id):
                named = (outcome.version.file_name, row["sheet"], row["label"], outcome.version.document_id)
                place = " › ".join(" ".join(part.split()) for part in named if part)
                for column in row["columns"]:
                    yield column["name"], column["type"], f"{place}: {profile_line(column_from_json(column))}"


@stage_asset(
    group="tables",
    kinds={"postgres"},
    deps=[structured_tables, "postgres_copies"],
    description="The stored tie document version ↔ catalog table ↔ Postgres table, with the row counts of all three.",
)
def table_links(context: dg.AssetExecutionContext, stores: StoresResource) -> dg.MaterializeResult[Any]:
    at = stores.stores
    versions = versions_of_run(at, context.run.run_id, day_of(context))
    work = one_by_one(lambda version: _link(at, version, context.run.run_id))
    report = run_stage(context, at, Stage.TABLE_LINKS, versions, work)
    columns = (
        ("version_id", "text", "sha256 of the file"),
        ("dataset_id", "text", "Entry of the catalog; its names are those of the documents that hold it"),
        ("postgres_table", "text", "Physical table of the copy"),
        ("rows", "bigint", "Equal in file, catalog and Postgres"),
    )
    return result(report, {"links": "links"}, columns=columns)


def _link(stores: Stores, version: ClaimedVersion, run_id: str) -> Counts:
    if not is_table(version):
        return {"links": 0}
    tables = stores.artefacts.load_workbook(version.version_id).tables
    workbook_rows = {table.ordinal: table.row_count for table in tables}
    with transaction(stores.engine) as connection:
        found = datasets_of(connection, version.version_id)
        for row in found:
            if not is_catalogued(stores, row):
                raise StageFailed(
                    f"{version.file_name}: table {row['ordinal'] + 1} is not in the catalog with its columns.",
                    fix="POST /documents/{id}/retry registers it again.",
                )
            copied = stores.relational.row_count(row["postgres_table"])
            rows = (workbook_rows[row["ordinal"]], row["row_count"], copied)
            if len(set(rows)) != 1:
                raise StageFailed(
                    f"{version.file_name}: table {row['ordinal'] + 1} has {rows[0]} rows in the file, {rows[1]} in the "
                    f"catalog and {rows[2]} in Postgres."
                )
            link(connection, row, rows=rows, run_id=run_id)
        show_again(stores, connection, version.version_id)
    return {"links": len(found)}
