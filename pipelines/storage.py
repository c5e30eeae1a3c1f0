"""Dagster's Postgres storage with a small connection pool in every process, in the registry's server.

The stock storage opens a connection for every statement; pooled, an ingest costs a third of that CPU in Postgres. Its
tables are made by one process at a time: those of a new stack start at once, and one lost to another it dies of.
Without a configured URL the embedded server's is used, and started unless it runs: plain `dagster dev` works.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dagster import Field, StringSource
from dagster._serdes import ConfigurableClassData
from dagster_postgres import DagsterPostgresStorage
from sqlalchemy import NullPool, create_engine, func, select
from sqlalchemy.engine import make_url

from foundation.registry.address import registry_url
from foundation.settings import get_settings

_TABLES_LOCK = 0x44414753  # "DAGS"


class PooledPostgresStorage(DagsterPostgresStorage):
    @classmethod
    def config_type(cls) -> dict[str, Any]:
        return {"postgres_url": Field(StringSource, is_required=False)}

    @classmethod
    def from_config_value(
        cls, inst_data: ConfigurableClassData | None, config_value: Mapping[str, Any]
    ) -> PooledPostgresStorage:
        url = config_value.get("postgres_url") or registry_url(get_settings(), start=True)
        psycopg2_url = make_url(url).set(drivername="postgresql+psycopg2").render_as_string(hide_password=False)
        with create_engine(psycopg2_url, poolclass=NullPool).connect() as connection:
            connection.execute(select(func.pg_advisory_lock(_TABLES_LOCK)))
            storage = cls(inst_data=inst_data, postgres_url=psycopg2_url, should_autocreate_tables=True)
        for part in (storage.run_storage, storage.event_log_storage, storage.schedule_storage):
            # The call that the webserver makes on its own instance: a pool instead of a connection per statement.
            part.optimize_for_webserver(statement_timeout=60_000, pool_recycle=3600, max_overflow=20)
        return storage
