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
from dagster_postgres.auth import PgTokenProvider
from dagster_postgres.utils import create_pg_engine
from sqlalchemy import NullPool, func, select
from sqlalchemy.engine import make_url

from foundation.registry.address import Password, passwords, registry_url
from foundation.settings import Settings, get_settings

_TABLES_LOCK = 0x44414753  # "DAGS"


class _Tokens(PgTokenProvider):
    """A password for each new connection, where the settings say so (IAM)."""

    def __init__(self, password: Password, user: str) -> None:
        super().__init__()
        self._password, self._user = password, user

    @classmethod
    def of(cls, settings: Settings, user: str) -> _Tokens | None:
        password = passwords(settings)
        return cls(password, user) if password is not None else None

    def _fetch_token(self) -> tuple[str, float]:
        return self._password(self._user), 0.0  # nothing is kept: a token is made without a call


class PooledPostgresStorage(DagsterPostgresStorage):
    @classmethod
    def config_type(cls) -> dict[str, Any]:
        return {"postgres_url": Field(StringSource, is_required=False)}

    @classmethod
    def from_config_value(
        cls, inst_data: ConfigurableClassData | None, config_value: Mapping[str, Any]
    ) -> PooledPostgresStorage:
        named = config_value.get("postgres_url")
        url = make_url(named or registry_url(get_settings(), start=True)).set(drivername="postgresql+psycopg2")
        tokens = None if named else _Tokens.of(get_settings(), url.username or "")
        psycopg2_url = url.render_as_string(hide_password=False)
        engine = create_pg_engine(psycopg2_url, tokens, poolclass=NullPool)
        with engine.connect() as connection:
            connection.execute(select(func.pg_advisory_lock(_TABLES_LOCK)))
            storage = cls(
                inst_data=inst_data, postgres_url=psycopg2_url, should_autocreate_tables=True, token_provider=tokens
            )
        for part in (storage.run_storage, storage.event_log_storage, storage.schedule_storage):
            # The call that the webserver makes on its own instance: a pool instead of a connection per statement.
            part.optimize_for_webserver(statement_timeout=60_000, pool_recycle=3600, max_overflow=20)
        return storage
