"""A registry of version 0.1.0, whose tables were named after the first file of their bytes, is brought forward."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import text

import foundation.registry
from foundation.access import local_principal
from foundation.adapters.embedded.relational import PostgresRelational
from foundation.registry.database import create_registry_engine, migrate
from foundation.registry.datasets import visible_tables
from foundation.sql_guard import guard

_OLD = """
insert into askline.documents (document_id, landing_key, file_name, media_type, domain, owner, acl, active_version)
values ('doc_a', 'a/secret.csv', 'secret.csv', 'text/csv', 'healthcare', 'alice', '{user:alice}', 'v'),
       ('doc_b', 'b/ledger.csv', 'ledger.csv', 'text/csv', 'healthcare', 'bob', '{user:bob}', 'v');
insert into askline.document_versions (document_id, version_id, number, object_version, size_bytes, media_type, status,
    indexed_at) select d, 'v', 1, 'o', 1, 'text/csv', 'indexed', now() from unnest(array['doc_a', 'doc_b']) d;
insert into askline.datasets (dataset_id, version_id, kind, table_name, label, columns, row_count, parquet_key,
    postgres_table) values ('dst_1234', 'v', 'upload', 'secret', 'secret', '[{"name": "n", "label": "n",
    "type": "bigint"}]', 1, 'k', 'secret_1234');
insert into askline.table_links values ('dst_1234', 'v', 'secret', 'secret_1234', 1, 1, 1, 'run', now());
create table copies.secret_1234 (n bigint);
insert into copies.secret_1234 values (42);
create view data.secret as select * from copies.secret_1234;
"""


def test_the_oldest_document_keeps_the_name_and_the_other_does_not_learn_it(empty_database: str) -> None:
    engine = create_registry_engine(empty_database)
    relational = PostgresRelational(empty_database)
    relational.prepare()
    config = Config()
    config.set_main_option("script_location", str(Path(foundation.registry.__path__[0]) / "migrations"))
    with engine.begin() as connection:
        connection.execute(text("create schema if not exists askline"))
        config.attributes["connection"] = connection
        command.upgrade(config, "0002")
        connection.exec_driver_sql(_OLD)
    migrate(engine)
    with engine.begin() as connection:
        (kept,) = visible_tables(connection, local_principal("alice"))
        (other,) = visible_tables(connection, local_principal("bob"))
    assert (kept.name, kept.label) == ("secret", "secret")
    assert "secret" not in str(other)
    for table in (kept, other):
        sql = guard(
            f"select n from {table.name}",
            dialect="postgres",
            tables={table.name: ["n"]},
            limit=5,
            relations={table.name: str(table.relation)},
        )
        assert relational.query(sql).rows == ((42,),)
        assert table.name in sql.shown
    relational.close()
    engine.dispose()
