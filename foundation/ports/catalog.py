"""The catalog of typed tables: dataset → columns and where the Parquet is (Glue on AWS, the registry when embedded)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from foundation.types import Column, TableInfo


class Catalog(Protocol):
    def register(self, table: TableInfo) -> None:
        """Create or replace the entry of this dataset."""

    def columns(self, dataset_id: str) -> tuple[Column, ...]:
        """As the catalog has them; NotFound."""

    def remove(self, dataset_ids: Sequence[str]) -> int: ...
