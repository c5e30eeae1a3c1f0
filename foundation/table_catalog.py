"""The registry's tables in the catalog of AWS (Glue), and back: whoever changes one changes the other.

The registry has every table in both profiles, for who may read it and under which name. Where the catalog is Glue, it
has them too, since Athena knows no others. An entry goes from Glue first: while the registry has it, it is found again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlalchemy import Engine, RowMapping, inspect, select

from foundation import aws_stores
from foundation.errors import NotFound
from foundation.registry.database import transaction
from foundation.registry.datasets import column_from_json
from foundation.registry.tables import datasets
from foundation.settings import Settings
from foundation.stores import Stores
from foundation.types import TableInfo


def tell_catalog(stores: Stores, tables: Iterable[TableInfo]) -> None:
    """Create or replace their entries, where the catalog is not the registry itself."""
    if _is_outside(stores):
        for table in tables:
            stores.catalog.register(table)


def forget_in_catalog(stores: Stores, dataset_ids: Sequence[str]) -> int:
    """Remove their entries, where the catalog is not the registry itself; returns how many there were."""
    return stores.catalog.remove(dataset_ids) if _is_outside(stores) and dataset_ids else 0


def known_to_catalog(stores: Stores, dataset_ids: Iterable[str]) -> int:
    """How many of these the catalog has, where it is not the registry itself."""
    return sum(_is_known(stores, one) for one in dataset_ids) if _is_outside(stores) else 0


def is_catalogued(stores: Stores, row: RowMapping) -> bool:
    """Whether the catalog has this row of `datasets` with the same columns, read back from Glue where that is it."""
    if not _is_outside(stores):
        return True
    try:
        return stores.catalog.columns(row["dataset_id"]) == tuple(column_from_json(c) for c in row["columns"])
    except NotFound:
        return False


def catalog_name(stores: Stores, dataset_id: str, known_as: str) -> str:
    """The table's name in the catalog: Glue's `database.table`, or the one by which people know it."""
    return aws_stores.glue_path(stores.settings, dataset_id) if _is_outside(stores) else known_as


def unlinked_tables(stores: Stores) -> list[str]:
    """Glue tables (`database.table`) of a dataset that the registry has not, and what others put into the database."""
    return unlinked_in(stores.settings, stores.engine)


def unlinked_in(settings: Settings, engine: Engine) -> list[str]:
    """The same of a registry as it is; none where it has not been made yet."""
    if settings.adapter("catalog") != "aws":
        return []
    found = dict(aws_stores.catalog(settings).datasets())
    with transaction(engine) as connection:
        if not inspect(connection).has_table(datasets.name, schema=datasets.schema):
            return []
        known: set[str] = set(connection.execute(select(datasets.c.dataset_id)).scalars())
    return sorted(name for name, dataset_id in found.items() if dataset_id not in known)


def _is_outside(stores: Stores) -> bool:
    return stores.settings.adapter("catalog") == "aws"


def _is_known(stores: Stores, dataset_id: str) -> bool:
    try:
        stores.catalog.columns(dataset_id)
    except NotFound:
        return False
    return True
