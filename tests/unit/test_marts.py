from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dagster._core.test_utils import create_run_for_test
from uploaded import erase, make_stores, upload_csv

from foundation.errors import NotFound, StageFailed
from foundation.ids import dataset_id
from foundation.registry.database import transaction
from foundation.registry.datasets import visible_table, visible_tables
from foundation.stores import Stores
from foundation.types import Principal
from pipelines.marts import (
    Publication,
    marts_are_stale,
    publish_mart,
    purge_superseded,
    refusals,
    sources_fingerprint,
    withdraw_marts,
    withdraw_marts_using,
)
from pipelines.resources import STORES
from pipelines.transform.automation import tables_changed, transform_job
from pipelines.transform.contracts import match
from pipelines.transform.manifest import Manifest, Mart, project_manifest

LOCAL, ALICE = Principal("local"), Principal("alice")
ENCOUNTERS = (
    b"Id,START,PATIENT,PAYER,ENCOUNTERCLASS,TOTAL_CLAIM_COST,PAYER_COVERAGE\n"
    b"e1,2023-05-01T08:00:00Z,p1,y1,wellness,100.00,40.00\n"
)
RUN = "5d0f8a52-run"


@pytest.fixture
def stores(empty_database: str, tmp_path: Path) -> Iterator[Stores]:
    made = make_stores(empty_database, tmp_path / "data")
    yield made
    made.close()


@pytest.fixture(scope="module")
def manifest() -> Manifest:
    return project_manifest()


@pytest.fixture(scope="module")
def mart(manifest: Manifest) -> Mart:
    return manifest.marts["encounter_costs"]


def parquet(folder: Path, costs: list[int]) -> Path:
    path = folder / "mart.parquet"
    pq.write_table(pa.table({"year": pa.array(range(len(costs)), pa.int32()), "total_claim_cost": costs}), path)
    return path


def publish(stores: Stores, mart: Mart, folder: Path, costs: list[int], *versions: str) -> Publication | None:
    sources = {(dataset_id(v, 0), v) for v in versions}
    return publish_mart(stores, mart, parquet(folder, costs), sources, run_id=RUN)


def keys(stores: Stores) -> set[str]:
    return {found.key for found in stores.derived.current("marts/")}


def visible(stores: Stores, principal: Principal) -> set[str]:
    with transaction(stores.engine) as connection:
        return {table.name for table in visible_tables(connection, principal)}


def dataset(name: str, *columns: str, types: dict[str, str] | None = None, **about: Any) -> dict[str, Any]:
    described = [{"name": c, "type": (types or {}).get(c, "text"), "nulls": 0} for c in columns]
    row = {"dataset_id": name, "version_id": name, "name": name, "sheet": None, "label": name, "row_count": 3}
    return {**row, "parquet_key": "k", "columns": described, **about}


CLINICAL = ("start", "patient", "encounter", "code", "description")
DATED = {"start": "date"}


@pytest.mark.parametrize(
    ("row", "contract"),
    [
        (dataset("conditions", *CLINICAL, types=DATED), "conditions"),
        (dataset("hospital_a_diagnoses_2024", *CLINICAL, "ward", types=DATED), "conditions"),
        # The columns of conditions, but nothing says that they are: older exports have allergies in this form.
        (dataset("allergies", *CLINICAL, types=DATED), None),
        (dataset("careplans", "id", *CLINICAL, "reasoncode", types=DATED), None),
        # Both contracts fit by their columns; the name says which it is.
        (dataset("procedures", *CLINICAL, "base_cost", types={**DATED, "base_cost": "decimal"}), "procedures"),
        (dataset("ops", *CLINICAL, "base_cost", types={**DATED, "base_cost": "double"}), "procedures"),
        (dataset("ops", *CLINICAL, "base_cost", "surgeon", types={**DATED, "base_cost": "double"}), None),
        (dataset("export", *CLINICAL, types=DATED, sheet="Conditions"), "conditions"),
        (dataset("conditions", *CLINICAL, types={"start": "text"}), None),
        (dataset("conditions", "patient", "code", "description"), None),
        (dataset("unconditionally", *CLINICAL, types=DATED), None),
    ],
)
def test_a_table_is_read_as_the_contract_that_its_columns_and_its_name_agree_on(
    manifest: Manifest, row: dict[str, Any], contract: str | None
) -> None:
    assert list(match(manifest, [row])) == ([contract] if contract else [])


