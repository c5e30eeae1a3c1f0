"""Which uploaded tables dbt reads as which of its sources.

dbt_project/models/staging/sources.yml holds the contracts and says what its fields mean.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import RowMapping

from foundation.stores import Stores
from pipelines.parsing.table_names import identifier
from pipelines.transform.manifest import Manifest

Row = RowMapping | Mapping[str, Any]
"""A row of `active_datasets`."""

_READABLE_AS = {
    "timestamp": {"timestamp", "date"},
    "date": {"date", "timestamp"},
    "decimal": {"decimal", "bigint", "double"},
    "double": {"decimal", "bigint", "double"},
    "bigint": {"bigint"},
    "boolean": {"boolean"},
}
"""dbt type without its precision → our column types that can be read as it; every type can be read as varchar."""


@dataclass(frozen=True, slots=True)
class Source:
    """A dataset that satisfies a contract. `columns` are those of the contract that it has, `types` their own types."""

    dataset_id: str
    version_id: str
    table: str
    parquet_key: str
    columns: tuple[str, ...]
    types: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Contract:
    name: str
    types: Mapping[str, str]
    """Column → dbt type."""
    required: frozenset[str]
    names: tuple[str, ...]
    by_name: bool

    def name_score(self, names: Iterable[str]) -> int:
        """2: a name of the table is one of the contract's; 1: it has one inside (`encounters_2023`); 0: neither."""
        scores = [0]
        for name in names:
            for wanted in self.names:
                if name == wanted:
                    scores.append(2)
                elif f"_{wanted}_" in f"_{name}_":
                    scores.append(1)
        return max(scores)

    def readable(self, row: Row) -> tuple[str, ...]:
        """The contract's columns that this dataset has in a type that can be read; one without a value fits all."""
        found = {c["name"]: c for c in row["columns"]}
        return tuple(
            name
            for name, wanted in self.types.items()
            if name in found and (found[name]["nulls"] >= row["row_count"] or _is_readable(found[name]["type"], wanted))
        )


def _is_readable(ours: str, dbt_type: str) -> bool:
    kind = dbt_type.partition("(")[0].strip()
    return kind == "varchar" or ours in _READABLE_AS[kind]


def contracts(manifest: Manifest) -> list[Contract]:
    found = []
    for name, node in manifest.sources.items():
        meta, columns = node["config"]["meta"], node["columns"]
        found.append(
            Contract(
                name=name,
                types={column: about["data_type"] for column, about in columns.items()},
                required=frozenset(c for c, about in columns.items() if about["config"]["meta"].get("required")),
                names=tuple(meta["names"]),
                by_name=bool(meta.get("by_name")),
            )
        )
    return found


def match(manifest: Manifest, datasets: Iterable[Row]) -> dict[str, list[Source]]:
    """Contract → the datasets (rows of `active_datasets`) that satisfy it, for contracts that have one.

    A dataset is read as one source at most: the one whose name it bears best, then the one with the most columns.
    """
    known = contracts(manifest)
    found: dict[str, list[Source]] = {}
    for row in datasets:
        fitting = [fit for contract in known if (fit := _fit(contract, row)) is not None]
        if fitting:
            _, _, name, columns = max(fitting)
            types = {c["name"]: c["type"] for c in row["columns"] if c["name"] in columns}
            source = Source(row["dataset_id"], row["version_id"], row["name"], row["parquet_key"], columns, types)
            found.setdefault(name, []).append(source)
    return {name: sorted(sources, key=lambda source: source.dataset_id) for name, sources in found.items()}


def _fit(contract: Contract, row: Row) -> tuple[int, int, str, tuple[str, ...]] | None:
    """(name score, required columns, contract, columns) if the dataset satisfies the contract."""
    columns = contract.readable(row)
    if not contract.required <= set(columns):
        return None
    score = contract.name_score(identifier(row[part] or "", "") for part in ("name", "sheet", "label"))
    other_name_fits = not contract.by_name and {c["name"] for c in row["columns"]} <= set(contract.types)
    return (score, len(contract.required), contract.name, columns) if score or other_name_fits else None


def mart_sources_now(
    manifest: Manifest, datasets: Iterable[Row]
) -> tuple[dict[str, list[Source]], dict[str, set[tuple[str, str]]]]:
    """(contract → sources, mart → (dataset_id, version_id) that it would be built from; empty: it cannot be built)."""
    sources = match(manifest, datasets)
    marts = {}
    for mart in manifest.marts.values():
        complete = mart.contracts <= sources.keys()
        used = [source for contract in mart.contracts for source in sources[contract]] if complete else []
        marts[mart.name] = {(source.dataset_id, source.version_id) for source in used}
    return sources, marts


@contextmanager
def written_sources(stores: Stores, sources: Mapping[str, Sequence[Source]], path: Path) -> Iterator[None]:
    """The list that the macro create_source_views reads; on Athena only the record of what a build reads.

    The files that it names are there inside of the context.
    """
    with ExitStack() as held:

        def read(source: Source) -> str:
            if stores.warehouse.dialect == "athena":
                return source.table
            file = held.enter_context(stores.derived.local_path(source.parquet_key))
            quoted = str(file).replace("'", "''")
            return f"read_parquet('{quoted}')"

        path.write_text(json.dumps({name: listed(found, read) for name, found in sources.items()}))
        yield


def listed(sources: Sequence[Source], read: Callable[[Source], str]) -> list[dict[str, Any]]:
    """`read`: what stands after FROM. The version is there for an erasure, which looks for it."""
    return [
        {"from": read(source), "columns": source.columns, "types": source.types, "version": source.version_id}
        for source in sources
    ]
