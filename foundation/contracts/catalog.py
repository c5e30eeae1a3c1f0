"""What every adapter of the catalog port must do. Inherit `CatalogContract` and give the `catalog` fixture."""

from __future__ import annotations

import pytest

from foundation.errors import NotFound
from foundation.ports.catalog import Catalog
from foundation.types import Column, TableInfo

COLUMNS = (
    Column("id", "Id", "text", distinct=3, samples=("a", "b")),
    Column("cost", "Cost (USD)", "decimal", precision=18, scale=2, nulls=1, minimum="0.10", maximum="9.00"),
    Column("größe", "Größe", "double"),
    Column("seen", "Seen", "timestamp", description="When it was seen"),
)


def table(dataset_id: str, name: str = "visits", columns: tuple[Column, ...] = COLUMNS) -> TableInfo:
    return TableInfo(
        name=name,
        label="Visits",
        columns=columns,
        row_count=3,
        kind="upload",
        parquet_path=f"versions/{dataset_id}/tables/0.parquet",
        postgres=True,
        dataset_id=dataset_id,
        version_id=f"sha-{dataset_id}",
    )


class CatalogContract:
    @pytest.fixture
    def catalog(self) -> Catalog:
        raise NotImplementedError("give a catalog")

    def test_columns_come_back_with_labels_types_and_profile(self, catalog: Catalog) -> None:
        catalog.register(table("dst_1"))
        assert catalog.columns("dst_1") == COLUMNS

    def test_registering_again_replaces_the_entry(self, catalog: Catalog) -> None:
        catalog.register(table("dst_1"))
        catalog.register(table("dst_1", columns=COLUMNS[:2]))
        assert catalog.columns("dst_1") == COLUMNS[:2]
        assert catalog.remove(["dst_1"]) == 1

    def test_what_is_removed_is_not_found(self, catalog: Catalog) -> None:
        catalog.register(table("dst_1"))
        catalog.register(table("dst_2", "beds"))
        assert catalog.remove(["dst_1", "dst_unknown"]) == 1
        with pytest.raises(NotFound):
            catalog.columns("dst_1")
        assert catalog.columns("dst_2") == COLUMNS