def test_a_column_without_any_value_fits_every_type_and_an_optional_one_of_another_type_is_not_read(
    manifest: Manifest,
) -> None:
    empty = dataset("conditions", *CLINICAL, "stop", types={"start": "date"})
    empty["columns"][-1]["nulls"] = empty["row_count"]
    wrong = dataset("conditions_2", *CLINICAL, "stop", types={"start": "date", "stop": "boolean"})
    first, second = match(manifest, [empty, wrong])["conditions"]
    assert "stop" in first.columns
    assert set(second.columns) == set(CLINICAL)


def results(mart: Mart, **changed: str) -> dict[str, Any]:
    """run_results.json with everything passed but what `changed` names by a part of its id."""
    ids = {mart.unique_id: "success", **dict.fromkeys(sorted(mart.tests), "pass")}
    for part, status in changed.items():
        ids.update({i: status for i in ids if part in i})
    return {"results": [{"unique_id": i, "status": s, "message": "m"} for i, s in ids.items() if s != "absent"]}


def test_only_a_mart_that_was_built_and_passed_every_test_may_be_published(manifest: Manifest, mart: Mart) -> None:
    assert refusals(manifest, results(mart)) == {mart.name: None}
    assert refusals(manifest, results(mart, not_null="warn")) == {mart.name: None}
    assert "total_equals_staging" in (refusals(manifest, results(mart, equals_staging="fail"))[mart.name] or "")
    assert "not all" in (refusals(manifest, results(mart, equals_staging="absent"))[mart.name] or "")
    assert "not built" in (
        refusals(manifest, {"results": [{"unique_id": mart.unique_id, "status": "skipped"}]})[mart.name] or ""
    )
    assert refusals(manifest, {"results": []}) == {}


def test_a_published_mart_is_a_described_and_profiled_table_for_those_who_see_all_of_its_sources(
    stores: Stores, mart: Mart, tmp_path: Path
) -> None:
    _, ours = upload_csv(stores, "encounters.csv", ENCOUNTERS)
    published = publish(stores, mart, tmp_path, [5, 7, 7], ours)
    assert published is not None
    with transaction(stores.engine) as connection:
        table = visible_table(connection, LOCAL, "encounter_costs")
    assert (table.kind, table.row_count, table.description) == ("mart", 3, mart.description)
    year, cost = table.columns
    assert (year.type, year.minimum, year.maximum, year.description) == ("bigint", "0", "2", mart.column_labels["year"])
    assert (cost.distinct, cost.samples) == (2, ("7", "5"))
    assert keys(stores) == {table.parquet_path}

    _, shared = upload_csv(stores, "encounters_2.csv", ENCOUNTERS.replace(b"e1", b"e2"), ("public",))
    publish(stores, mart, tmp_path, [1], ours, shared)
    assert "encounter_costs" not in visible(stores, ALICE)
    publish(stores, mart, tmp_path, [1], shared)
    assert "encounter_costs" in visible(stores, ALICE)


def test_nothing_is_published_from_a_source_that_was_erased_during_the_build(
    stores: Stores, mart: Mart, tmp_path: Path
) -> None:
    document, version = upload_csv(stores, "encounters.csv", ENCOUNTERS)
    erase(stores, document)
    assert publish(stores, mart, tmp_path, [1], version) is None
    assert keys(stores) == set()
    with transaction(stores.engine) as connection, pytest.raises(NotFound):
        visible_table(connection, LOCAL, "encounter_costs")


def test_a_replaced_file_stays_ten_minutes_for_its_readers_and_an_erasure_does_not_wait(
    stores: Stores, mart: Mart, tmp_path: Path
) -> None:
    _, version = upload_csv(stores, "encounters.csv", ENCOUNTERS)
    files = []
    for age_s, costs in ((3000, [1]), (1000, [2]), (0, [3])):
        published = publish(stores, mart, tmp_path, costs, version)
        assert published is not None
        files.append(published.table.parquet_path)
        with stores.derived.local_path(files[-1]) as path:
            os.utime(path, (time.time() - age_s,) * 2)
    assert purge_superseded(stores) == 1  # the first was replaced 1,000 s ago; the second is as old, but replaced now
    assert keys(stores) == {files[1], files[2]}
    assert withdraw_marts_using(stores, ["another"]) == 0
    assert keys(stores) == {files[2]}
    export = stores.settings.folder / "dbt" / "marts" / "encounter_costs.parquet"
    export.parent.mkdir(parents=True)
    export.write_bytes(b"left by an interrupted build")
    assert withdraw_marts_using(stores, [version]) == 1
    assert keys(stores) == set()
    assert not export.exists()
    assert visible(stores, LOCAL) == {"encounters"}


