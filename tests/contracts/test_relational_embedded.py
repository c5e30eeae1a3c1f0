from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from foundation.adapters.embedded import postgres
from foundation.adapters.embedded.relational import PostgresRelational
from foundation.contracts.relational import ONE, AsOwner, RelationalContract
from foundation.errors import QueryFailed, StageFailed, Unavailable
from foundation.ports.relational import Relational
from foundation.types import Column, GuardedSql


@pytest.fixture
def relational(empty_database: str) -> Iterator[PostgresRelational]:
    relational = PostgresRelational(empty_database)
    relational.prepare()
    yield relational
    relational.close()


def run(url: str, statements: Sequence[str]) -> None:
    with psycopg.connect(url) as connection:
        for statement in statements:
            connection.execute(statement.encode())


@pytest.fixture
def publish(relational: PostgresRelational, empty_database: str) -> Callable[[str, str], None]:
    return lambda name, physical: run(empty_database, relational.publish_statements(name, physical))


class TestEmbeddedPostgres(RelationalContract):
    @pytest.fixture
    def relational(self, relational: PostgresRelational) -> Relational:
        return relational

    @pytest.fixture
    def as_owner(self, empty_database: str) -> AsOwner:
        return lambda statements: run(empty_database, statements)

    @pytest.fixture
    def impatient_relational(self, empty_database: str) -> Iterator[Relational]:
        relational = PostgresRelational(empty_database, timeout_seconds=0.5)
        relational.prepare()
        yield relational
        relational.close()


def unguarded(statement: str) -> GuardedSql:
    """What the server must stop on its own, should the guard ever miss it."""
    return GuardedSql(statement, "postgres", (), 10)


@pytest.fixture
def with_secret(
    relational: PostgresRelational, publish: Callable[[str, str], None], empty_database: str
) -> PostgresRelational:
    """A published table, and tables of others that the reader must not reach."""
    relational.copy_table("phys_1", ONE, [(1,)])
    publish("t", "phys_1")
    with psycopg.connect(empty_database) as connection:
        connection.execute("create table public.secrets (a int)")
        connection.execute("create schema registry")
        connection.execute("create table registry.api_keys (a int)")
    return relational


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM public.secrets",
        "SELECT * FROM registry.api_keys",
        "SELECT * FROM copies.phys_1",
        "INSERT INTO data.t VALUES (2)",
        "DELETE FROM data.t",
        "CREATE TABLE public.mine (a int)",
        "CREATE TABLE data.mine (a int)",
        "CREATE TEMP TABLE mine (a int)",
        "CREATE FUNCTION pg_temp.f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "SELECT 1; SELECT 2",
        "SELECT 1; COMMIT; DROP VIEW data.t",
        "COPY (SELECT 1) TO '/tmp/askline_stolen'",
        "COPY (SELECT 1) TO PROGRAM 'id'",
        "SELECT pg_read_file('/etc/passwd')",
        "SELECT pg_ls_dir('.')",
        "SELECT lo_import('/etc/passwd')",
        "SELECT lo_from_bytea(0, 'x')",
        "SELECT pg_sleep(0)",
        "SELECT pg_advisory_lock(1)",
        "SELECT pg_try_advisory_xact_lock(1)",
        "SELECT pg_notify('c', 'x')",
        "SELECT set_config('statement_timeout', '0', false)",
        "SELECT query_to_xml('SELECT 1', true, true, '')",
        "SELECT table_to_xml('data.t', true, true, '')",
        "SELECT pg_logical_emit_message(false, 'a', 'b')",
        "SELECT pg_reload_conf()",
        "SET ROLE postgres",
        "SET SESSION AUTHORIZATION postgres",
        "ALTER ROLE askline_reader SUPERUSER",
    ],
)
def test_the_role_is_stopped_without_the_guard(statement: str, with_secret: PostgresRelational) -> None:
    with pytest.raises(QueryFailed):
        with_secret.query(unguarded(statement))
    assert with_secret.query(unguarded("SELECT a FROM data.t")).rows == ((1,),)
    assert not Path("/tmp/askline_stolen").exists()


@pytest.mark.parametrize(
    "statement",
    [
        "SET statement_timeout = 0",
        "COMMIT",
        "SET default_transaction_read_only = off",
        "LISTEN c",
        "PREPARE p AS SELECT 1",
    ],
)
def test_nothing_outlives_a_query_in_its_session(statement: str, with_secret: PostgresRelational) -> None:
    settings = unguarded(
        "SELECT current_setting('statement_timeout'), current_setting('default_transaction_read_only'), "
        "current_setting('transaction_read_only'), current_user, (SELECT count(*) FROM pg_listening_channels()), "
        "(SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%AS SELECT 1'), pg_backend_pid()"
    )
    before = with_secret.query(settings).rows
    assert before[0][:4] == ("10s", "on", "on", "askline_reader")
    with suppress(QueryFailed):  # some are refused, which is as good
        with_secret.query(unguarded(statement))
    assert with_secret.query(settings).rows == before


