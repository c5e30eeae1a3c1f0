"""The ingest job over real files, in one process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from foundation.access import local_principal
from foundation.registry import documents
from foundation.registry.database import transaction
from foundation.registry.datasets import visible_tables
from foundation.registry.intake import Received
from foundation.registry.lineage import stages_of_version
from foundation.stores import Stores
from foundation.types import SearchFilter, Stage

SAMPLES = Path(__file__).parents[2] / "samples"
LOCAL = local_principal("local")

Land = Callable[..., Received]
RunJob = Callable[..., Any]


def record(stores: Stores, document_id: str) -> dict[str, Any]:
    with transaction(stores.engine) as connection:
        return dict(documents.get_document(connection, LOCAL, document_id))


def test_each_kind_of_file_ends_indexed_and_every_stage_is_recorded(
    stores: Stores, land: Land, run_job: RunJob
) -> None:
    names = ["referral_policy.docx", "clinic_price_list.xlsx", "clinic_notice.txt", "patients.csv"]
    received = [land(name, (next(SAMPLES.rglob(name))).read_bytes()) for name in names]
    result = run_job("ingest", scope="pending")
    assert result.success
    for name, got in zip(names, received, strict=True):
        row = record(stores, got.document_id)
        assert row["status"] == "indexed", (name, row["error_code"], row["error_message"])
        assert row["active_version"] == got.version_id
        with transaction(stores.engine) as connection:
            stages = stages_of_version(connection, got.document_id, got.version_id)
        assert {s["stage"] for s in stages} == {str(stage) for stage in Stage}
        assert {s["run_id"] for s in stages} == {result.run_id}
    with transaction(stores.engine) as connection:
        tables = {table.name: table for table in visible_tables(connection, LOCAL)}
    assert tables["patients"].row_count == 10
    hits = stores.search.search(
        "prior authorization for MRI", stores.embedder.embed_query("prior authorization"), SearchFilter(LOCAL.grants)
    )
    assert hits[0].version_id == received[0].version_id