def test_a_mart_leaves_a_name_that_an_upload_has_to_the_upload(stores: Stores, mart: Mart, tmp_path: Path) -> None:
    upload_csv(stores, "encounter_costs.csv", b"a,b\n1,2\n")
    document, version = upload_csv(stores, "encounters.csv", ENCOUNTERS)
    first = publish(stores, mart, tmp_path, [1], version)
    assert first is not None
    assert visible(stores, LOCAL) == {"encounter_costs", "encounter_costs_mart", "encounters"}
    erase(stores, document)
    _, version = upload_csv(stores, "encounters.csv", ENCOUNTERS)
    assert publish(stores, mart, tmp_path, [2], version) is not None
    assert visible(stores, LOCAL) == {"encounter_costs", "encounter_costs_mart", "encounters"}
    assert withdraw_marts(stores, [mart.name, "patients_by_condition"]) == [mart.name]
    assert visible(stores, LOCAL) == {"encounter_costs", "encounters"}


def test_a_column_type_that_the_catalog_lacks_is_named_and_nothing_is_published(
    stores: Stores, mart: Mart, tmp_path: Path
) -> None:
    _, version = upload_csv(stores, "encounters.csv", ENCOUNTERS)
    pq.write_table(pa.table({"codes": [[1, 2]]}), tmp_path / "mart.parquet")
    with pytest.raises(StageFailed, match="column codes"):
        publish_mart(stores, mart, tmp_path / "mart.parquet", {(dataset_id(version, 0), version)}, run_id=RUN)
    assert keys(stores) == set()


def test_marts_are_stale_from_the_arrival_of_a_source_until_they_are_built_from_what_is_there(
    stores: Stores, mart: Mart, tmp_path: Path
) -> None:
    def state() -> tuple[bool, str]:
        with transaction(stores.engine) as connection:
            return marts_are_stale(connection), sources_fingerprint(connection)

    nothing = state()
    upload_csv(stores, "staff.csv", b"a,b\n1,2\n")
    assert state() == nothing == (False, nothing[1])
    document, first = upload_csv(stores, "encounters.csv", ENCOUNTERS)
    one = state()
    assert one == (True, one[1]) and one[1] != nothing[1]
    publish(stores, mart, tmp_path, [1], first)
    assert state() == (False, one[1])
    upload_csv(stores, "encounters_2.csv", ENCOUNTERS.replace(b"e1", b"e2"))
    two = state()
    assert two[0] and two[1] != one[1]
    erase(stores, document)
    assert state()[0]


def test_the_same_table_uploaded_again_after_its_deletion_asks_for_the_marts_again(stores: Stores) -> None:
    def sources() -> str:
        with transaction(stores.engine) as connection:
            return sources_fingerprint(connection)

    document, _ = upload_csv(stores, "encounters.csv", ENCOUNTERS)
    first = sources()
    erase(stores, document)
    upload_csv(stores, "encounters.csv", ENCOUNTERS)
    assert sources() != first


def test_dbt_is_asked_for_again_after_a_run_that_died_thrice_at_most_and_not_after_one_that_succeeded(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipelines.resources.process_stores", lambda: stores)
    upload_csv(stores, "encounters.csv", ENCOUNTERS)

    def asked(*ended: dg.DagsterRunStatus) -> bool:
        with dg.DagsterInstance.ephemeral() as instance:

            def look() -> list[dg.RunRequest]:
                context = dg.build_sensor_context(instance=instance, resources={"stores": STORES})
                return list(tables_changed.evaluate_tick(context).run_requests or [])

            for status in ended:
                (request,) = look()
                create_run_for_test(instance, job_name=transform_job.name, status=status, tags=dict(request.tags))
            return bool(look())

    died, succeeded = dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.SUCCESS
    assert asked() and asked(died) and asked(died, died)
    assert not asked(died, died, died)
    assert not asked(succeeded) and not asked(died, succeeded)


def test_the_lineage_of_a_mart_names_the_run_that_published_it(stores: Stores, mart: Mart, tmp_path: Path) -> None:
    from query_service.lineage import Lineage, of_table

    _, version = upload_csv(stores, "encounters.csv", ENCOUNTERS)
    assert publish(stores, mart, tmp_path, [1], version) is not None
    with transaction(stores.engine) as connection:
        found = of_table(connection, LOCAL, mart.name, Lineage("http://here/", "http://dagster"))
    runs = {node["id"]: node["url"] for node in found["nodes"] if node["kind"] == "run"}
    assert runs[RUN] == f"http://dagster/runs/{RUN}"
    assert [e["target"] for e in found["edges"] if e["kind"] == "published by"] == [RUN]