def test_the_reader_is_no_superuser_and_owns_nothing(with_secret: PostgresRelational, empty_database: str) -> None:
    with psycopg.connect(empty_database) as connection:
        role = connection.execute(
            "select rolsuper, rolcreatedb, rolcreaterole, rolbypassrls, rolreplication"
            " from pg_roles where rolname = 'askline_reader'"
        ).fetchone()
        owned = connection.execute(
            "select count(*) from pg_class where relowner = (select oid from pg_roles where rolname = 'askline_reader')"
        ).fetchone()
        limits = connection.execute(
            "select setconfig from pg_db_role_setting s join pg_database d on d.oid = s.setdatabase"
            " where d.datname = current_database()"
        ).fetchone()
    assert role == (False,) * 5
    assert owned == (0,)
    assert limits is not None
    assert {"temp_file_limit=512MB", "work_mem=32MB", "statement_timeout=10000ms"} <= set(limits[0])


def test_prepare_may_run_again_and_from_many_at_once(empty_database: str) -> None:
    failures: list[BaseException] = []

    def run() -> None:
        try:
            PostgresRelational(empty_database).prepare()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_publishing_inside_the_callers_transaction_is_undone_with_it(
    relational: PostgresRelational, publish: Callable[[str, str], None], empty_database: str
) -> None:
    relational.copy_table("phys_1", ONE, [(1,)])
    relational.copy_table("phys_2", ONE, [(2,)])
    publish("t", "phys_1")
    with psycopg.connect(empty_database) as connection:
        for statement in relational.publish_statements("t", "phys_2"):
            connection.execute(statement.encode())
        connection.rollback()
    assert relational.query(unguarded("SELECT a FROM data.t")).rows == ((1,),)


def test_readers_go_on_while_a_table_is_being_copied_again(
    relational: PostgresRelational, publish: Callable[[str, str], None]
) -> None:
    relational.copy_table("phys_1", ONE, [(1,)])
    publish("t", "phys_1")
    seen: list[object] = []

    def rows() -> Iterator[tuple[int]]:
        yield (2,)
        seen.append(relational.query(unguarded("SELECT a FROM data.t")).rows)
        yield (3,)

    assert relational.copy_table("phys_1", ONE, rows()) == 2
    assert seen == [((1,),)]
    assert relational.query(unguarded("SELECT a FROM data.t")).rows == ((2,), (3,))


def test_a_refused_value_is_named_with_its_line_and_column(relational: PostgresRelational) -> None:
    with pytest.raises(StageFailed, match=r"line 2, column a"):
        relational.copy_table("phys_1", ONE, [(1,), ("x",)])


def test_a_copy_of_a_hundred_thousand_rows_streams(relational: PostgresRelational) -> None:
    columns = (*ONE, Column("b", "B", "text"))
    assert relational.copy_table("phys_1", columns, ((n, "text") for n in range(100_000))) == 100_000


def start_elsewhere(folder: Path) -> None:
    """From another process, as it happens to a service whose server is restarted."""
    code = (
        "import sys, pathlib; from foundation.adapters.embedded.postgres import start; start(pathlib.Path(sys.argv[1]))"
    )
    subprocess.run([sys.executable, "-c", code, str(folder)], check=True, cwd=Path(__file__).parents[2])


def test_a_stopped_server_is_unavailable_and_comes_back_by_itself() -> None:
    folder = Path(tempfile.mkdtemp(prefix="askline-pg-")) / "pg"
    url = postgres.start(folder)
    relational = PostgresRelational(url)
    try:
        relational.prepare()
        relational.copy_table("phys_1", ONE, [(1,)])
        run(url, relational.publish_statements("t", "phys_1"))
        question = unguarded("SELECT a FROM data.t")
        assert relational.query(question).rows == ((1,),)
        postgres.stop(folder)
        started = time.monotonic()
        for _ in range(2):
            with pytest.raises(Unavailable):
                relational.query(question)
        with pytest.raises(Unavailable):
            relational.row_count("phys_1")
        assert time.monotonic() - started < 5
        start_elsewhere(folder)
        assert relational.query(question).rows == ((1,),)
        postgres.stop(folder)
        start_elsewhere(folder)  # restarted between two questions: the pooled connection is dead
        assert relational.query(question).rows == ((1,),)
    finally:
        relational.close()
        postgres.stop(folder)
        shutil.rmtree(folder.parent, ignore_errors=True)


def test_statements_that_repeat_and_fail_on_shared_connections_get_their_own_answers(
    relational: PostgresRelational,
) -> None:
    def ask(number: int) -> object:
        statement = ["select 7 limit 1", "select 1 / 0 limit 1", f"select {number} limit 1"][number % 3]
        try:
            return relational.query(GuardedSql(statement, "postgres", (), 1)).rows[0][0]
        except QueryFailed as error:
            return error.message

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(ask, range(300)))
    assert answers == [[7, "division by zero", number][number % 3] for number in range(300)]
