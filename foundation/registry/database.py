"""Connections to the registry, and its migrations."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DataError, DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from foundation.errors import InvalidInput, Unavailable
from foundation.registry.address import Password
from foundation.registry.tables import SCHEMA

MIGRATION_LOCK = 0x41534B4C  # "ASKL": every process of Askline takes the same advisory lock


def create_registry_engine(
    url: str, *, pool_size: int = 5, connect_timeout_s: int = 5, password: Password | None = None
) -> Engine:
    """An engine with psycopg 3. Broken connections are replaced, so that a restarted server is found again.

    `password` is asked for the password of each new connection.
    """
    engine = create_engine(
        make_url(url).set(drivername="postgresql+psycopg"),
        pool_size=pool_size,
        max_overflow=pool_size,
        pool_pre_ping=True,
        hide_parameters=True,  # they hold names and questions, and errors end up in logs
        pool_timeout=connect_timeout_s,
        connect_args={"connect_timeout": connect_timeout_s, "options": "-c timezone=utc -c statement_timeout=60000"},
    )
    if password is not None:
        ask_for_passwords(engine, password)
    return engine


def ask_for_passwords(engine: Engine, password: Password) -> None:
    """From now on each new connection of the engine gets its own."""
    user = engine.url.username or ""

    @event.listens_for(engine, "do_connect")
    def _fill_in(dialect: Any, record: Any, arguments: Any, parameters: dict[str, Any]) -> None:
        parameters["password"] = password(user)


def migrate(engine: Engine) -> None:
    """Bring the registry to this code's schema. Several processes may call it at once: an advisory lock orders them."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    with reachable(), engine.begin() as connection:
        connection.execute(text("select pg_advisory_xact_lock(:key)"), {"key": MIGRATION_LOCK})
        connection.execute(text(f"create schema if not exists {SCHEMA}"))
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


@contextmanager
def transaction(engine: Engine) -> Iterator[Connection]:
    """One transaction; Unavailable when the server cannot be reached, other errors as they are."""
    with reachable(), engine.begin() as connection:
        yield connection


@contextmanager
def reachable() -> Iterator[None]:
    """Turn what a lost or refused connection raises into Unavailable."""
    try:
        yield
    except PoolTimeout as error:
        raise Unavailable("The registry (Postgres) has no free connection.") from error
    except (OperationalError, InterfaceError) as error:
        raise Unavailable("The registry (Postgres) does not answer.") from error
    except DataError as error:
        raise InvalidInput(
            "A value of the request cannot be stored: it is too large, or holds a character such as NUL.",
            fix="Send smaller numbers and plain text.",
        ) from error
    except DBAPIError as error:
        if error.connection_invalidated:
            raise Unavailable("The connection to the registry (Postgres) broke.") from error
        raise
