"""One run of the dbt assets, and what it published."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import dagster as dg

from foundation.registry.database import transaction
from foundation.registry.datasets import visible_tables
from foundation.stores import Stores
from foundation.types import Principal, TableInfo
from pipelines import resources
from pipelines.assets.dbt import dbt_models
from pipelines.transform.dbt_cli import dbt_resource

LOCAL = Principal("local")
TABLES = ("patients", "encounters", "conditions", "medications", "procedures")


class Run:
    """One run of the dbt assets, all of them."""

    def __init__(self, dbt: Path) -> None:
        with dg.DagsterInstance.ephemeral() as instance:
            made = dg.materialize(
                [dbt_models],
                instance=instance,
                resources={"stores": resources.StoresResource(), "dbt": dbt_resource(dbt)},
            )
            self.run_id = made.run_id
            self.materialized: dict[str, dict[str, Any]] = {
                event.asset_key.to_user_string(): {k: v.value for k, v in event.materialization.metadata.items()}
                for event in made.get_asset_materialization_events()
                if event.asset_key
            }
            checks = made.get_asset_check_evaluations()
            self.passed = {check.check_name for check in checks if check.passed}
            self.failed = {check.check_name for check in checks if not check.passed}
            self.notes = {
                event.asset_key.to_user_string(): event.asset_observation_data.asset_observation.description or ""
                for event in made.get_asset_observation_events()
                if event.asset_key
            }


def synthea(folder: Path, table: str) -> bytes:
    return (folder / "text_to_sql" / "synthea_csv" / f"{table}.csv").read_bytes()


def rows_of(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(content.decode().splitlines()))


def marts(stores: Stores) -> dict[str, TableInfo]:
    with transaction(stores.engine) as connection:
        return {table.name: table for table in visible_tables(connection, LOCAL) if table.kind == "mart"}
