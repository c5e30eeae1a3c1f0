"""The registry, the copies and Dagster's storage behind a server that wants TLS and tokens of IAM."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import dagster as dg
import psycopg
import pytest
from pydantic import SecretStr, ValidationError
from sqlalchemy import text

from foundation.errors import AsklineError, ConfigurationError, Unavailable
from foundation.registry.address import registry_url
from foundation.registry.database import transaction
from foundation.registry.rights import missing_rights
from foundation.settings import DatabaseSettings, Settings
from foundation.stores import Stores
from foundation.types import Column, GuardedSql
from pipelines import storage
from pipelines.storage import PooledPostgresStorage
from tests.doubles.rds import RdsDoor
from tests.engines.certificates import Certificates, certificates

pytestmark = pytest.mark.usefixtures("aws_keys")

ONE = GuardedSql("select 1", "postgres", (), 10)


@pytest.fixture(scope="session")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return certificates(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def door(empty_database: str, tls: Certificates) -> Iterator[RdsDoor]:
    with psycopg.connect(empty_database, autocommit=True) as connection:
        if connection.execute("select 1 from pg_roles where rolname = 'rds_iam'").fetchone() is None:
            connection.execute("create role rds_iam")
    with RdsDoor(empty_database, tls).running() as running:
        yield running


def settings_of(door: RdsDoor, tls: Certificates, tmp_path: Path, **chosen: object) -> Settings:
    how = {
        "url": SecretStr(f"postgresql://postgres@localhost:{door.port}/{door.database}"),
        "ssl_mode": "verify-full",
        "ssl_root_cert": tls.ca,
        "iam": True,
        **chosen,
    }
    return Settings(data_dir=tmp_path, database=DatabaseSettings.model_validate(how))


@pytest.fixture
def stores(door: RdsDoor, tls: Certificates, tmp_path: Path, open_stores: Callable[[Settings], Stores]) -> Stores:
    return open_stores(settings_of(door, tls, tmp_path))


def test_the_registry_asks_for_a_token_for_each_new_connection(stores: Stores, door: RdsDoor) -> None:
    def connected() -> None:
        with transaction(stores.engine) as one, transaction(stores.engine) as two:
            assert one.execute(text("select 1")).scalar() == two.execute(text("select 2")).scalar() - 1

    connected()
    assert len(door.tokens) == door.connections == 2
    connected()  # the same two, out of the pool
    assert len(door.tokens) == 2
    stores.engine.dispose()
    connected()
    assert len(door.tokens) == door.connections == 4


def test_a_connection_after_a_failover_gets_a_fresh_token(stores: Stores, door: RdsDoor) -> None:
    door.valid_s = 1
    with transaction(stores.engine) as connection:
        connection.execute(text("select 1"))
    time.sleep(2.5)  # the first token is not good any more
    door.drop_all()
    with transaction(stores.engine) as connection:
        assert connection.execute(text("select 1")).scalar() == 1
    assert len(set(door.tokens)) == len(door.tokens) == 2


def test_the_copies_ask_for_tokens_of_their_own_users(stores: Stores, door: RdsDoor) -> None:
    stores.relational.copy_table("t", [Column("n", "n", "bigint")], [(1,), (2,)])
    assert stores.relational.query(ONE).rows == ((1,),)
    users = [token.partition("DBUser=")[2].partition("&")[0] for token in door.tokens]
    assert set(users) == {"postgres", "askline_reader"}
    door.drop_all()
    assert stores.relational.query(ONE).rows == ((1,),)  # by one fresh connection
    assert len(door.tokens) == len(users) + 1


def test_a_server_without_iam_is_named_with_the_statement_to_run(
    door: RdsDoor, tls: Certificates, tmp_path: Path, open_stores: Callable[[Settings], Stores], empty_database: str
) -> None:
    with psycopg.connect(empty_database, autocommit=True) as connection:
        connection.execute("drop role rds_iam")
    with pytest.raises(ConfigurationError, match="rds_iam") as raised:
        _ = open_stores(settings_of(door, tls, tmp_path)).relational
    assert 'grant rds_iam to "askline_reader"' in raised.value.fix


def test_dagsters_storage_asks_for_tokens(stores: Stores, door: RdsDoor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "get_settings", lambda: stores.settings)
    made = PooledPostgresStorage.from_config_value(None, {})
    assert made.run_storage.get_runs(dg.RunsFilter()) == []
    assert len(door.tokens) == door.connections > 1


def test_another_password_than_a_token_is_refused(
    door: RdsDoor, tls: Certificates, tmp_path: Path, open_stores: Callable[[Settings], Stores]
) -> None:
    url = SecretStr(f"postgresql://postgres:wrong@localhost:{door.port}/{door.database}")
    stores = open_stores(settings_of(door, tls, tmp_path, iam=False, url=url))
    with pytest.raises(Unavailable):
        _ = stores.engine
    assert door.tokens == ["wrong"]
    with pytest.raises(ConfigurationError, match="no password"):
        _ = open_stores(settings_of(door, tls, tmp_path, url=url)).engine


def test_a_password_of_the_reader_goes_with_the_settings(
    door: RdsDoor, tls: Certificates, tmp_path: Path, open_stores: Callable[[Settings], Stores], empty_database: str
) -> None:
    door.iam = False
    stores = open_stores(settings_of(door, tls, tmp_path, iam=False, reader_password=SecretStr("p'w")))
    assert stores.relational.query(ONE).rows == ((1,),)
    with psycopg.connect(empty_database, autocommit=True) as connection:
        found = connection.execute("select rolpassword from pg_authid where rolname = 'askline_reader'").fetchone()
        connection.execute("alter role askline_reader password null")
    assert found is not None and found[0].startswith("SCRAM-SHA-256$")


def test_a_server_whose_certificate_nobody_vouches_for_is_refused(
    door: RdsDoor, tls: Certificates, tmp_path: Path, open_stores: Callable[[Settings], Stores]
) -> None:
    other = certificates(tmp_path / "other")
    for wrong in (settings_of(door, other, tmp_path), settings_of(door, tls, tmp_path, iam=False, ssl_mode=None)):
        stores = open_stores(wrong)
        with pytest.raises(AsklineError):
            _ = stores.engine
        with pytest.raises(AsklineError):
            _ = stores.relational
    assert (door.connections, door.tokens) == (0, [])


def test_tls_of_the_settings_is_part_of_the_address(tmp_path: Path) -> None:
    url = SecretStr("postgresql://a:b@db.example:5433/askline?application_name=x")
    ca = tmp_path / "rds ca.pem"
    settings = Settings(database=DatabaseSettings(url=url, ssl_mode="verify-full", ssl_root_cert=ca))
    found = psycopg.conninfo.conninfo_to_dict(registry_url(settings, start=False))
    assert (found["sslmode"], found["sslrootcert"]) == ("verify-full", str(ca))
    assert (found["user"], found["password"], found["application_name"]) == ("a", "b", "x")


def test_tokens_without_tls_are_refused_by_the_settings() -> None:
    with pytest.raises(ValidationError, match="TLS only"):
        DatabaseSettings(url=SecretStr("postgresql://a@db.example/askline"), iam=True)


def test_the_doctor_names_the_statement_that_lets_us_in(door: RdsDoor, tls: Certificates, tmp_path: Path) -> None:
    settings = settings_of(door, tls, tmp_path)
    assert missing_rights(settings) == []
    door.valid_s = -60  # no token is good
    with pytest.raises(ConfigurationError, match="PAM authentication failed") as refused:
        missing_rights(settings)
    assert '"Action": "rds-db:connect"' in refused.value.fix and "dbuser:*/postgres" in refused.value.fix


def test_the_doctor_names_the_rights_that_the_user_lacks(empty_database: str, tmp_path: Path) -> None:
    with psycopg.connect(empty_database, autocommit=True) as connection:
        connection.execute("create role guest login")
    try:
        url = empty_database.replace("postgres:@", "guest:@")
        found = missing_rights(Settings(data_dir=tmp_path, database=DatabaseSettings(url=SecretStr(url))))
        assert "CREATE on the database" in found
    finally:
        with psycopg.connect(empty_database, autocommit=True) as connection:
            connection.execute("drop role guest")
