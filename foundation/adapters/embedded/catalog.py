"""The catalog in the registry: what Glue is on AWS."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Engine, select

from foundation.errors import NotFound
from foundation.registry.database import transaction
from foundation.registry.datasets import column_from_json, remove_datasets, save_dataset
from foundation.registry.tables import datasets
from foundation.types import Column, TableInfo


class RegistryCatalog:
    """Port `catalog` over the table `datasets`; a registered table's `parquet_path` is its key in the derived store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def register(self, table: TableInfo) -> None:
        with transaction(self._engine) as connection:
            save_dataset(connection, table)

    def columns(self, dataset_id: str) -> tuple[Column, ...]:
        with transaction(self._engine) as connection:
            found = connection.execute(
                select(datasets.c.columns).where(datasets.c.dataset_id == dataset_id)
            ).scalar_one_or_none()
        if found is None:
            raise NotFound(f"The catalog has no dataset {dataset_id}.")
        return tuple(column_from_json(column) for column in found)

    def remove(self, dataset_ids: Sequence[str]) -> int:
        with transaction(self._engine) as connection:
            return remove_datasets(connection, dataset_ids)
