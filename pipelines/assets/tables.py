"""structured_tables and table_links: typed Parquet, the catalog, and the stored tie to the version."""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import dagster as dg

from foundation.errors import StageFailed
from foundation.ids import dataset_id
from foundation.registry.database import transaction
from foundation.registry.datasets import datasets_of, link, names_of_document, names_taken, save_dataset
from foundation.stores import Stores
from foundation.types import ClaimedVersion, ParsedTable, ParsedWorkbook, Stage, TableInfo
from pipelines.assets.common import result, stage_asset
from pipelines.assets.raw_files import raw_files
from pipelines.batch import Counts, Outcome, one_by_one, run_stage, versions_of_run
from pipelines.code_versions import is_table
from pipelines.parse import parse_files
from pipelines.parsing.dispatch import parse_tables
from pipelines.parsing.table_names import table_name
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
    shown = [column for outcome in report.done for column in _schema(outcome)][:200]
    return result(report, {"tables": "tables", "dagster/row_count": "rows"}, columns=shown)


def _parse_tables(stores: Stores, versions: Sequence[ClaimedVersion]) -> Iterator[Outcome]:
    for version in versions:
        if not is_table(version):
            yield Outcome(version, 0.0, {"tables": 0, "rows": 0})
    with tempfile.TemporaryDirectory(prefix="askline-tables-") as folder:
        yield from parse_files(
            stores,
            [version for version in versions if is_table(version)],
            parse_tables,
            lambda version, workbook: _save(stores, version, workbook),
            lambda version: (Path(folder) / version.version_id,),
        )


def _save(stores: Stores, version: ClaimedVersion, parsed: ParsedWorkbook) -> Counts:
    workbook = stores.artefacts.save_workbook(version.version_id, parsed)
    with transaction(stores.engine) as connection:
        taken = names_taken(connection, version.document_id)
        earlier = names_of_document(connection, version.document_id)
        infos = []
        for table in workbook.tables:
            name = earlier.get((table.ordinal, table.sheet)) or table_name(
                version.file_name, table.sheet, len(workbook.tables), taken
            )
            taken.add(name)
            infos.append(_info(version, table, name))
        for info in infos:
            save_dataset(connection, info)
    return {
        "tables": len(infos),
        "rows": sum(t.row_count for t in infos),
        "names": [t.name for t in infos],
        "table_warnings": len(workbook.warnings),
    }


def _info(version: ClaimedVersion, table: ParsedTable, name: str) -> TableInfo:
    return TableInfo(
        name=name,
        label=table.label,
        columns=table.columns,
        row_count=table.row_count,
        kind="upload",
        parquet_path=table.parquet_path,
        postgres=True,
        dataset_id=dataset_id(version.version_id, table.ordinal),
        ordinal=table.ordinal,
        version_id=version.version_id,
        sheet=table.sheet,
    )


def _schema(outcome: Outcome) -> Iterable[tuple[str, str, str]]:
    found = outcome.result if isinstance(outcome.result, dict) else {}
    for name in found.get("names", ()):
        yield name, "table", f"From {outcome.version.file_name}"


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
        ("catalog_table", "text", "Name in the warehouse's catalog"),
        ("postgres_table", "text", "Physical table of the copy"),
        ("rows", "bigint", "Equal in file, catalog and Postgres"),
    )
    return result(report, {"links": "links"}, columns=columns)


def _link(stores: Stores, version: ClaimedVersion, run_id: str) -> Counts:
    workbook_rows = {}
    if is_table(version):
        tables = stores.artefacts.load_workbook(version.version_id).tables
        workbook_rows = {table.ordinal: table.row_count for table in tables}
    with transaction(stores.engine) as connection:
        found = datasets_of(connection, version.version_id)
        for row in found:
            copied = stores.relational.row_count(row["postgres_table"])
            rows = (workbook_rows[row["ordinal"]], row["row_count"], copied)
            if len(set(rows)) != 1:
                raise StageFailed(
                    f"{version.file_name}: table {row['table_name']} has {rows[0]} rows in the file, {rows[1]} in the "
                    f"catalog and {rows[2]} in Postgres."
                )
            link(connection, row, rows=rows, run_id=run_id)
    return {"links": len(found)}
