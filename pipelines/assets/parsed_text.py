"""parsed_text: the text of each version with its elements and word boxes; every citation is a span of it."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from statistics import mean
from typing import Any

import dagster as dg

from foundation.errors import NoContent
from foundation.held_files import scratch_folder
from foundation.registry.database import transaction
from foundation.registry.stages import save_warnings, share_warnings
from foundation.registry.version_keys import Key, key_of
from foundation.stores import Stores
from foundation.types import ClaimedVersion, ParsedDocument, ParsedTable, Stage
from pipelines.assets.common import result, stage_asset
from pipelines.assets.raw_files import raw_files
from pipelines.assets.tables import structured_tables
from pipelines.batch import Counts, Outcome, one_by_one, run_stage, versions_of_run
from pipelines.code_versions import TABLE_TEXT, is_table
from pipelines.extraction.ontology import declares
from pipelines.members import holds_members, keep_members
from pipelines.parse import parse_files
from pipelines.parsing.dispatch import parse_document
from pipelines.parsing.members import UnpackLimits
from pipelines.parsing.table_text import table_document
from pipelines.parsing.tables import iter_rows
from pipelines.partitions import day_of
from pipelines.resources import StoresResource

_Warnings = dict[Key, list[dict[str, Any]]]
COLUMNS = (
    ("kind", "text", "title, paragraph, list_item, table, header or footer"),
    ("start", "int", "First character in the parsed text"),
    ("end", "int", "Character after the last"),
    ("page", "int", "Page, from 1, where the format has pages"),
)


@stage_asset(
    group="documents",
    kinds={"text"},
    deps=[raw_files, structured_tables],
    description="Text in reading order with elements, pages and boxes. A table file's text describes its tables.",
)
def parsed_text(context: dg.AssetExecutionContext, stores: StoresResource) -> dg.MaterializeResult[Any]:
    at = stores.stores
    versions = versions_of_run(at, context.run.run_id, day_of(context))
    warnings: _Warnings = {}
    report = run_stage(
        context,
        at,
        Stage.PARSED_TEXT,
        versions,
        lambda todo: _parse(at, todo, warnings),
        also=lambda connection, done: save_warnings(connection, {key_of(v): warnings[key_of(v)] for v in done}),
    )
    with transaction(at.engine) as connection:
        share_warnings(connection, [version.version_id for version in versions])
    totals = {"pages": "pages", "elements": "elements", "characters": "characters", "warnings": "warnings"}
    totals["pages read by OCR"] = "ocr_pages"
    return result(report, totals, columns=COLUMNS, listed=("ocr_engine", "ocr_confidence", "ocr_seconds"))


def _parse(stores: Stores, versions: Sequence[ClaimedVersion], warnings: _Warnings) -> Iterator[Outcome]:
    def save(version: ClaimedVersion, parsed: ParsedDocument) -> Counts:
        warnings[key_of(version)] = [asdict(warning) for warning in parsed.warnings]
        return _save(stores, version, parsed)

    tables = [version for version in versions if is_table(version)]
    yield from one_by_one(lambda version: save(version, _table_text(stores, version)))(tables)
    documents = [version for version in versions if not is_table(version)]
    parsing = stores.settings.parsing
    limits = UnpackLimits(parsing.unpack_members, parsing.unpack_mb, parsing.unpack_ratio)
    with scratch_folder() as folder:
        yield from parse_files(
            stores,
            documents,
            parse_document,
            save,
            lambda version: (folder / version.version_id, limits, stores.settings.ocr),
        )


def _rows(stores: Stores, table: ParsedTable) -> Iterator[tuple[Any, ...]]:
    with stores.derived.local_path(table.parquet_path) as path:
        yield from iter_rows(str(path), table.columns)


def _table_text(stores: Stores, version: ClaimedVersion) -> ParsedDocument:
    workbook = stores.artefacts.load_workbook(version.version_id)
    return table_document(
        workbook,
        lambda table: _rows(stores, table),
        TABLE_TEXT,
        whole=lambda columns: declares(columns, stores.graph_schema),
    )


def _save(stores: Stores, version: ClaimedVersion, parsed: ParsedDocument) -> Counts:
    if not parsed.text.strip():
        raise NoContent(f"{version.file_name} opens but holds no text.")
    stores.artefacts.save_parsed(version.version_id, parsed)
    members = keep_members(stores, version, parsed) if holds_members(version) else 0
    return {
        "parser": parsed.parser,
        "pages": parsed.page_count or 0,
        "elements": len(parsed.elements),
        "characters": len(parsed.text),
        "warnings": len(parsed.warnings),
        "members": members,
        **_ocr_counts(parsed),
    }


def _ocr_counts(parsed: ParsedDocument) -> Counts:
    """How much of the document was read by OCR, by what, how surely (the mean over its pages), in what time."""
    if not parsed.ocr:
        return {"ocr_pages": 0}
    return {
        "ocr_pages": len(parsed.ocr),
        "ocr_engine": ", ".join(sorted({page.engine for page in parsed.ocr})),
        "ocr_confidence": round(mean(page.confidence for page in parsed.ocr), 3),
        "ocr_seconds": round(sum(page.seconds for page in parsed.ocr), 1),
    }
