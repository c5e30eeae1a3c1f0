"""Dagster's Postgres storage with one small connection pool in every process, in the registry's server.

The stock storage opens a connection for every statement, and Dagster makes a storage for every tick of a sensor; each
asks the database's catalog before most statements whether it is new enough for them. Pooled, and remembered for the
process, an idle stack costs half of the CPU. Its tables are made by one process at a time: those of a new stack start
at once, and one lost to another it dies of. Without a configured URL the embedded server's is used, and started unless
it runs: plain `dagster dev` works.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from dagster import Field, StringSource
from dagster._serdes import ConfigurableClassData
from dagster_postgres import DagsterPostgresStorage
from dagster_postgres.auth import PgTokenProvider
from dagster_postgres.event_log import PostgresEventLogStorage
from dagster_postgres.run_storage import PostgresRunStorage
from dagster_postgres.schedule_storage import PostgresScheduleStorage
from dagster_postgres.utils import create_pg_engine
from sqlalchemy import Engine, NullPool, event, func, select
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DisconnectionError

from foundation.errors import Unavailable
from foundation.registry.address import Password, passwords, registry_url
from foundation.settings import Settings, get_settings

_TABLES_LOCK = 0x44414753  # "DAGS"
_CONNECTIONS, _MORE_CONNECTIONS = 3, 20
_RECYCLE_S = 3600
_IDLE_S = 0.5
_STATEMENT_TIMEOUT_MS = 60_000


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


_engines: dict[tuple[int, str], Engine] = {}
_lock = threading.Lock()
# A worker forks beside threads, one of which may hold it at that moment.
os.register_at_fork(after_in_child=lambda: globals().update(_lock=threading.Lock()))
_seen: set[str] = set()
_found: set[tuple[str, ...]] = set()


def _home() -> str:
    """The registry's address. Once a process has seen the embedded server whole, it only has to run."""
    settings = get_settings()
    with suppress(Unavailable):  # it is started below
        if (url := registry_url(settings, start=False)) in _seen:
            return url
    url = registry_url(settings, start=True)
    _seen.add(url)
    return url


def _engine(url: str, tokens: PgTokenProvider | None) -> Engine:
    """This process's pool. A fork makes its own, and keeps its parent's: closed there, it would end the parent's."""
    with _lock:
        place = os.getpid(), url
        if place not in _engines:
            _make_tables(url, tokens)
            given = make_url(url).query.get("options", "")
            engine = _engines[place] = create_pg_engine(
                url,
                tokens,
                isolation_level="AUTOCOMMIT",
                pool_size=_CONNECTIONS,
                max_overflow=_MORE_CONNECTIONS,
                pool_recycle=_RECYCLE_S,
                use_native_hstore=False,  # the driver would look for the type at each new connection
                connect_args={"options": f"{given} -c statement_timeout={_STATEMENT_TIMEOUT_MS}".strip()},
            )
            _ping_idle(engine)
        return _engines[place]


def _ping_idle(engine: Engine) -> None:
    """A connection that was idle shows that it works before it is used: it may be one of a server that was started
    anew. SQLAlchemy's `pool_pre_ping` asks before every use, and Dagster's statements are many and short."""

    @event.listens_for(engine, "checkin")
    def _used(_: Any, record: Any) -> None:
        record.info["used"] = time.monotonic()

    @event.listens_for(engine, "checkout")
    def _ping(connection: Any, record: Any, _: Any) -> None:
        if time.monotonic() - record.info.get("used", math.inf) > _IDLE_S:
            try:
                engine.dialect.do_ping(connection)
            except engine.dialect.loaded_dbapi.Error as error:
                raise DisconnectionError from error


def _make_tables(url: str, tokens: PgTokenProvider | None) -> None:
    engine = create_pg_engine(url, tokens, poolclass=NullPool)
    with engine.connect() as connection:
        connection.execute(select(func.pg_advisory_lock(_TABLES_LOCK)))
        DagsterPostgresStorage(url, should_autocreate_tables=True, token_provider=tokens)


def _remembered(look: Callable[..., bool]) -> Callable[..., bool]:
    """A look at the schema whose yes is kept for the process: a schema only grows, by `dagster instance migrate`."""

    def method(self: Any, *arguments: Any) -> bool:
        names = (argument for argument in arguments if isinstance(argument, str))  # the other is a connection
        what = (self.postgres_url, look.__qualname__, *names)
        if what not in _found and look(self, *arguments):
            _found.add(what)
        return what in _found

    return method


class _Pooled:
    def optimize_for_webserver(self, statement_timeout: int, pool_recycle: int, max_overflow: int) -> None:
        """The webserver asks its own instance for a pool, which is there."""


class _Runs(_Pooled, PostgresRunStorage):
    has_built_index = _remembered(PostgresRunStorage.has_built_index)
    has_run_stats_index_cols = _remembered(PostgresRunStorage.has_run_stats_index_cols)
    has_bulk_actions_selector_cols = _remembered(PostgresRunStorage.has_bulk_actions_selector_cols)
    has_backfill_id_column = _remembered(PostgresRunStorage.has_backfill_id_column)
    has_bulk_action_job_name_column = _remembered(PostgresRunStorage.has_bulk_action_job_name_column)
    has_backfill_tags_table = _remembered(PostgresRunStorage.has_backfill_tags_table)


class _Events(_Pooled, PostgresEventLogStorage):
    has_table = _remembered(PostgresEventLogStorage.has_table)
    has_secondary_index = _remembered(PostgresEventLogStorage.has_secondary_index)
    _has_asset_key_col_on_connection = _remembered(PostgresEventLogStorage._has_asset_key_col_on_connection)


class _Schedules(_Pooled, PostgresScheduleStorage):
    has_built_index = _remembered(PostgresScheduleStorage.has_built_index)
    has_secondary_index_table = _remembered(PostgresScheduleStorage.has_secondary_index_table)
    _has_instigators_table = _remembered(PostgresScheduleStorage._has_instigators_table)
    _has_asset_daemon_asset_evaluations_table = _remembered(
        PostgresScheduleStorage._has_asset_daemon_asset_evaluations_table
    )


class PooledPostgresStorage(DagsterPostgresStorage):
    def __init__(
        self, postgres_url: str, inst_data: ConfigurableClassData | None, token_provider: PgTokenProvider | None
    ) -> None:
        super().__init__(postgres_url, False, inst_data, token_provider)
        engine = _engine(postgres_url, token_provider)
        self._run_storage = _Runs(postgres_url, False)
        self._event_log_storage = _Events(postgres_url, False)
        self._schedule_storage = _Schedules(postgres_url, False)
        for part in (self._run_storage, self._event_log_storage, self._schedule_storage):
            part._engine = engine

    @classmethod
    def config_type(cls) -> dict[str, Any]:
        return {"postgres_url": Field(StringSource, is_required=False)}

    @classmethod
    def from_config_value(
        cls, inst_data: ConfigurableClassData | None, config_value: Mapping[str, Any]
    ) -> PooledPostgresStorage:
        named = config_value.get("postgres_url")
        url = make_url(named or _home()).set(drivername="postgresql+psycopg2")
        tokens = None if named else _Tokens.of(get_settings(), url.username or "")
        return cls(url.render_as_string(hide_password=False), inst_data, tokens)
