"""What the assets of a version's stages share: partition, owners, metadata with links."""

from collections.abc import Callable, Sequence
from typing import Any

import dagster as dg

from foundation.settings import get_settings
from pipelines.batch import Outcome, StageReport
from pipelines.dagster_traces import short_hash
from pipelines.partitions import ARRIVAL_DAYS

OWNERS = ["team:data-engineering"]
_LISTED = 50
_KINDS = {
    "objects": {"embedded": "file", "aws": "s3"},
    "embeddings": {"embedded": "onnx", "aws": "bedrock"},
    "search": {"embedded": "tantivy", "aws": "opensearch"},
}


def made_by(port: str) -> str:
    """The kind of an asset that this port's adapter makes, as the settings choose it."""
    return _KINDS[port][get_settings().adapter(port)]


def stage_asset(
    *, group: str, kinds: set[str], deps: Sequence[Any] = (), **more: Any
) -> Callable[[Callable[..., Any]], dg.AssetsDefinition]:
    """`@asset` with what every stage has: daily partitions, owners, a group and kinds."""
    return dg.asset(partitions_def=ARRIVAL_DAYS, group_name=group, kinds=kinds, deps=list(deps), owners=OWNERS, **more)


def result(
    report: StageReport,
    totals: dict[str, str],
    *,
    columns: Sequence[tuple[str, str, str]] = (),
    listed: Sequence[str] = (),
    **more: Any,
) -> dg.MaterializeResult[Any]:
    """Metadata of one run of a stage. `totals`: metadata name → count that the stage records for each version.

    `listed`: further values that it records for a version, shown in the table of files alone.
    """
    metadata: dict[str, Any] = {
        "versions": len(report.done),
        "unchanged": report.unchanged,
        "failed": len(report.failed),
        "seconds": round(sum(o.seconds for o in report.done), 3),
        **{label: report.total(name) for label, name in totals.items()},
        **more,
    }
    if report.done:
        metadata["files"] = dg.MetadataValue.md(_table(report.done, [*totals.values(), *listed]))
        metadata["lineage"] = dg.MetadataValue.url(lineage_url(report.done[0].version.document_id))
    if report.failed:
        metadata["failures"] = dg.MetadataValue.md(_failures(report.failed))
    if columns:
        metadata["dagster/column_schema"] = dg.TableSchema(
            [dg.TableColumn(name, kind, description) for name, kind, description in columns]
        )
    return dg.MaterializeResult(metadata=metadata)


def service_url() -> str:
    service = get_settings().service
    return service.public_url or f"http://{service.host}:{service.port}"


def lineage_url(document_id: str) -> str:
    return f"{service_url()}/lineage/documents/{document_id}"


def document_link(document_id: str, file_name: str) -> str:
    """The file's name with a link. The id in it is what an erasure finds the line by: one line tells of one document,
    and none tells of one without this link."""
    name = cell(file_name).replace("[", "(").replace("]", ")")
    return f"[{name}]({service_url()}/documents/{document_id})"


def cell(text: str) -> str:
    """A text as a cell of a Markdown table: on one line."""
    return " ".join(text.replace("|", "/").split())


def _link(outcome: Outcome) -> str:
    return document_link(outcome.version.document_id, outcome.version.file_name)


def _table(outcomes: Sequence[Outcome], counts: Sequence[str]) -> str:
    lines = ["| file | version | seconds | " + " | ".join(counts) + " | lineage |", "|---" * (len(counts) + 4) + "|"]
    for outcome in outcomes[:_LISTED]:
        found = outcome.result if isinstance(outcome.result, dict) else {}
        cells = [_link(outcome), f"`{short_hash(outcome.version.version_id)}`", f"{outcome.seconds:.2f}"]
        cells += [cell(str(found.get(name, ""))) for name in counts]
        cells.append(f"[lineage]({lineage_url(outcome.version.document_id)})")
        lines.append("| " + " | ".join(cells) + " |")
    if len(outcomes) > _LISTED:
        lines.append(f"\n… and {len(outcomes) - _LISTED} more.")
    return "\n".join(lines)


def _failures(outcomes: Sequence[Outcome]) -> str:
    lines = ["| file | reason |", "|---|---|"]
    for outcome in outcomes[:_LISTED]:
        code = getattr(outcome.result, "code", type(outcome.result).__name__)
        lines.append(f"| {_link(outcome)} | {code}: {cell(str(outcome.result))[:200]} |")
    return "\n".join(lines)
