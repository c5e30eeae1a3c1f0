"""CSV files ingested as far as tables go: parsed, in the catalog, active. What the assets do, without Dagster."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

from foundation.ids import dataset_id
from foundation.registry.claims import set_active
from foundation.registry.database import transaction
from foundation.registry.datasets import names_taken, save_dataset
from foundation.registry.erasures import erase_document
from foundation.registry.intake import Arrival, register_arrival
from foundation.settings import DatabaseSettings, Settings
from foundation.stores import Stores
from foundation.types import TableInfo
from pipelines.parsing.csv_file import parse_csv
from pipelines.parsing.table_names import table_name


def make_stores(database_url: str, folder: Path) -> Stores:
    return Stores(Settings(data_dir=folder, database=DatabaseSettings(url=database_url)))


def upload_csv(stores: Stores, name: str, content: bytes, acl: tuple[str, ...] = ("user:local",)) -> tuple[str, str]:
    """(document_id, version_id)"""
    version = hashlib.sha256(content).hexdigest()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file.csv"
        path.write_bytes(content)
        workbook = stores.artefacts.save_workbook(version, parse_csv(path, name, folder))
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
        taken = names_taken(connection, received.document_id)
        for table in workbook.tables:
            info = TableInfo(
                name=table_name(name, table.sheet, len(workbook.tables), taken),
                label=table.label,
                columns=table.columns,
                row_count=table.row_count,
                kind="upload",
                parquet_path=table.parquet_path,
                postgres=True,
                dataset_id=dataset_id(version, table.ordinal),
                ordinal=table.ordinal,
                version_id=version,
                sheet=table.sheet,
            )
            save_dataset(connection, info)
        set_active(connection, received.document_id, version)
    return received.document_id, version


def erase(stores: Stores, document_id: str) -> None:
    with transaction(stores.engine) as connection:
        erase_document(connection, document_id, "local")
