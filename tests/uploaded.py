"""Table files ingested as far as tables go: parsed, in the catalog, active. What the assets do, without Dagster."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

from foundation.registry.activation import set_active
from foundation.registry.database import transaction
from foundation.registry.datasets import save_dataset
from foundation.registry.erasures import erase_document
from foundation.registry.intake import Arrival, register_arrival
from foundation.settings import DatabaseSettings, Settings
from foundation.stores import Stores
from foundation.table_catalog import tell_catalog
from pipelines.datasets import dataset_of, name_tables
from pipelines.parsing.dispatch import parse_tables


def make_stores(database_url: str, folder: Path, base: Settings | None = None) -> Stores:
    """`base`: all other settings."""
    own = {"data_dir": folder, "database": DatabaseSettings(url=database_url)}
    return Stores((base or Settings()).model_copy(update=own))


def upload_csv(stores: Stores, name: str, content: bytes, acl: tuple[str, ...] = ("user:local",)) -> tuple[str, str]:
    """(document_id, version_id)"""
    version = hashlib.sha256(content).hexdigest()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_bytes(content)
        parsed = parse_tables(path, name, "xlsx" if name.endswith(".xlsx") else "csv", Path(folder) / "tables")
        workbook = stores.artefacts.save_workbook(version, parsed)
    with transaction(stores.engine) as connection:
        received = register_arrival(
            connection,
            Arrival(
                landing_key=f"uploads/{name}",
                file_name=name,
                media_type="text/csv",
                sha256=version,
                size_bytes=len(content),
                object_version=version,
                owner="local",
                acl=acl,
                domain="healthcare",
                source="api",
            ),
        )
        tables = [dataset_of(version, table) for table in workbook.tables]
        for table in tables:
            save_dataset(connection, table)
        name_tables(connection, received.document_id, name, version)
        set_active(connection, {received.document_id: version})
    tell_catalog(stores, tables)
    return received.document_id, version


def erase(stores: Stores, document_id: str) -> None:
    with transaction(stores.engine) as connection:
        erase_document(connection, document_id, "local")
