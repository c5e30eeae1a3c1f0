"""Publication of dbt's marts: whole or not at all, only tested, only from versions that still answer.

A published mart is a Parquet file `marts/<mart>/<build>/table.parquet` of the derived store, a catalog entry of kind
`mart` and the uploads that it was built from; a principal sees it who may see all of these. Readers that have opened a
file when the next one is published have SUPERSEDED_S to finish; an erasure does not wait for them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock, Timeout
from sqlalchemy import Connection, func, select

from foundation.errors import StageFailed
from foundation.ids import derived_id, new_id
from foundation.registry.database import transaction
from foundation.registry.datasets import (
    active_datasets,
    marts_using,
    remove_datasets,
    replace_mart_sources,
    save_dataset,
)
from foundation.registry.tables import active_intervals, datasets, documents, mart_sources
from foundation.stores import Stores
from foundation.table_catalog import forget_in_catalog, tell_catalog
from foundation.types import Column, ColumnType, TableInfo
from pipelines.parsing.column_profile import ColumnProfile
from pipelines.transform.contracts import mart_sources_now
from pipelines.transform.manifest import Manifest, Mart, dbt_folder, project_manifest

SUPERSEDED_S = 600
_PREFIX = "marts/"
_LOCK = 0x41534B44  # "ASKD": orders publications, withdrawals and purges
_BATCH_ROWS = 20_000

SourceIds = Collection[tuple[str, str]]
"""(dataset_id, version_id)"""


@dataclass(frozen=True, slots=True)
class Publication:
    mart: str
    table: TableInfo
    sources: SourceIds


def mart_id(name: str) -> str:
    return derived_id("dst", "mart", name)


def refusals(manifest: Manifest, run_results: Mapping[str, Any]) -> dict[str, str | None]:
    """Mart → why this build of it may not be published; None where its model was built and all of its tests passed.

    `run_results`: dbt's run_results.json. Marts that the build left out are not in the answer.
    """
    outcome = {result["unique_id"]: result for result in run_results["results"]}
    verdicts: dict[str, str | None] = {}
    for mart in manifest.marts.values():
        built = outcome.get(mart.unique_id)
        if built is None:
            continue
        failed = [test for test in mart.tests if test in outcome and outcome[test]["status"] not in ("pass", "warn")]
        if built["status"] == "skipped":
            verdicts[mart.name] = "a test or model before it failed, so it was not built"
        elif built["status"] != "success":
            verdicts[mart.name] = "dbt could not build it; the run's output has its message"
        elif failed:
            verdicts[mart.name] = f"failed tests: {', '.join(sorted(test.split('.')[2] for test in failed))}"
        elif not mart.tests <= outcome.keys():
            verdicts[mart.name] = "not all of its tests were run"
        else:
            verdicts[mart.name] = None
    return verdicts


def publish_mart(stores: Stores, mart: Mart, parquet: Path, sources: SourceIds, run_id: str) -> Publication | None:
    """Make the Parquet file the mart's table. None, and nothing changed, when one of its sources no longer answers.

    `run_id`: the Dagster run that built it, kept for lineage.
    StageFailed for a column whose type the catalog lacks.
    """
    columns, rows = _profile(mart, parquet)
    with transaction(stores.engine) as connection:
        connection.execute(select(func.pg_advisory_xact_lock(_LOCK)))
        if not _all_active(connection, {version for _, version in sources}):
            return None
        key = f"{_PREFIX}{mart.name}/{new_id('bld')}/table.parquet"
        with parquet.open("rb") as file:
            stores.derived.put(key, file)
        table = TableInfo(
            name=mart.name,
            label=_words(mart.name),
            columns=columns,
            row_count=rows,
            kind="mart",
            parquet_path=key,
            postgres=False,
            dataset_id=mart_id(mart.name),
            description=mart.description,
            run_id=run_id,
        )
        save_dataset(connection, table)
        replace_mart_sources(connection, table.dataset_id, sources)
        tell_catalog(stores, [table])
    return Publication(mart.name, table, sources)


def withdraw_marts(stores: Stores, names: Iterable[str]) -> list[str]:
    """Take these marts out of the catalog and remove their files; returns those that were published."""
    ids = {mart_id(name): name for name in names}
    with transaction(stores.engine) as connection:
        connection.execute(select(func.pg_advisory_xact_lock(_LOCK)))
        rows = connection.execute(select(datasets.c.dataset_id).where(datasets.c.dataset_id.in_(ids)))
        published: set[str] = set(rows.scalars())
        forget_in_catalog(stores, sorted(published))
        remove_datasets(connection, sorted(published))
    purge_superseded(stores)
    return sorted(ids[found] for found in published)


def withdraw_marts_using(stores: Stores, version_ids: Sequence[str]) -> int:
    """For an erasure: withdraw every mart that was built from one of these versions; returns how many there were.

    Every file that is not a published mart goes too, at once, since it may hold older sources.
    """
    with transaction(stores.engine) as connection:
        connection.execute(select(func.pg_advisory_xact_lock(_LOCK)))
        affected = [row["dataset_id"] for row in marts_using(connection, version_ids)]
        forget_in_catalog(stores, affected)
        withdrawn = remove_datasets(connection, affected)
    purge_superseded(stores, older_than_s=0)
    _clear_exports(dbt_folder(stores.settings))
    return withdrawn


def purge_superseded(stores: Stores, *, older_than_s: float = SUPERSEDED_S) -> int:
    """Remove files of marts that were replaced or withdrawn so long ago; returns how many."""
    latest = datetime.now(UTC) - timedelta(seconds=older_than_s)
    purged = 0
    with transaction(stores.engine) as connection:
        connection.execute(select(func.pg_advisory_xact_lock(_LOCK)))
        current = connection.execute(select(datasets.c.parquet_key).where(datasets.c.kind == "mart"))
        published: set[str] = set(current.scalars())
        by_mart: dict[str, list[tuple[datetime, str]]] = {}
        for found in stores.derived.current(_PREFIX):
            by_mart.setdefault(found.key.split("/")[1], []).append((found.stored_at, found.key))
        for files in by_mart.values():
            files.sort()
            for (stored_at, key), following in zip(files, [*files[1:], None], strict=True):
                replaced_at = following[0] if following else stored_at
                if key not in published and replaced_at <= latest:
                    purged += stores.derived.purge(key)
    return purged


def marts_are_stale(connection: Connection) -> bool:
    """Whether a transform run would publish from other uploads, or withdraw, than the last one did."""
    return _wanted(connection) != _published(connection)


def sources_fingerprint(connection: Connection) -> str:
    """Changes when the marts would be built from other uploads, or from the same that began to answer anew.

    One run that succeeds is enough for a fingerprint: while a test fails on these uploads, the marts stay stale.
    """
    wanted = _wanted(connection)
    versions = {version for pairs in wanted.values() for _, version in pairs}
    # An erasure withdraws marts; the same bytes that are uploaded again must bring them back.
    since: int | None = connection.execute(
        select(func.max(active_intervals.c.interval_id)).where(
            active_intervals.c.version_id.in_(versions), active_intervals.c.active_to.is_(None)
        )
    ).scalar_one()
    return derived_id(
        "src", since or 0, *(part for mart in sorted(wanted) for pair in sorted(wanted[mart]) for part in (mart, *pair))
    )


def _wanted(connection: Connection) -> dict[str, set[tuple[str, str]]]:
    _, wanted = mart_sources_now(project_manifest(), active_datasets(connection))
    return {mart_id(mart): sources for mart, sources in wanted.items() if sources}


def _published(connection: Connection) -> dict[str, set[tuple[str, str]]]:
    published = connection.execute(select(datasets.c.dataset_id).where(datasets.c.kind == "mart"))
    found: dict[str, set[tuple[str, str]]] = {row.dataset_id: set() for row in published}
    for row in connection.execute(select(mart_sources)):
        found[row.mart_id].add((row.dataset_id, row.version_id))
    return found


def _all_active(connection: Connection, versions: set[str]) -> bool:
    """Whether living documents answer from all of these. Holds them so until the transaction ends: an erasure that
    comes later finds the publication, one that came before is seen here."""
    rows = connection.execute(
        select(documents.c.active_version)
        .where(documents.c.active_version.in_(versions), documents.c.deleted_at.is_(None))
        .order_by(documents.c.document_id)
        .with_for_update(read=True)
    )
    active: set[str] = set(rows.scalars())
    return versions <= active


def _profile(mart: Mart, parquet: Path) -> tuple[tuple[Column, ...], int]:
    with pq.ParquetFile(parquet) as file:
        schema = file.schema_arrow
        types = [_column_type(mart.name, field) for field in schema]
        profiles = [ColumnProfile() for _ in schema]
        for batch in file.iter_batches(batch_size=_BATCH_ROWS):
            for profile, values in zip(profiles, batch.columns, strict=True):
                profile.observe(values)
        rows = file.metadata.num_rows
    columns = []
    for field, kind, profile in zip(schema, types, profiles, strict=True):
        minimum, maximum = profile.range
        columns.append(
            Column(
                name=field.name,
                label=_words(field.name),
                type=kind,
                precision=field.type.precision if kind == "decimal" else None,
                scale=field.type.scale if kind == "decimal" else None,
                nulls=profile.nulls,
                distinct=profile.distinct,
                minimum=minimum,
                maximum=maximum,
                samples=profile.samples,
                description=mart.column_labels.get(field.name) or None,
            )
        )
    return tuple(columns), rows


def _column_type(mart: str, field: pa.Field) -> ColumnType:
    kinds: dict[ColumnType, Any] = {
        "text": pa.types.is_string,
        "bigint": pa.types.is_signed_integer,
        "decimal": pa.types.is_decimal128,
        "double": pa.types.is_floating,
        "boolean": pa.types.is_boolean,
        "date": pa.types.is_date32,
        "timestamp": pa.types.is_timestamp,
    }
    for kind, fits in kinds.items():
        if fits(field.type):
            return kind
    raise StageFailed(
        f"Mart {mart}, column {field.name}: the catalog has no type for {field.type}.",
        fix="Cast the column in the mart's model to varchar, bigint, decimal, double, boolean, date or timestamp.",
    )


def _words(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _clear_exports(folder: Path) -> None:
    """Remove what an interrupted build left behind; a build that is running removes its own."""
    exports = folder / "marts"
    if not exports.is_dir():
        return
    try:
        with FileLock(folder / "build.lock", timeout=0):
            for path in exports.iterdir():
                path.unlink()
    except Timeout:
        return
