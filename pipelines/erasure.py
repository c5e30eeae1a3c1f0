"""Erase a deleted document from every store, then look afresh; the report says what was found, removed and left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import dagster as dg
from sqlalchemy import Connection, RowMapping

from foundation.artefacts import TABLES, prefix
from foundation.card import SIDECAR
from foundation.index_access import tell_index
from foundation.registry import content_locks, erasures
from foundation.registry.conversations import count_quotes, erase_quotes
from foundation.registry.database import transaction
from foundation.registry.datasets import datasets_of, marts_using, remove_datasets
from foundation.registry.intake import lock_key
from foundation.stores import Stores
from foundation.table_catalog import forget_in_catalog, known_to_catalog
from pipelines.dagster_traces import DagsterTraces
from pipelines.marts import withdraw_marts_using
from pipelines.transform.lake_build import left_of_builds, remove_builds
from pipelines.transform.outputs import DbtOutputs

SHARED = "Content that another living document has too stays for that one ({count} of its versions)."


@dataclass(frozen=True, slots=True)
class StoreReport:
    """Items of one store: `left` is the count of a fresh look after the removal."""

    name: str
    found: int
    removed: int
    left: int


@dataclass(frozen=True, slots=True)
class Erased:
    """An erasure that went through every store, not yet closed."""

    erasure_id: str
    reports: list[StoreReport]
    shared: int
    """Versions whose content another living document has."""


def erase(stores: Stores, erasure: RowMapping, run_id: str, instance: dg.DagsterInstance) -> Erased | None:
    """Erase what the document alone holds; contents that another living document shares stay for that one.

    None when a run is writing artefacts of it at this moment: it stops at its next stage, and the erasure is tried
    again. Can be repeated after a crash: the registry's rows, which say what there is to erase, go last. It is over
    when it is closed.
    """
    with transaction(stores.engine) as held:
        if not content_locks.try_exclusive(held, erasure["version_ids"]):
            return None
        return _erase(stores, erasure, run_id, instance)


def _erase(stores: Stores, erasure: RowMapping, run_id: str, instance: dg.DagsterInstance) -> Erased:
    with transaction(stores.engine) as connection:
        erasures.start_erasure(connection, erasure["erasure_id"], run_id)
        unshared = erasures.unshared_versions(connection, erasure["version_ids"])
    shared = set(erasure["version_ids"]) - set(unshared)
    tell_index(stores.engine, stores.search, *sorted(shared))
    work = _Erasure(stores, erasure["document_id"], erasure["landing_key"], unshared, instance)
    before = {report["name"]: StoreReport(**report) for report in erasure["stores"]}
    reports = [_added(before.get(name), work.clear(name, count, remove)) for name, count, remove in work.stores()]
    done = Erased(erasure["erasure_id"], reports, len(shared))
    _save(stores, done, verified=False)  # what was found must not be lost with this process
    return done


def close(stores: Stores, erased: Sequence[Erased]) -> None:
    """The end of several erasures: the index is written anew once for all of them, so that the bytes are gone too."""
    if any(report.removed for one in erased for report in one.reports if report.name == "search_index"):
        stores.search.optimize()
    for one in erased:
        _save(stores, one, verified=True)


def _save(stores: Stores, erased: Erased, *, verified: bool) -> None:
    left = sum(report.left for report in erased.reports)
    with transaction(stores.engine) as connection:
        erasures.save_report(
            connection,
            erased.erasure_id,
            verified=verified and left == 0,
            stores=[asdict(report) for report in erased.reports],
            kept=[SHARED.format(count=erased.shared)] if erased.shared else [],
            message=None if left == 0 else f"{left} items are left after this try.",
        )


def _added(before: StoreReport | None, now: StoreReport) -> StoreReport:
    """With what an earlier try had found and removed."""
    if before is None:
        return now
    found = before.found + max(0, now.found - before.left)
    return StoreReport(now.name, found, before.removed + now.removed, now.left)


class _Erasure:
    """The stores of one document, each with how to count and how to remove what it holds of it."""

    def __init__(
        self, stores: Stores, document_id: str, landing_key: str, unshared: list[str], instance: dg.DagsterInstance
    ) -> None:
        self.at, self.document_id, self.key, self.versions = stores, document_id, landing_key, unshared
        with transaction(stores.engine) as connection:
            self.tables = [row for version in unshared for row in datasets_of(connection, version)]
            run_ids, created_at = erasures.runs_of(connection, document_id)
        self.dagster = DagsterTraces(instance, document_id, unshared, run_ids, created_at, bool(self.tables))
        self.dbt = DbtOutputs(stores.settings, unshared)

    def stores(self) -> list[tuple[str, Callable[[], int], Callable[[], int]]]:
        """In this order: first what could still answer, last what says that there was something."""
        copies = [row["postgres_table"] for row in self.tables if row["postgres_table"]]
        catalog = [row["dataset_id"] for row in self.tables]
        at, versions, artefacts, texts = self.at, self.versions, self.at.artefacts, self.at.artefacts.texts
        return [
            ("search_index", self._count_in_indexes, lambda: at.search.delete_versions(versions)),
            (
                "graph",
                lambda: sum(at.graph.counts(v)["mentions"] for v in versions),
                lambda: at.graph.delete_versions(versions),
            ),
            (
                "postgres_copies",
                lambda: sum(at.relational.has_table(name) for name in copies),
                lambda: sum(at.relational.drop_table(name) for name in copies),
            ),
            (
                "marts",
                lambda: self._registry(lambda c: len(marts_using(c, versions))),
                lambda: withdraw_marts_using(at, versions),
            ),
            ("dbt_outputs", self.dbt.count, self.dbt.remove),
            *self._athena(),
            (
                "catalog",
                lambda: (
                    self._registry(lambda c: sum(len(datasets_of(c, v)) for v in versions))
                    + known_to_catalog(at, catalog)
                ),
                lambda: forget_in_catalog(at, catalog) + self._registry(lambda c: remove_datasets(c, catalog)),
            ),
            (
                "parquet",
                lambda: sum(artefacts.count(v, TABLES) for v in versions),
                lambda: sum(artefacts.purge(v, TABLES) for v in versions),
            ),
            (
                "derived_objects",
                lambda: sum(artefacts.count(v) for v in versions),
                lambda: sum(artefacts.purge(v) for v in versions),
            ),
            (
                "caches",
                lambda: sum(texts.count(v) for v in versions),
                lambda: sum(texts.forget(v) + at.cache.clear(prefix(v)) for v in versions),
            ),
            (
                "conversations",
                lambda: self._registry(lambda c: count_quotes(c, self.document_id)),
                lambda: self._registry(lambda c: erase_quotes(c, self.document_id)),
            ),
            ("landing_objects", self._count_objects, self._remove_objects),
            ("dagster", self.dagster.count, self.dagster.remove),
            (
                "registry",
                lambda: self._registry(lambda c: erasures.remaining_rows(c, self.document_id, versions)),
                lambda: self._registry(lambda c: erasures.remove_rows(c, self.document_id, versions)),
            ),
        ]

    def _athena(self) -> list[tuple[str, Callable[[], int], Callable[[], int]]]:
        """Results that were not removed when they were read, and what an interrupted build of dbt left in S3."""
        results = self.at.query_results
        if results is None:
            return []
        return [
            ("athena_results", lambda: sum(1 for _ in results.listing()), lambda: results.purge_prefix("")),
            ("dbt_builds", lambda: left_of_builds(self.at), lambda: remove_builds(self.at)),
        ]

    def clear(self, name: str, count: Callable[[], int], remove: Callable[[], int]) -> StoreReport:
        found = count()
        removed = remove()
        return StoreReport(name, found, removed, count())

    def _registry(self, function: Callable[[Connection], int]) -> int:
        with transaction(self.at.engine) as connection:
            return function(connection)

    def _count_in_indexes(self) -> int:
        return sum(index.count(version) for index in self.at.search.everywhere() for version in self.versions)

    def _count_objects(self) -> int:
        return sum(len(self._own_objects(key)) for key in self._keys())

    def _keys(self) -> list[str]:
        """Where the document's objects are; the sidecar is another's when one lives at the key again."""
        with transaction(self.at.engine) as connection:
            taken = erasures.living_object_versions(connection, self.key)
        return [self.key] if taken else [self.key, self.key + SIDECAR]

    def _own_objects(self, key: str) -> set[str]:
        """Stored versions at the key that no living document has: an upload since then may have some of its own."""
        with transaction(self.at.engine) as connection:
            living = erasures.living_object_versions(connection, key)
        return {version.version_id for version in self.at.landing.versions(key)} - living

    def _remove_objects(self) -> int:
        with transaction(self.at.engine) as connection:
            # Under the lock that uploads at this key take, so that none is registered in between.
            lock_key(connection, self.key)
            return sum(self._purge(key) for key in self._keys())

    def _purge(self, key: str) -> int:
        own = self._own_objects(key)
        if {version.version_id for version in self.at.landing.versions(key)} <= own:
            return self.at.landing.purge(key)
        return sum(self.at.landing.purge(key, version) for version in own)
