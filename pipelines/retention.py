"""Retention of Dagster's event log. Lineage lives in the registry, so events may go; the UI's state must stay true."""

from __future__ import annotations

from datetime import datetime

import dagster as dg

_PAGE = 200


def newest_materializations(instance: dg.DagsterInstance) -> set[str]:
    """Runs that hold the newest materialization of an asset or of one of its partitions."""
    keep = set()
    for key in instance.all_asset_keys():
        latest = instance.get_latest_materialization_event(key)
        if latest is not None:
            keep.add(latest.run_id)
        by_partition = instance.event_log_storage.get_latest_storage_id_by_partition(
            key, dg.DagsterEventType.ASSET_MATERIALIZATION
        )
        ids = list(by_partition.values())
        for start in range(0, len(ids), _PAGE):
            records = instance.event_log_storage.get_event_records(
                dg.EventRecordsFilter(
                    dg.DagsterEventType.ASSET_MATERIALIZATION, asset_key=key, storage_ids=ids[start : start + _PAGE]
                )
            )
            keep.update(record.run_id for record in records)
    return keep


def delete_old_runs(instance: dg.DagsterInstance, before: datetime) -> tuple[int, int]:
    """Delete finished runs that were created before this time; returns (deleted, kept for a materialization)."""
    keep = newest_materializations(instance)
    deleted = kept = 0
    cursor = None
    finished = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED]
    while True:
        records = instance.get_run_records(
            dg.RunsFilter(statuses=finished, created_before=before), limit=_PAGE, cursor=cursor
        )
        if not records:
            return deleted, kept
        cursor = records[-1].dagster_run.run_id
        for record in records:
            if record.dagster_run.run_id in keep:
                kept += 1
            else:
                instance.delete_run(record.dagster_run.run_id)
                deleted += 1
