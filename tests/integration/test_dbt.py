"""Real dbt on real DuckDB: each build is a dbt process, cut off from the network where the machine allows it."""

from __future__ import annotations

import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from dbt_runs import LOCAL, TABLES, Run, marts, rows_of, synthea
from uploaded import erase, make_stores, upload_csv

from foundation.registry.database import transaction
from foundation.registry.datasets import visible_tables
from foundation.stores import Stores
from foundation.types import TableInfo
from pipelines import resources
from pipelines.assets.dbt import dbt_models
from pipelines.marts import marts_are_stale
from pipelines.transform.manifest import DBT


@pytest.fixture
def stores(empty_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stores]:
    made = make_stores(empty_database, tmp_path / "data")
    monkeypatch.setattr(resources, "process_stores", lambda: made)
    yield made
    made.close()


@pytest.fixture
def offline_dbt(tmp_path: Path) -> Path:
    """dbt in a network namespace of its own, in which there is not even loopback."""
    alone = ["unshare", "--map-root-user", "--net"]
    if shutil.which("unshare") is None or subprocess.run([*alone, "true"], check=False).returncode != 0:
        return DBT
    script = tmp_path / "dbt"
    script.write_text(f'#!/bin/sh\nexec {" ".join(alone)} {DBT} "$@"\n')
    script.chmod(0o755)
    return script


def contents(stores: Stores, table: TableInfo) -> list[dict[str, Any]]:
    with stores.derived.local_path(table.parquet_path) as path:
        found: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    return found


def is_stale(stores: Stores) -> bool:
    with transaction(stores.engine) as connection:
        return marts_are_stale(connection)


def expected_costs(
    encounters: list[dict[str, str]],
) -> dict[tuple[str, str, int], tuple[int, Decimal, Decimal, Decimal]]:
    groups = defaultdict(list)
    for row in encounters:
        began = datetime.fromisoformat(row["START"])
        groups[row["ENCOUNTERCLASS"], row["PAYER"], began.year].append(
            (Decimal(row["TOTAL_CLAIM_COST"]), Decimal(row["PAYER_COVERAGE"]))
        )
    found = {}
    for key, pairs in groups.items():
        total, covered = sum((t for t, _ in pairs), Decimal()), sum((c for _, c in pairs), Decimal())
        found[key] = (len(pairs), total, covered, total - covered)
    return found


def costs(rows: list[dict[str, Any]]) -> dict[tuple[str, str, int], tuple[int, Decimal, Decimal, Decimal]]:
    amounts = ("encounters", "total_claim_cost", "payer_coverage", "patient_cost")
    found = {(r["encounter_class"], r["payer"], r["year"]): tuple(r[a] for a in amounts) for r in rows}
    assert len(found) == len(rows)
    return found


def test_the_marts_of_real_tables_hold_what_a_plain_computation_over_the_files_gives(
    stores: Stores, offline_dbt: Path, shared_data: Path
) -> None:
    files = {table: synthea(shared_data, table) for table in TABLES}
    versions = {table: upload_csv(stores, f"{table}.csv", content)[1] for table, content in files.items()}
    assert is_stale(stores)
    run = Run(offline_dbt)
    assert not is_stale(stores)
    assert (run.failed, run.notes) == (set(), {})
    assert run.passed == {spec.name for spec in dbt_models.check_specs}
    assert set(run.materialized) == {key.to_user_string() for key in dbt_models.keys}

    published = marts(stores)
    assert {table.run_id for table in published.values()} == {run.run_id}
    rows = contents(stores, published["encounter_costs"])
    assert costs(rows) == expected_costs(rows_of(files["encounters"]))
    for row in rows:
        mean = row["total_claim_cost"] / row["encounters"]
        assert abs(row["average_claim_cost"] - mean) <= Decimal("0.005")

    conditions = defaultdict(list)
    for row in rows_of(files["conditions"]):
        conditions[row["CODE"]].append(row)
    assert contents(stores, published["patients_by_condition"]) == [
        {
            "condition_code": code,
            "condition": found[0]["DESCRIPTION"],
            "patients": len({row["PATIENT"] for row in found}),
            "occurrences": len(found),
            "first_onset": date.fromisoformat(min(row["START"] for row in found)),
            "last_onset": date.fromisoformat(max(row["START"] for row in found)),
        }
        for code, found in sorted(conditions.items())
    ]

    table, shown = published["encounter_costs"], run.materialized["encounter_costs"]
    types = {column.name: (column.type, column.precision, column.scale) for column in table.columns}
    assert types["total_claim_cost"] == ("decimal", 18, 2)
    assert all(column.description for column in table.columns)
    assert (shown["dagster/row_count"], shown["parquet"]) == (table.row_count, table.parquet_path)
    assert versions["encounters"][:12] in shown["sources"] and versions["patients"][:12] not in shown["sources"]
    assert shown["link"].endswith("/tables/encounter_costs")
    assert not (stores.settings.folder / "dbt" / "marts").exists()


@pytest.mark.slow
def test_several_files_make_one_source_a_failed_test_keeps_the_mart_and_a_lost_source_withdraws_it(
    stores: Stores, offline_dbt: Path, shared_data: Path
) -> None:
    whole = synthea(shared_data, "encounters")
    head, *lines = whole.splitlines(keepends=True)
    # Two exports that overlap, and one of an older layout without the reasons.
    upload_csv(stores, "encounters_2020.csv", head + b"".join(lines[:600]))
    upload_csv(stores, "encounters_2021.csv", head + b"".join(lines[500:800]))
    older = [line.rsplit(b",", 2)[0] + b"\n" for line in (head, *lines[800:])]
    upload_csv(stores, "Encounters 2022.csv", b"".join(older))
    run = Run(offline_dbt)
    assert "conditions" in run.notes["patients_by_condition"]
    assert set(run.materialized) == {"stg_encounters", "encounter_costs"}
    assert not is_stale(stores)
    before = marts(stores)
    assert set(before) == {"encounter_costs"}
    assert costs(contents(stores, before["encounter_costs"])) == expected_costs(rows_of(whole))

    # The same encounter at another price: two files contradict each other, and nobody can say which is right.
    wrong = lines[0].replace(rows_of(whole)[0]["TOTAL_CLAIM_COST"].encode(), b"1.00")
    document, _ = upload_csv(stores, "encounters_2023.csv", head + wrong)
    run = Run(offline_dbt)
    assert run.failed == {"unique_stg_encounters_encounter_id"}
    assert "stays" in run.notes["encounter_costs"]
    assert "encounter_costs" not in run.materialized
    assert marts(stores) == before
    assert is_stale(stores)

    erase(stores, document)
    assert not is_stale(stores)
    with transaction(stores.engine) as connection:
        documents = {t.document_id for t in visible_tables(connection, LOCAL) if t.document_id}
    for document in documents:
        erase(stores, document)
    assert is_stale(stores)
    run = Run(Path("/bin/false"))  # nothing to build: dbt is not started
    assert set(run.notes) == {key.to_user_string() for key in dbt_models.keys}
    assert marts(stores) == {}
    assert not is_stale(stores)
