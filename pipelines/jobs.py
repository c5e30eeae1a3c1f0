"""The jobs: ingest and reindex over the assets of a day, erase, reconcile, retention."""

import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import dagster as dg
from sqlalchemy import RowMapping

from foundation.errors import AsklineError
from foundation.registry.database import transaction
from foundation.registry.erasures import give_up, open_erasures
from foundation.stores import Stores
from pipelines.assets import INGEST_ASSETS
from pipelines.assets.common import service_url
from pipelines.assets.search_alias import INDEX_ASSETS
from pipelines.erasure import Erased, close, erase
from pipelines.rebuild import drop_retired
from pipelines.reconcile import reconcile
from pipelines.resources import StoresResource
from pipelines.retention import delete_old_runs

_INGEST = dg.AssetSelection.assets(*INGEST_ASSETS)

ingest_job = dg.define_asset_job(
    "ingest",
    selection=_INGEST,
    description="Takes what has arrived on a day through every stage until it answers.",
)
reindex_job = dg.define_asset_job(
    "reindex",
    selection=_INGEST,
    description="A day again: only what is stale is redone; with the tag askline/force=true everything is.",
)
rebuild_index_job = dg.define_asset_job(
    "rebuild_index",
    selection=dg.AssetSelection.assets(*INDEX_ASSETS),
    description="A new search index beside the one that answers, after a change of the embedding model or the chunker;"
    " it takes over when the evaluation passes.",
)

_WAITED_S = 60.0
"""So long an erasure waits for a stage that is writing, before another run of the job tries it."""
_TOGETHER = 50
"""Erasures that are closed together, since the index is rewritten once for all of them."""


@dg.op(description="Erases every deleted document from all stores and verifies that nothing is left.")
def erase_documents(context: dg.OpExecutionContext, stores: StoresResource) -> None:
    at = stores.stores
    with transaction(at.engine) as connection:
        waiting = list(open_erasures(connection, at.settings.ingestion.max_attempts))
    deadline = time.monotonic() + _WAITED_S
    while waiting:
        batch, later = waiting[:_TOGETHER], waiting[_TOGETHER:]
        held = _erase(context, at, batch)
        if len(held) < len(batch):
            waiting = later + held  # those that wait come last
        elif time.monotonic() > deadline:
            context.log.info(f"{len(waiting)} wait: runs are at work on the documents")
            break
        else:
            waiting = later + held
            time.sleep(0.5)
    with transaction(at.engine) as connection:
        failed = give_up(connection, at.settings.ingestion.max_attempts)
    if failed:
        raise dg.Failure(f"{failed} erasures are not verified after {at.settings.ingestion.max_attempts} tries.")


def _erase(context: dg.OpExecutionContext, stores: Stores, batch: Sequence[RowMapping]) -> list[RowMapping]:
    """Those that wait: a run is writing artefacts of the document, and stops at its next stage."""
    erased, waiting = [], []
    for erasure in batch:
        try:
            done = erase(stores, erasure, context.run_id, context.instance)
        except AsklineError as error:
            context.log.error(f"{erasure['erasure_id']}: {error.code}: {error.message}")
            continue
        if done is None:
            waiting.append(erasure)
        else:
            erased.append(done)
    close(stores, erased)
    for one in erased:
        _report(context, one)
    return waiting


def _report(context: dg.OpExecutionContext, erased: Erased) -> None:
    lines = [f"| {r.name} | {r.found} | {r.removed} | {r.left} |" for r in erased.reports]
    table = "\n".join(["| store | found | removed | left |", "|---|---|---|---|", *lines])
    context.log_event(
        dg.AssetObservation(
            asset_key="raw_files",
            description=f"Erasure {erased.erasure_id}",
            metadata={
                "report": dg.MetadataValue.md(table),
                "erasure": dg.MetadataValue.url(f"{service_url()}/erasures/{erased.erasure_id}"),
            },
        )
    )


@dg.job(description="Verified erasure of deleted documents.")
def erase_job() -> None:
    erase_documents()


@dg.op(description="Compares the landing bucket with the registry.")
def reconcile_landing(context: dg.OpExecutionContext, stores: StoresResource) -> None:
    report = reconcile(stores.stores)
    context.log.info(f"{report.arrived} arrived, {report.deleted} deleted, {report.unchanged} unchanged")


@dg.job(description="Finds files that were copied into the landing bucket or removed from it.")
def reconcile_job() -> None:
    reconcile_landing()


@dg.op(description="Deletes old runs' events, never the run of a partition's newest materialization.")
def delete_old_events(context: dg.OpExecutionContext, stores: StoresResource) -> None:
    days = stores.stores.settings.dagster.event_retention_days
    before = datetime.now(UTC) - timedelta(days=days)
    deleted, kept = delete_old_runs(context.instance, before)
    context.log.info(f"{deleted} runs older than {days} days deleted, {kept} kept for their materializations")


@dg.op(description="Drops search indexes that another has replaced, after their time of grace.")
def drop_retired_indexes(context: dg.OpExecutionContext, stores: StoresResource) -> None:
    at = stores.stores
    dropped = drop_retired(at, timedelta(hours=at.settings.search.retired_index_hours))
    context.log.info(f"dropped: {', '.join(dropped) or 'none'}")


@dg.job(description="Retention of Dagster's event log and of search indexes that were replaced.")
def retention_job() -> None:
    delete_old_events()
    drop_retired_indexes()
