"""Runs inside the transaction and under the lock that foundation.registry.database.migrate holds."""

from alembic import context

from foundation.registry.tables import SCHEMA, metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table_schema=SCHEMA,
    include_schemas=True,
    include_name=lambda name, kind, parents: kind != "schema" or name == SCHEMA,
    transaction_per_migration=False,
)
context.run_migrations()
