"""Alembic's entry for the cell line: runs on the connection that `socialq.store.migrate` hands over."""

from alembic import context

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    version_table="alembic_version",
    version_table_schema="cell",
    transaction_per_migration=True,
)
with context.begin_transaction():
    context.run_migrations()
