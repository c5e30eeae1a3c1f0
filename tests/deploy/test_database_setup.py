"""database_setup.py against a Postgres whose master is, as RDS's, no superuser."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from sqlalchemy.engine import make_url

from deploy import database_setup
from foundation.adapters.embedded import postgres
from foundation.adapters.embedded.relational import PostgresRelational
from foundation.registry.database import create_registry_engine, migrate


@pytest.fixture
def server(postgres_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """URL of a server of this test's own, with RDS's roles; libpq's variables lead there as its master."""
    url = postgres.start(postgres_home / "pg")
    with psycopg.connect(url, autocommit=True) as superuser:
        superuser.execute("create role rds_iam")
        superuser.execute("create role master login createrole createdb")
        superuser.execute("grant rds_iam to master with admin option")
    address = make_url(url)
    for name, value in (("PGHOST", address.query["host"]), ("PGUSER", "master"), ("PGDATABASE", "postgres")):
        monkeypatch.setenv(name, str(value))
    yield url
    postgres.stop(postgres_home / "pg")


def test_the_owner_can_afterwards_make_everything_and_twice_is_as_once(server: str) -> None:
    name = f"askline_{uuid.uuid4().hex[:8]}"
    for _ in range(2):
        database_setup.set_up(name)
    owner = make_url(server).set(username=database_setup.OWNER, database=name).render_as_string(hide_password=False)
    engine = create_registry_engine(owner)
    migrate(engine)
    engine.dispose()
    relational = PostgresRelational(owner)
    relational.prepare()
    relational.close()
    with psycopg.connect(owner) as connection:
        members = connection.execute(
            "select rolname from pg_roles where rolname like 'askline%' and pg_has_role(oid, 'rds_iam', 'member')"
        ).fetchall()
        assert {role for (role,) in members} == {database_setup.OWNER, database_setup.READER}
        assert connection.execute("select rolsuper from pg_roles where rolname = current_user").fetchone() == (False,)
