"""The Postgres copies of tables: physical tables in schema `copies`, what people query as views in schema `data`."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from psycopg import errors, sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from foundation.adapters.embedded.reader import ReaderPool
from foundation.errors import ConfigurationError, NotFound, StageFailed, Unavailable
from foundation.types import Column, GuardedSql, QueryResult

READER = "askline_reader"
_COPY_ROWS = 20_000

_SERVER_TYPES = {
    "text": "text",
    "bigint": "bigint",
    "decimal": "numeric",
    "double": "double precision",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamp without time zone",
}
_COLUMN_TYPES = {server: ours for ours, server in _SERVER_TYPES.items()}

# What every role may call unless it is taken away, and no question needs: the guard refuses these by name already.
_REVOKED = (
    r"^(lo_.*|loread|lowrite|pg_(try_)?advisory.*|pg_sleep.*|pg_notify|pg_logical_emit_message|set_config|.*_to_xml.*)$"
)


class PostgresRelational:
    """A Relational. `owner_url` is a role that owns the schemas; questions run as the role `askline_reader`.

    `reader_url` overrides how the reader connects; `prepare` then leaves its password alone. `reader_password` is what
    `prepare` gives it at a server that asks for one; `password` makes those of each new connection, by user.
    `work_mem_mb` bounds one sort or hash, `temp_file_mb` what a query may spill.
    """

    dialect = "postgres"

    def __init__(
        self,
        owner_url: str,
        *,
        reader_url: str | None = None,
        reader_password: str | None = None,
        password: Callable[[str], str] | None = None,
        timeout_seconds: float = 10.0,
        pool_size: int = 8,
        work_mem_mb: int = 32,
        temp_file_mb: int = 512,
    ) -> None:
        self._owner_url = owner_url
        self._reader_password, self._password = reader_password, password
        milliseconds = max(1, round(timeout_seconds * 1000))
        self._reader_settings = {
            "statement_timeout": f"{milliseconds}ms",
            "lock_timeout": f"{max(1, milliseconds // 2)}ms",
            "idle_in_transaction_session_timeout": "60s",
            "default_transaction_read_only": "on",
            "search_path": "pg_catalog",
            "timezone": "UTC",
            "work_mem": f"{work_mem_mb}MB",
            "max_parallel_workers_per_gather": "1",
        }
        self._temp_file_limit = f"{temp_file_mb}MB"
        # As start-up options too, so that two users of one server can differ; `discard all` comes back to these.
        options = " ".join(f"-c {name}={value}" for name, value in self._reader_settings.items())
        reader = reader_url or make_conninfo(owner_url, user=READER, password=reader_password)
        self._pool = ReaderPool(
            make_conninfo(reader, options=options, connect_timeout=5, application_name="askline reader"),
            size=pool_size,
            timeout_seconds=timeout_seconds,
            password=(lambda: password(READER)) if password is not None else None,
        )

    # Questions

    def query(self, sql: GuardedSql) -> QueryResult:
        if sql.dialect != self.dialect:
            raise ValueError(f"a {sql.dialect} statement was handed to {self.dialect}")
        return self._pool.run(sql)

    def close(self) -> None:
        self._pool.close()

    # Set-up

    def prepare(self) -> None:
        """Create the schemas and the reader role, and take from everyone what a reader must not have. Idempotent.

        Roles belong to the whole server: another database's `prepare` can collide with this one, so it tries again.
        """
        for attempt in range(5):
            try:
                return self._prepare()
            except (errors.UniqueViolation, errors.DuplicateObject, errors.InternalError_):
                if attempt == 4:
                    raise
                time.sleep(0.1 * (attempt + 1))

    def _prepare(self) -> None:
        role = sql.Identifier(READER)
        with self._owner() as connection:
            connection.execute("select pg_advisory_xact_lock(hashtext('askline relational prepare'))")
            database, superuser = _one(
                connection, "select current_database(), rolsuper from pg_roles where rolname = current_user"
            )
            connection.execute("create schema if not exists data")
            connection.execute("create schema if not exists copies")
            if _one(connection, "select count(*) from pg_roles where rolname = %s", (READER,))[0] == 0:
                connection.execute(sql.SQL("create role {} login").format(role))
            if superuser:
                connection.execute(
                    sql.SQL(
                        "alter role {} login nosuperuser nocreatedb nocreaterole noreplication nobypassrls noinherit"
                    ).format(role)
                )
            self._let_reader_in(connection, role)
            settings = dict(self._reader_settings)
            if superuser:
                settings["temp_file_limit"] = self._temp_file_limit
            here = sql.Identifier(database)
            for name, value in settings.items():
                connection.execute(
                    sql.SQL("alter role {} in database {} set {} = {}").format(
                        role, here, sql.Identifier(name), sql.Literal(value)
                    )
                )
            for statement in (
                "revoke all on database {db} from public",
                "grant connect on database {db} to {role}",
                "revoke create on schema public from public",
                "revoke all on schema data, copies from public",
                "grant usage on schema data to {role}",
            ):
                connection.execute(sql.SQL(statement).format(db=here, role=role))
            if superuser:
                self._revoke_functions(connection)

    def _let_reader_in(self, connection: psycopg.Connection[Any], role: sql.Identifier) -> None:
        if self._password is not None:
            self._let_reader_use_tokens(connection, role)
        elif self._reader_password is not None:
            secret = sql.Literal(self._reader_password)
            connection.execute(sql.SQL("alter role {} password {}").format(role, secret))

    @staticmethod
    def _let_reader_use_tokens(connection: psycopg.Connection[Any], role: sql.Identifier) -> None:
        """RDS takes tokens of those who have the role rds_iam, which it makes itself. ConfigurationError without it."""
        grant = sql.SQL("grant rds_iam to {}").format(role)
        try:
            if not _one(connection, "select pg_has_role(%s, 'rds_iam', 'member')", (READER,))[0]:
                connection.execute(grant)
        except (errors.UndefinedObject, errors.InsufficientPrivilege) as error:
            raise ConfigurationError(
                f"The role {READER} cannot use tokens of IAM: {error.diag.message_primary}.",
                fix=f"Enable IAM authentication on the RDS instance, and run as its master: {grant.as_string()}.",
            ) from error

    def _revoke_functions(self, connection: psycopg.Connection[Any]) -> None:
        found = connection.execute(
            "select oid::regprocedure::text from pg_proc where pronamespace = 'pg_catalog'::regnamespace"
            " and proname ~ %s and has_function_privilege('public', oid, 'execute')",
            (_REVOKED,),
        ).fetchall()
        for (signature,) in found:
            # The server spelled this signature, quoted where it must be.
            connection.execute(sql.SQL("revoke execute on function {} from public").format(sql.SQL(signature)))

    # Copies

    def copy_table(self, physical: str, columns: Sequence[Column], rows: Iterable[Sequence[Any]]) -> int:
        """Create or replace copies.<physical> with these rows by COPY, whole or not at all.

        Readers of an earlier table of this name go on reading it until the new one is complete; views over it follow.
        Returns the row count that the server gives. StageFailed when the server refuses a value.
        """

        def send(copy: psycopg.Copy) -> None:
            for row in rows:
                copy.write_row(row)

        return self._replace(physical, columns, "copy {} from stdin", send)

    def copy_parquet(self, physical: str, columns: Sequence[Column], parquet: Path) -> int:
        """The same of a Parquet file, as CSV that Arrow writes: a tenth of the CPU time of rows as Python values."""
        names = [column.name for column in columns]
        # Arrow quotes every text and leaves nulls bare, which is how COPY tells an empty text from a null.
        form = pacsv.WriteOptions(include_header=False)

        def send(copy: psycopg.Copy) -> None:
            with pq.ParquetFile(parquet) as file:
                for batch in file.iter_batches(batch_size=_COPY_ROWS, columns=names):
                    sink = pa.BufferOutputStream()
                    pacsv.write_csv(batch.select(names), sink, form)
                    copy.write(memoryview(sink.getvalue()))

        return self._replace(physical, columns, "copy {} from stdin (format csv)", send)

    def _replace(
        self, physical: str, columns: Sequence[Column], statement: str, send: Callable[[psycopg.Copy], None]
    ) -> int:
        loading = sql.Identifier("copies", f"loading_{secrets.token_hex(8)}")
        table = sql.Identifier("copies", _short(physical))
        definitions = sql.SQL(", ").join(
            sql.SQL("{} {}").format(sql.Identifier(_short(c.name)), sql.SQL(_server_type(c))) for c in columns
        )
        try:
            with self._owner() as connection:
                connection.execute("select pg_advisory_xact_lock(hashtext('copy ' || %s))", (physical,))
                connection.execute(sql.SQL("create table {} ({})").format(loading, definitions))
                with connection.cursor() as cursor:
                    with cursor.copy(sql.SQL(statement).format(loading)) as copy:
                        send(copy)
                    count = cursor.rowcount  # what the server says that it has taken
                connection.execute(sql.SQL("analyze {}").format(loading))
                views = self._views_over(connection, physical)
                connection.execute(sql.SQL("drop table if exists {} cascade").format(table))
                connection.execute(sql.SQL("alter table {} rename to {}").format(loading, sql.Identifier(physical)))
                for view in views:
                    for statement in self.publish_statements(view, physical):
                        connection.execute(statement.encode())
        except psycopg.Error as error:
            reason = error.diag.message_primary or str(error)
            where = f" ({error.diag.context})" if error.diag.context else ""
            raise StageFailed(f"Postgres did not take the rows of {physical}: {reason}{where}") from error
        return int(count)

    def column_types(self, physical: str) -> dict[str, str]:
        with self._owner() as connection:
            found = connection.execute(
                "select column_name, data_type from information_schema.columns"
                " where table_schema = 'copies' and table_name = %s order by ordinal_position",
                (physical,),
            ).fetchall()
        if not found:
            raise NotFound(f"There is no table copies.{physical}.")
        return {name: _COLUMN_TYPES.get(kind, kind) for name, kind in found}

    def row_count(self, physical: str) -> int:
        with self._owner() as connection:
            try:
                statement = sql.SQL("select count(*) from {}").format(sql.Identifier("copies", physical))
                return int(_one(connection, statement)[0])
            except errors.UndefinedTable as error:
                raise NotFound(f"There is no table copies.{physical}.") from error

    def has_table(self, physical: str) -> bool:
        with self._owner() as connection:
            return self._is_there(connection, physical)

    def drop_table(self, physical: str) -> bool:
        """Views over it go with it."""
        with self._owner() as connection:
            there = self._is_there(connection, physical)
            connection.execute(sql.SQL("drop table if exists {} cascade").format(sql.Identifier("copies", physical)))
            return there

    @staticmethod
    def _is_there(connection: psycopg.Connection[Any], physical: str) -> bool:
        return bool(_one(connection, "select to_regclass(%s) is not null", (_quoted("copies", physical),))[0])

    # What people see

    @staticmethod
    def publish_statements(name: str, physical: str) -> list[str]:
        """What makes data.<name> show this table, to run in the caller's own transaction as text without parameters."""
        view, table = _quoted("data", _short(name)), _quoted("copies", _short(physical))
        return [
            f"drop view if exists {view}",  # create or replace refuses changed columns
            f"create view {view} as select * from {table}",
            f'grant select on {view} to "{READER}"',
        ]

    @staticmethod
    def unpublish_statements(name: str) -> list[str]:
        return [f"drop view if exists {_quoted('data', name)}"]

    @staticmethod
    def _views_over(connection: psycopg.Connection[Any], physical: str) -> list[str]:
        found = connection.execute(
            "select distinct c.relname from pg_depend d join pg_rewrite r on r.oid = d.objid"
            " join pg_class c on c.oid = r.ev_class join pg_namespace n on n.oid = c.relnamespace"
            " where d.classid = 'pg_rewrite'::regclass and d.refobjid = to_regclass(%s) and n.nspname = 'data'",
            (_quoted("copies", physical),),
        ).fetchall()
        return [name for (name,) in found]

    def _owner_password(self) -> dict[str, Any]:
        if self._password is None:
            return {}
        return {"password": self._password(str(conninfo_to_dict(self._owner_url).get("user", "")))}

    @contextmanager
    def _owner(self) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
        """A connection of the owner's in one transaction; Unavailable when the server is not there or goes away."""
        try:
            connection = psycopg.connect(
                self._owner_url, **self._owner_password(), connect_timeout=5, application_name="askline copies"
            )
        except psycopg.OperationalError as error:
            raise Unavailable(f"Postgres does not answer: {str(error).splitlines()[0]}") from error
        try:
            with connection:
                yield connection
        except psycopg.OperationalError as error:
            if connection.broken or isinstance(error, errors.AdminShutdown | errors.CannotConnectNow):
                raise Unavailable("Postgres went away.") from error
            raise


def _one(connection: psycopg.Connection[Any], statement: Any, parameters: Sequence[Any] = ()) -> tuple[Any, ...]:
    row = connection.execute(statement, parameters).fetchone()
    assert row is not None
    return tuple(row)


def _server_type(column: Column) -> str:
    if column.type == "decimal" and column.precision is not None:
        return f"numeric({column.precision}, {column.scale or 0})"
    return _SERVER_TYPES[column.type]


def _short(name: str) -> str:
    if not name or len(name.encode()) > 63 or "\0" in name:
        raise ValueError(f"{name[:80]!r} is no name for Postgres: 1 to 63 bytes")
    return name


def _quoted(*parts: str) -> str:
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)
