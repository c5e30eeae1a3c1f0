"""A partition is the UTC day on which a file arrived; today's is there from its first second."""

from __future__ import annotations

from datetime import UTC, date, datetime

import dagster as dg

ARRIVAL_DAYS = dg.DailyPartitionsDefinition(start_date="2026-01-01", timezone="UTC", end_offset=1)


def day_of(context: dg.AssetExecutionContext | dg.AssetCheckExecutionContext) -> date:
    return datetime.strptime(context.partition_key, "%Y-%m-%d").replace(tzinfo=UTC).date()
