"""dbt's athena target on a real Trino, beside the embedded one: the same models, tests and marts."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import dagster as dg
import psycopg
import pyarrow.parquet as pq
import pytest
from dbt_runs import TABLES, Run, marts, rows_of, synthea
from lake import lake_settings
from uploaded import erase, make_stores, upload_csv

from foundation.adapters.embedded import postgres
from foundation.registry.database import transaction
from foundation.registry.erasures import open_erasures
from foundation.sql_guard import guard
from foundation.stores import Stores
from foundation.table_catalog import catalog_name, unlinked_tables
from pipelines import resources
from pipelines.assets.dbt import dbt_models
from pipelines.erasure import erase as erase_from_stores
from pipelines.marts import marts_are_stale
from pipelines.transform.manifest import DBT
from tests.engines.athena import Athena

pytestmark = pytest.mark.engines


@pytest.fixture
def both(
    postgres_server: str, athena_server: Athena, aws_keys: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Stores, Stores]]:
    """(embedded, on AWS), each with a registry of its own."""
    on_aws = lake_settings(athena_server.url)
    made, names = [], []
    for base in (None, on_aws):
        names.append(f"test_{uuid.uuid4().hex[:12]}")
        postgres.ensure_database(postgres_server, names[-1])
        url = postgres_server.replace("/askline?", f"/{names[-1]}?")
        made.append(make_stores(url, tmp_path / names[-1], base))
    yield made[0], made[1]
    for stores in made:
        stores.close()
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        for name in names:
            connection.execute(f"drop database if exists {name} with (force)")


def build(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setattr(resources, "process_stores", lambda: stores)
    return Run(DBT)


def rows(stores: Stores, mart: str) -> list[dict[str, Any]]:
    with stores.derived.local_path(marts(stores)[mart].parquet_path) as path:
        found = pq.read_table(path, partitioning=None).to_pylist()
    return sorted(found, key=lambda row: [str(value) for value in row.values()])


def _with_code(line: bytes, code: str) -> bytes:
    fields = line.split(b",")
    return b",".join([*fields[:5], code.encode(), *fields[6:]])


def objects_below(stores: Stores, prefix: str) -> list[str]:
    """Keys of every version and delete marker."""
    s3: Any = boto3.client("s3", endpoint_url=stores.settings.aws.endpoint_url)
    page = s3.list_object_versions(Bucket=stores.settings.s3.bucket, Prefix=prefix)
    return [item["Key"] for item in [*page.get("Versions", []), *page.get("DeleteMarkers", [])]]


def databases(stores: Stores) -> dict[str, list[str]]:
    glue: Any = boto3.client("glue", endpoint_url=stores.settings.aws.endpoint_url)
    return {
        found["Name"]: sorted(t["Name"] for t in glue.get_tables(DatabaseName=found["Name"])["TableList"])
        for found in glue.get_databases()["DatabaseList"]
        if found["Name"].startswith(stores.settings.athena.database)
    }


def test_the_marts_are_those_of_the_embedded_profile_and_go_with_their_sources(
    both: tuple[Stores, Stores], shared_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedded, aws = both
    whole = synthea(shared_data, "encounters")
    head, *lines = whole.splitlines(keepends=True)
    files = {f"{table}.csv": synthea(shared_data, table) for table in TABLES if table != "encounters"}
    # Two exports that overlap, and one of an older layout without the reasons.
    files["encounters_2020.csv"] = head + b"".join(lines[:600])
    files["encounters_2021.csv"] = head + b"".join(lines[500:800])
    files["Encounters 2022.csv"] = b"".join(line.rsplit(b",", 2)[0] + b"\n" for line in (head, *lines[800:]))
    # Codes that were parsed as numbers and as times, and are read as text.
    condition_head, *conditions = files["conditions.csv"].splitlines()
    for name, codes in {
        "odd_conditions": ["0.1234567890123456789", "2"],
        "timed_conditions": ["2020-01-02T10:20:30Z"],
    }.items():
        changed = [_with_code(line, code) for line, code in zip(conditions, codes, strict=False)]
        files[f"{name}.csv"] = b"\n".join([condition_head, *changed]) + b"\n"
    documents = {name: [upload_csv(stores, name, content)[0] for stores in both] for name, content in files.items()}
    for stores in both:
        run = build(stores, monkeypatch)
        assert (run.failed, run.notes) == (set(), {})
        assert run.passed == {spec.name for spec in dbt_models.check_specs}
    for mart in ("encounter_costs", "patients_by_condition"):
        assert rows(aws, mart) == rows(embedded, mart)
        assert [(c.name, c.type, c.precision, c.scale) for c in marts(aws)[mart].columns] == [
            (c.name, c.type, c.precision, c.scale) for c in marts(embedded)[mart].columns
        ]
    assert sum(row["encounters"] for row in rows(aws, "encounter_costs")) == len(rows_of(whole))
    codes = {row["condition_code"] for row in rows(aws, "patients_by_condition")}
    assert {"0.12345678901234568", "2.0", "2020-01-02 10:20:30"} <= codes

    # Athena reads the published mart, by the name in Glue; dbt's own tables and files are gone.
    table = marts(aws)["encounter_costs"]
    sql = guard(
        "SELECT sum(encounters) AS n, min(year) AS y FROM encounter_costs",
        dialect="athena",
        tables={"encounter_costs": [column.name for column in table.columns]},
        limit=10,
    )
    found = aws.warehouse.query(sql, [table]).rows
    assert (
        found
        == embedded.warehouse.query(
            guard(
                "SELECT sum(encounters) AS n, min(year) AS y FROM encounter_costs",
                dialect="duckdb",
                tables={"encounter_costs": [column.name for column in table.columns]},
                limit=10,
            ),
            [marts(embedded)["encounter_costs"]],
        ).rows
    )
    in_glue = f"{aws.settings.athena.database}.t_{table.dataset_id.removeprefix('dst_')}"
    assert catalog_name(aws, table.dataset_id, table.name) == in_glue
    shown = databases(aws)
    assert [name for name, tables in shown.items() if tables] == [aws.settings.athena.database]  # no view either
    assert len(shown[aws.settings.athena.database]) == len(files) + 2
    assert objects_below(aws, "dbt/") == [] and objects_below(aws, "athena/") == []
    assert unlinked_tables(aws) == []

    # After an erasure nothing of the rows is left, and what is built anew has none of them.
    for stores, document in zip(both, documents["encounters_2021.csv"], strict=True):
        erase(stores, document)
    with transaction(aws.engine) as connection:
        (erasure,) = open_erasures(connection, 3)
    with dg.DagsterInstance.ephemeral() as instance:
        done = erase_from_stores(aws, erasure, "run", instance)
    assert done is not None and [report for report in done.reports if report.left] == []
    reports = {report.name: report for report in done.reports}
    assert (reports["catalog"].found, reports["marts"].found) == (2, 1)
    assert "encounter_costs" not in marts(aws)
    assert objects_below(aws, "derived/marts/encounter_costs/") == []
    assert len(databases(aws)[aws.settings.athena.database]) == len(files) - 1 + 1
    for stores in both:
        build(stores, monkeypatch)
    assert rows(aws, "encounter_costs") == rows(embedded, "encounter_costs")
    assert sum(row["encounters"] for row in rows(aws, "encounter_costs")) == len(lines) - 200
    assert objects_below(aws, "dbt/") == []


def test_a_build_that_dbt_fails_leaves_nothing_in_the_lake(
    both: tuple[Stores, Stores], shared_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, aws = both
    files = {table: synthea(shared_data, table) for table in TABLES}
    for table, content in files.items():
        upload_csv(aws, f"{table}.csv", content)
    head, first, *_ = files["encounters"].splitlines(keepends=True)
    price = rows_of(files["encounters"])[0]["TOTAL_CLAIM_COST"].encode()
    upload_csv(aws, "encounters_again.csv", head + first.replace(price, b"1.00"))
    run = build(aws, monkeypatch)
    assert run.failed == {"unique_stg_encounters_encounter_id"}
    assert set(marts(aws)) == {"patients_by_condition"}
    assert objects_below(aws, "dbt/") == []
    with transaction(aws.engine) as connection:
        assert marts_are_stale(connection)


def test_a_glue_table_that_nobody_links_to_is_found(both: tuple[Stores, Stores]) -> None:
    embedded, aws = both
    upload_csv(aws, "wards.csv", b"ward,beds\nA,4\nB,6\n")
    assert unlinked_tables(aws) == unlinked_tables(embedded) == []
    glue: Any = boto3.client("glue", endpoint_url=aws.settings.aws.endpoint_url)
    database = aws.settings.athena.database
    glue.create_table(
        DatabaseName=database,
        TableInput={"Name": "t_0123456789", "Parameters": {"askline.dataset": "dst_0123456789"}},
    )
    assert unlinked_tables(aws) == [f"{database}.t_0123456789"]
