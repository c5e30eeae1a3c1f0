"""Where dbt builds: in a DuckDB of its own, or in Athena where that is the warehouse."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import func, select

from foundation import aws_stores
from foundation.errors import StageFailed
from foundation.settings import Settings
from foundation.stores import Stores
from pipelines.transform.contracts import Source, listed
from pipelines.transform.environment import environment

if TYPE_CHECKING:  # its packages are there on AWS only
    from foundation.adapters.aws.warehouse_dbt import DbtLake

_SOURCE = "ASKLINE_DBT_SOURCE_"
_LOCK = 0x41534B42  # "ASKB": one build in the lake at a time
MAX_TABLES = 100
"""Tables that one source may be read from: more stages than a few hundred no statement of Athena may have."""


class Place:
    """`target` of profiles.yml, and the marts that dbt has built there."""

    def __init__(self, target: str, lake: DbtLake | None = None) -> None:
        self.target, self._lake = target, lake

    def exported(self, mart: str, folder: Path) -> Path:
        """The mart as a Parquet file. On DuckDB a hook of the model has written it."""
        path = folder / f"{mart}.parquet"
        if self._lake is not None:
            self._lake.fetch(mart, path)
        return path


@contextmanager
def place_of_build(stores: Stores, sources: Mapping[str, Sequence[Source]]) -> Iterator[Place]:
    """What profiles.yml and the macros read is in the environment meanwhile; what dbt makes in S3 is gone afterwards.

    StageFailed when more tables satisfy a contract than one view of Athena can read.
    """
    lake = stores.dbt_lake
    if lake is None:
        yield Place("embedded")
        return
    with _alone(stores, wait=True), environment(_variables(stores.settings, sources)):
        lake.prepare()
        try:
            yield Place("athena", lake)
        finally:
            lake.clear()


def left_of_builds(stores: Stores) -> int:
    """Files in S3 and tables in Glue of a build that was interrupted, or of one that runs now."""
    return stores.dbt_lake.count() if stores.dbt_lake is not None else 0


def remove_builds(stores: Stores) -> int:
    """Remove them, unless a build runs: it removes its own, and whoever asks comes again."""
    if stores.dbt_lake is None:
        return 0
    with _alone(stores, wait=False) as alone:
        return stores.dbt_lake.clear() if alone else 0


@contextmanager
def _alone(stores: Stores, *, wait: bool) -> Iterator[bool]:
    """One build at a time has the lake, on whichever machine it runs. False where another has it."""
    with stores.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        if wait:
            connection.execute(select(func.pg_advisory_lock(_LOCK)))
        elif not connection.execute(select(func.pg_try_advisory_lock(_LOCK))).scalar_one():
            yield False
            return
        try:
            yield True
        finally:
            connection.execute(select(func.pg_advisory_unlock(_LOCK)))


def _variables(settings: Settings, sources: Mapping[str, Sequence[Source]]) -> dict[str, str]:
    for name, found in sources.items():
        if len(found) > MAX_TABLES:
            raise StageFailed(
                f"{len(found)} tables are read as {name}; Athena takes {MAX_TABLES} in one view.",
                fix="Upload them as fewer, larger files.",
            )
    return {
        "ASKLINE_DBT_DATABASE": settings.athena.database,
        "ASKLINE_DBT_WORKGROUP": settings.athena.workgroup,
        "ASKLINE_DBT_LOCATION": aws_stores.dbt_location(settings),
        "ASKLINE_DBT_REGION": aws_stores.region(settings),
        # dbt-athena names no endpoint for S3; this one is every AWS client's.
        **({"AWS_ENDPOINT_URL": settings.aws.endpoint_url} if settings.aws.endpoint_url else {}),
        **{_SOURCE + name.upper(): _listed(settings, found) for name, found in sources.items()},
    }


def _listed(settings: Settings, sources: Sequence[Source]) -> str:
    return json.dumps(listed(sources, lambda source: aws_stores.glue_path(settings, source.dataset_id)))
